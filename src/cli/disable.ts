/** `disable`: switches a plugin off; its files, its approval and what it exposes stay as they are. */
import { display } from "../display.ts";
import type { CliCommand } from "./command.ts";
import { localHost } from "./local.ts";
import { openPlugin } from "./target.ts";

/** The verb. */
export const disable: CliCommand = {
  name: "disable",
  configure(command) {
    command
      .description("Switches a plugin off; its files and what was approved stay as they are")
      .argument("<what>", "a plugin's directory or name")
      .addHelpText("after", "\nExample:\n  sallyport disable web-research");
  },
  async run(context, [what]) {
    await using host = await localHost(context);
    const { tenant, name } = await openPlugin(host, context, what!);
    await tenant.disable(name);
    return {
      value: { plugin: name },
      print: ({ out }) => out(`"${display(name)}" is switched off; \`sallyport enable\` lets it run again`),
    };
  },
};

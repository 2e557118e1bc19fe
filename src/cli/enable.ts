/** `enable`: lets a plugin run again that was switched off, or stopped for killing workers. */
import { display } from "../display.ts";
import type { CliCommand } from "./command.ts";
import { localHost } from "./local.ts";
import { openPlugin } from "./target.ts";

/** The verb. */
export const enable: CliCommand = {
  name: "enable",
  configure(command) {
    command
      .description("Lets a plugin run again that was switched off, or stopped for killing workers")
      .argument("<what>", "a plugin's directory or name")
      .addHelpText("after", "\nExample:\n  sallyport enable web-research");
  },
  async run(context, [what]) {
    await using host = await localHost(context);
    const { tenant, name } = await openPlugin(host, context, what!);
    const { wasDisabled, wasQuarantined } = await tenant.enable(name);
    const wasStopped = wasDisabled || wasQuarantined;
    return {
      value: { plugin: name, wasDisabled, wasQuarantined },
      print: ({ out }) =>
        out(wasStopped ? `"${display(name)}" may run again` : `"${display(name)}" was not stopped`),
    };
  },
};

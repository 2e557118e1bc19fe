/** `untrust`: takes trust back, whether or not the plugin is still there. */
import { statSync } from "node:fs";
import { resolve, sep } from "node:path";
import { display } from "../display.ts";
import { realAncestor } from "../home.ts";
import type { CliCommand, CommandContext } from "./command.ts";
import { placeOfKey } from "../trust/mod.ts";
import { linkOf, LOCAL, localHost, localStore } from "./local.ts";

/** The verb. */
export const untrust: CliCommand = {
  name: "untrust",
  configure(command) {
    command
      .description("Takes trust back from a plugin")
      .argument("<what>", "a plugin's name, or the directory that was trusted")
      .addHelpText("after", "\nExample:\n  sallyport untrust web-research");
  },
  async run(context, [what]) {
    await using host = await localHost(context);
    const tenant = host.tenant(LOCAL, { plugins: [], store: localStore(context) });
    const key = await tenant.untrust(meant(context, what!));
    const { name, directory } = key;
    return {
      value: { plugin: name, directory },
      print: ({ out }) => out(`"${display(name)}" in ${display(placeOfKey(key))} is no longer trusted`),
    };
  },
};

/** A record is found by its real directory; one that is gone may be named as it was. */
function meant(context: CommandContext, what: string): string {
  const path = resolve(context.cwd, what);
  const isPath = what.includes(sep) || statSync(path, { throwIfNoEntry: false }) !== undefined;
  return isPath ? linkOf(context, path) ?? realAncestor(path) : what;
}

/** `check`: the gate for a plugin's own CI, and the first look of whoever thinks of running it. */
import { resolve } from "node:path";
import { ManifestError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import type { PluginCheck } from "../check_plugin.ts";
import type { CliCommand } from "./command.ts";
import { LOCAL, localHost } from "./local.ts";
import type { Terminal } from "./terminal.ts";

/** The verb. */
export const check: CliCommand = {
  name: "check",
  configure(command) {
    command
      .description("Checks a plugin and prints its fingerprint; runs none of its code")
      .argument("[directory]", "the plugin's directory", ".")
      .addHelpText("after", "\nExample:\n  sallyport check ./web-research");
  },
  async run(context, [directory]) {
    await using host = await localHost(context);
    const tenant = host.tenant(LOCAL, { plugins: [resolve(context.cwd, directory ?? ".")] });
    const [row] = await tenant.list();
    const found = await tenant.check(row!.name);
    if (found.problems.length > 0) {
      throw new ManifestError(
        "ERR_MANIFEST_INVALID",
        `Plugin "${found.name}" cannot run as it is:\n${
          found.problems.map((problem) => `  ${problem}`).join("\n")
        }`,
        { details: { plugin: found.name, problems: found.problems } },
      );
    }
    return { value: found, print: (terminal) => print(found, terminal) };
  },
};

function print(found: PluginCheck, { out }: Terminal): void {
  out(`${found.name} ${display(found.version)}`);
  out(`  directory    ${display(found.directory)}`);
  out(`  fingerprint  ${found.fingerprint}`);
  out(`  files        ${found.files.length}`);
  for (const { id, live } of found.capabilities) {
    out(`  offers       ${display(id)}${live ? "" : "  (not live yet)"}`);
  }
  if (found.permissions.length === 0) out("  asks for     nothing");
  for (const { kind, display: what, effect, reason } of found.permissions) {
    const why = reason === undefined ? "" : `  # ${display(reason)}`;
    out(`  asks for     ${effect} ${kind} ${display(what)}${why}`);
  }
  for (const grave of found.grave) out(`  grave        ${display(grave)}`);
}

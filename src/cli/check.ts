/** `check`: the gate for a plugin's own CI, and the first look of whoever thinks of running it. */
import { BundleError, ManifestError } from "../../permissions/mod.ts";
import { PACKAGE_ABSENT } from "../bundler/mod.ts";
import { display } from "../display.ts";
import type { PluginCheck } from "../check_plugin.ts";
import type { CliCommand } from "./command.ts";
import { localHost } from "./local.ts";
import { openPlugin } from "./target.ts";
import type { Terminal } from "./terminal.ts";

/** The verb. */
export const check: CliCommand = {
  name: "check",
  configure(command) {
    command
      .description("Checks a plugin and prints its fingerprint; runs none of its code")
      .argument("[what]", "a plugin's directory or name", ".")
      .addHelpText("after", "\nExample:\n  sallyport check ./web-research");
  },
  async run(context, [what]) {
    await using host = await localHost(context);
    const { tenant, name } = await openPlugin(host, context, what ?? ".");
    const { directory } = await tenant.facts(name);
    const found = await tenant.check(name).catch((error: unknown) => {
      throw withCure(error, directory);
    });
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

/** A package that is not there is often just not installed yet. */
function withCure(error: unknown, directory: string): unknown {
  if (!(error instanceof BundleError) || error.details.reason !== PACKAGE_ABSENT) return error;
  const { code, message, details } = error;
  return new BundleError(
    code,
    `${message}. If its package.json names it, run npm install in "${directory}"`,
    {
      details,
      cause: error,
    },
  );
}

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

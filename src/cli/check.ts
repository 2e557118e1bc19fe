/** `check`: the gate for a plugin's own CI, and the first look of whoever thinks of running it. */
import { BundleError, ManifestError } from "../../permissions/mod.ts";
import { PACKAGE_ABSENT } from "../bundler/mod.ts";
import type { PluginCheck } from "../check_plugin.ts";
import { display } from "../display.ts";
import { dropKinds, fixKeys } from "../fix_manifest.ts";
import type { Tenant } from "../tenant.ts";
import type { CliCommand } from "./command.ts";
import { kindsOf, localHost } from "./local.ts";
import { directoryOf, openPlugin } from "./target.ts";
import type { Terminal } from "./terminal.ts";

/** The verb. */
export const check: CliCommand = {
  name: "check",
  configure(command) {
    command
      .description("Checks a plugin and prints its fingerprint; runs none of its code")
      .argument("[what]", "a plugin's directory or name", ".")
      .option(
        "--fix",
        "put right in plugin.yaml what has one answer: misspelled keys, permissions that no code seems to use",
      )
      .option("--strict", "fail where there is advice as well")
      .addHelpText(
        "after",
        "\nExamples:\n  sallyport check ./web-research\n  sallyport check --fix --strict",
      );
  },
  async run(context, [what = "."], flags) {
    await using host = await localHost(context);
    const directory = directoryOf(context, what);
    const kinds = kindsOf(context);
    const fixed = flags.fix === true && directory !== null ? [...fixKeys(directory, kinds)] : [];
    const { tenant, name } = await openPlugin(host, context, what);
    let found = await lookAt(tenant, name);
    if (flags.fix === true) {
      const dropped = dropKinds(found.directory, found.unused, kinds);
      fixed.push(...dropped);
      if (dropped.length > 0) found = await lookAt(tenant, name);
    }
    refuse(found, flags.strict === true);
    return { value: { ...found, fixed }, print: (terminal) => print(found, fixed, terminal) };
  },
};

async function lookAt(tenant: Tenant, name: string): Promise<PluginCheck> {
  const { directory } = await tenant.facts(name);
  try {
    return await tenant.check(name);
  } catch (error) {
    throw withCure(error, directory);
  }
}

function refuse({ name, problems, advice }: PluginCheck, isStrict: boolean): void {
  const all = isStrict ? [...problems, ...advice] : problems;
  if (all.length === 0) return;
  throw new ManifestError(
    "ERR_MANIFEST_INVALID",
    `Plugin "${name}" ${problems.length > 0 ? "cannot run as it is" : "is not as good as it could be"}:\n${
      all.map((problem) => `  ${problem}`).join("\n")
    }`,
    { details: { plugin: name, problems, advice } },
  );
}

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

/** What was found, a line each. */
export function checkLines(found: PluginCheck): string[] {
  const { permissions } = found;
  return [
    `${found.name} ${display(found.version)}`,
    `  directory    ${display(found.directory)}`,
    `  fingerprint  ${found.fingerprint}`,
    `  files        ${found.files.length}`,
    ...found.capabilities.map(({ id, live }) =>
      `  offers       ${display(id)}${live ? "" : "  (not live yet)"}`
    ),
    ...found.targets.map(({ target, bytes }) => `  target       ${display(target)}  ${bytes} bytes`),
    ...(permissions.length === 0 ? ["  asks for     nothing"] : []),
    ...permissions.map(({ kind, display: what, effect, reason }) =>
      `  asks for     ${effect} ${kind} ${display(what)}${
        reason === undefined ? "" : `  # ${display(reason)}`
      }`
    ),
    ...found.grave.map((grave) => `  grave        ${display(grave)}`),
    ...found.problems.map((problem) => `  problem      ${problem}`),
    ...found.advice.map((advice) => `  advice       ${advice}`),
    ...(found.advice.length === 0
      ? []
      : ["  (what code uses is a guess from its text: nothing of it was run)"]),
  ];
}

function print(found: PluginCheck, fixed: readonly string[], { out }: Terminal): void {
  for (const line of fixed) out(`fixed: ${display(line)}`);
  for (const line of checkLines(found)) out(line);
}

/** `run`: one capability of a plugin, or a single script whose flags are its manifest. */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  graveOf,
  KIND_NAMES,
  NotCapableError,
  type PermissionRequest,
  type SallyportError,
  TrustError,
  UsageError,
} from "../../permissions/mod.ts";
import { type Denial, type GuestLine, toOperator } from "../../runtime/mod.ts";
import { contextOf } from "../grant_plugin.ts";
import type { Host } from "../host.ts";
import type { PluginFacts, Tenant } from "../tenant.ts";
import type { CliCommand, CommandContext, CommandResult } from "./command.ts";
import { readInput } from "./input.ts";
import { limitFlags, LOCAL, localHost, localLoader, localPolicy } from "./local.ts";
import { addPermissionFlags, flagName, permissionsOf } from "./permission_flags.ts";
import { quoteArgument } from "./quote.ts";

type Flags = Readonly<Record<string, unknown>>;

/** The verb. */
export const run: CliCommand = {
  name: "run",
  configure(command) {
    command
      .description("Runs a capability of a plugin, or a single script")
      .argument("<what>", "a plugin's directory or name, or a script file")
      .argument("[capability]", "full id or name; not needed where there is only one")
      .option("--input <json>", "the input: JSON, @file, or - for standard input")
      .option("--yes", "trust the plugin as it is, for this run only")
      .option("--fingerprint <sha256>", "run only what has this fingerprint")
      .option("--lock", "print the fingerprint of a script and end")
      .option("--wall-ms <ms>", "how long a call may take (30000)")
      .option("--memory-mb <mb>", "how much memory it may use")
      .option("--raw", "print a text result as it is, even on a terminal")
      .addHelpText(
        "after",
        `
Examples:
  sallyport run ./web-research web_search --yes --input '{"q":"x"}'
  sallyport run script.ts --allow-read=./data`,
      );
    addPermissionFlags(command);
  },
  async run(context, [what, capability], flags) {
    const kind = kindOfTarget(what!, context.cwd);
    const input = readInput(flags.input);
    await using host = await localHost(context);
    noticeConfinement(host, context, flags);
    return kind === "script" ? await runScript(host, context, what!, input, flags) : await runPlugin(
      host,
      context,
      { what: what!, isDirectory: kind === "directory", capability },
      input,
      flags,
    );
  },
};

async function runScript(
  host: Host,
  context: CommandContext,
  file: string,
  input: unknown,
  flags: Flags,
): Promise<CommandResult> {
  if (flags.yes === true) {
    throw new UsageError(
      "ERR_USAGE",
      "Cannot use --yes with a script: what it may do are its --allow-* flags",
    );
  }
  const denials: Denial[] = [];
  const script = host.script(LOCAL, resolve(context.cwd, file), {
    permissions: permissionsOf(flags),
    cwd: context.cwd,
    environment: context.environment,
    limits: { wallMs: DEFAULT_WALL_MS, ...limitFlags(flags) },
    ...(flags.fingerprint === undefined ? {} : { fingerprint: String(flags.fingerprint) }),
    onLine: (line) =>
      context.terminal.guest(flags.json === true || isForStderr(line) ? file : null, line.text),
    onDenial: (denial) => denials.push(denial),
  });
  if (flags.lock === true) {
    const { hash } = await script.fingerprint();
    return { value: { fingerprint: hash }, print: (terminal) => terminal.out(hash) };
  }
  return resultOf(await script.run(input), denials, flags);
}

async function runPlugin(
  host: Host,
  context: CommandContext,
  { what, isDirectory, capability }: { what: string; isDirectory: boolean; capability: string | undefined },
  input: unknown,
  flags: Flags,
): Promise<CommandResult> {
  const limits = limitFlags(flags);
  const policy = localPolicy(context, limits);
  const tenant = host.tenant(LOCAL, {
    policy,
    plugins: isDirectory ? [resolve(context.cwd, what)] : localLoader(context),
  });
  const plugin = await pluginOf(tenant, what, isDirectory);
  const id = idOf(plugin, capability);
  const permissions = permissionsOf(flags);
  const grave = ungivenGrave(
    plugin,
    permissions,
    contextOf(plugin.directory, policy, join(context.userHome, ".sallyport")),
  );
  if (flags.yes !== true) throw untrusted(plugin, what, id, grave, flags);
  if (grave.length > 0) throw tooGrave(plugin, grave);
  host.warm();
  const { hash } = await tenant.fingerprint(plugin.name);
  const expected = flags.fingerprint === undefined ? hash : String(flags.fingerprint);
  await tenant.trust(plugin.name, {
    fingerprint: expected,
    approver: "run --yes",
    flags: { permissions, cwd: context.cwd },
  });
  await tenant.expose([id]);
  const denials: Denial[] = [];
  const value = await tenant.call(id, input, {
    onLine: (line) => context.terminal.guest(plugin.name, line.text),
    onDenial: (denial) => denials.push(denial),
    ...(limits.wallMs === undefined ? {} : { wallMs: limits.wallMs }),
  });
  return resultOf(value, denials, flags);
}

function resultOf(value: unknown, denials: readonly Denial[], flags: Flags): CommandResult {
  const refusals = denials.map((denial) => toOperator(denial));
  return {
    value,
    denials: refusals.map(({ details }) => details),
    print(terminal) {
      if (value !== null) {
        terminal.result(
          typeof value === "string" ? value : JSON.stringify(value, null, 2),
          flags.raw === true,
        );
      }
      for (const { message } of refusals) terminal.guest("refused", message);
    },
  };
}

const DEFAULT_WALL_MS = 30_000;

function isForStderr({ level }: GuestLine): boolean {
  return level === "warn" || level === "error";
}

function kindOfTarget(what: string, cwd: string): "script" | "directory" | "name" {
  try {
    const stats = statSync(resolve(cwd, what));
    return stats.isDirectory() ? "directory" : "script";
  } catch {
    if (/^[a-z0-9][a-z0-9-]{0,31}$/.test(what)) return "name";
    throw new UsageError(
      "ERR_USAGE",
      `Cannot run "${what}": there is no such file or directory, and no plugin has such a name`,
    );
  }
}

async function pluginOf(tenant: Tenant, what: string, isDirectory: boolean): Promise<PluginFacts> {
  if (!isDirectory) return await tenant.facts(what);
  const [row] = await tenant.list();
  return await tenant.facts(row!.name);
}

function idOf({ name, capabilities }: PluginFacts, given: string | undefined): string {
  const ids = capabilities.map(({ fullId }) => fullId);
  if (given === undefined) {
    if (capabilities.length === 1) return ids[0]!;
    throw new UsageError(
      "ERR_USAGE",
      `Cannot tell what of "${name}" to run: name one of ${
        ids.join(", ") || "nothing, since it offers nothing"
      }`,
    );
  }
  // Inside one plugin a tool's own name is unique on its surface; the first surface in the table's order wins.
  const named = capabilities.find(({ name: own, fullId, aliases }) =>
    own === given || fullId === given || aliases.includes(given)
  );
  return named?.fullId ?? given;
}

/** Grave entries of kinds that no flag on the line decides: `--yes` alone does not grant them (T17). */
function ungivenGrave(
  plugin: PluginFacts,
  flags: PermissionRequest,
  context: ReturnType<typeof contextOf>,
): string[] {
  const asked = graveOf(plugin.manifest.permissions, context);
  return KIND_NAMES.filter((kind) => flags[kind] === undefined).flatMap((kind) =>
    asked.filter((entry) => entry.kind === kind).map(({ entry }) =>
      entry === true ? `--allow-${flagName(kind)}` : quoteArgument(`--allow-${flagName(kind)}=${entry}`)
    )
  );
}

function untrusted(
  plugin: PluginFacts,
  what: string,
  id: string,
  grave: readonly string[],
  flags: Flags,
): TrustError {
  const command = [
    "sallyport run",
    quoteArgument(what),
    id,
    "--yes",
    ...grave,
    ...(flags.input === undefined ? [] : [`--input ${quoteArgument(String(flags.input))}`]),
  ].join(" ");
  return new TrustError(
    "ERR_TRUST_UNKNOWN",
    `Cannot run plugin "${plugin.name}": nobody has trusted it. Look at it with \`sallyport check ${
      quoteArgument(what)
    }\`, then, for one run:\n  ${command}`,
    { details: { plugin: plugin.name, directory: plugin.directory, command } },
  );
}

function tooGrave(plugin: PluginFacts, grave: readonly string[]): SallyportError {
  return new NotCapableError(
    "ERR_NOT_CAPABLE",
    `Cannot run plugin "${plugin.name}" with --yes alone: it asks for what --yes does not grant. If you mean it, add:\n  ${
      grave.join(" ")
    }`,
    {
      details: {
        kind: null,
        value: null,
        reason: "--yes grants nothing grave",
        rule: "run --yes",
        remedy: grave.join(" "),
      },
    },
  );
}

function noticeConfinement(host: Host, { terminal }: CommandContext, flags: Flags): void {
  const { level, reasons } = host.confinement;
  if (level === "strong" || flags.json === true) return;
  terminal.err(`sallyport: confinement of workers is ${level}: ${reasons.join("; ")}`);
}

/** `run`: one capability of a plugin, or a single script whose flags are its manifest. */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  describeRequest,
  graveOf,
  KIND_NAMES,
  type KindName,
  KINDS,
  layerOf,
  NotCapableError,
  type PathContext,
  type SallyportError,
  TrustError,
  UsageError,
} from "../../permissions/mod.ts";
import { type Denial, type GuestLine, toOperator } from "../../runtime/mod.ts";
import { contextOf } from "../grant_plugin.ts";
import { isArchive } from "../plugin.ts";
import { lookAgain } from "../plugin_state.ts";
import { findCapability } from "../registry.ts";
import type { Host } from "../host.ts";
import type { PluginFacts, Tenant } from "../tenant.ts";
import { type CliCommand, type CommandContext, CommandFailure, type CommandResult } from "./command.ts";
import { readInput } from "./input.ts";
import { limitFlags, LOCAL, localHost, localLoader, localPolicy, localStore } from "./local.ts";
import { addPermissionFlags, flagName, permissionsOf, spellFlags } from "./permission_flags.ts";
import { quoteArgument } from "../quote.ts";

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
    refuseForeignFlags(kind === "script", what!, capability, flags);
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
  return resultOf(await withDenials(denials, script.run(input)), denials, flags);
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
  const permissions = permissionsOf(flags);
  const tenant = host.tenant(LOCAL, {
    policy,
    plugins: isDirectory ? [resolve(context.cwd, what)] : localLoader(context),
    store: localStore(context),
    narrowing: { permissions, cwd: context.cwd },
  });
  const plugin = await pluginOf(tenant, what, isDirectory);
  noticeIdleFlags(plugin, permissions, context, flags);
  const id = idOf(plugin, capability);
  const grave = ungivenGrave(
    plugin,
    permissions,
    contextOf(plugin.directory, policy, join(context.userHome, ".sallyport/data/its-own")),
  );
  if (flags.yes === true) {
    if (grave.length > 0) throw tooGrave(plugin, grave);
    host.warm();
    noticeTemporary(plugin, context, flags);
    await trustOnce(tenant, plugin, id, flags);
  } else if (await isUntrusted(tenant, plugin)) throw untrusted(plugin, what, id, grave, flags);
  else await refuseOtherRecord(tenant, plugin, flags);
  const denials: Denial[] = [];
  const call = tenant.call(id, input, {
    onLine: (line) => context.terminal.guest(plugin.name, line.text),
    onDenial: (denial) => denials.push(denial),
    ...(limits.wallMs === undefined ? {} : { wallMs: limits.wallMs }),
  });
  const value = await withDenials(denials, call);
  return resultOf(value, denials, flags);
}

/** What a call gives; its failure takes along what was refused before, which often explains it. */
async function withDenials(denials: readonly Denial[], call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    const refusals = denials.map((denial) => toOperator(denial));
    const message = error instanceof Error ? error.message : null;
    throw new CommandFailure(error, refusals.filter((refusal) => refusal.message !== message));
  }
}

/** For this run: no record is written, and none is asked (T17). */
async function trustOnce(tenant: Tenant, { name }: PluginFacts, id: string, flags: Flags): Promise<void> {
  const { hash } = await tenant.fingerprint(name);
  const fingerprint = flags.fingerprint === undefined ? hash : String(flags.fingerprint);
  await tenant.trust(name, { fingerprint, approver: "run --yes", expose: [id], keep: false });
}

/** Without a record, and with records that can be believed: whatever else is wrong, the call tells best. */
async function isUntrusted(tenant: Tenant, { directory }: PluginFacts): Promise<boolean> {
  const row = (await tenant.list()).find((each) => each.directory === directory);
  return row?.state === "untrusted" && row.reason === null;
}

async function refuseOtherRecord(
  tenant: Tenant,
  { name, directory }: PluginFacts,
  { fingerprint }: Flags,
): Promise<void> {
  if (fingerprint === undefined) return;
  const record = await tenant.record(name);
  if (record === null || record.fingerprint === fingerprint) return;
  throw new TrustError(
    "ERR_TRUST_CHANGED",
    `Cannot run plugin "${name}": the fingerprint that is trusted is ${record.fingerprint}, not ${
      String(fingerprint)
    }. ${lookAgain(directory)}`,
    { details: { plugin: name, found: record.fingerprint, asked: String(fingerprint) } },
  );
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
    // An archive takes a plugin's way, where the refusal says what to do with it.
    return stats.isDirectory() || isArchive(what) ? "directory" : "script";
  } catch {
    if (/^[a-z0-9][a-z0-9-]{0,31}$/.test(what)) return "name";
    throw new UsageError(
      "ERR_USAGE",
      `Cannot run "${what}": there is no such file or directory, and no plugin has such a name`,
    );
  }
}

/** What means nothing for a script, or nothing for a plugin, is refused: silence would look like consent. */
function refuseForeignFlags(
  isScript: boolean,
  what: string,
  capability: string | undefined,
  flags: Flags,
): void {
  const problem = !isScript
    ? flags.lock === true ? `--lock with a plugin: \`sallyport check\` prints its fingerprint` : null
    : flags.yes === true
    ? "--yes with a script: what it may do are its --allow-* flags"
    : capability !== undefined
    ? `"${capability}" with script "${what}": a script has no capabilities. Pass values with --input`
    : null;
  if (problem !== null) throw new UsageError("ERR_USAGE", `Cannot use ${problem}`);
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
  return findCapability(given, capabilities).fullId;
}

/**
 * What must be added to the line so that `--yes` grants all that is asked of the kinds in which something is grave
 * (T17): `--yes` alone does not, and neither does a deny.
 */
function ungivenGrave(
  plugin: PluginFacts,
  flags: ReturnType<typeof permissionsOf>,
  context: PathContext,
): string[] {
  const grave = new Set(graveOf(plugin.manifest.permissions, context).map(({ kind }) => kind));
  const asked = layerOf("manifest", plugin.manifest.permissions, context).kinds;
  return KIND_NAMES.filter((kind) => grave.has(kind) && flags[kind]?.allow === undefined).flatMap((kind) => {
    const entries = asked[kind]?.allow ?? [];
    // A flag narrows the kind that it names, so it names every entry of it; a comma would split one in two.
    if (entries === true || entries.some(({ text }) => text.includes(","))) {
      return spellFlags(kind, { allow: true });
    }
    return spellFlags(kind, { allow: entries.map(({ entry, text }) => spellEntry(kind, entry, text)) });
  });
}

/** A path that starts at the plugin's directory is spelled out, since on the line it would start at another one. */
function spellEntry(kind: KindName, entry: unknown, text: string): string {
  // The entry was read by this very kind.
  const spelled = (KINDS[kind].displayEntry as (entry: unknown) => string)(entry);
  return spelled.startsWith("/") && !/^[/$]/.test(text) ? spelled : text.startsWith("{") ? spelled : text;
}

function untrusted(
  plugin: PluginFacts,
  what: string,
  id: string,
  grave: readonly string[],
  flags: Flags,
): TrustError {
  const values = ["input", "fingerprint", "wallMs", "memoryMb"].filter((name) => flags[name] !== undefined)
    .map((name) => `--${flagName(name)} ${quoteArgument(String(flags[name]))}`);
  const switches = ["raw", "json"].filter((name) => flags[name] === true).map((name) => `--${name}`);
  const permissions = permissionsOf(flags);
  const given = [
    ...KIND_NAMES.flatMap((kind) => spellFlags(kind, permissions[kind] ?? {})),
    ...values,
    ...switches,
  ];
  const command = ["sallyport run", quoteArgument(what), id, "--yes", ...grave, ...given].join(" ");
  return new TrustError(
    "ERR_TRUST_UNKNOWN",
    `Cannot run plugin "${plugin.name}": nobody has trusted it. Look at it and trust it with \`sallyport trust ${
      quoteArgument(what)
    }\`; or, for one run:\n  ${command}`,
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

/** Flags narrow what a plugin asks for: to allow what it does not ask for changes nothing. */
function noticeIdleFlags(
  { name, manifest }: PluginFacts,
  permissions: ReturnType<typeof permissionsOf>,
  { terminal }: CommandContext,
  flags: Flags,
): void {
  if (flags.json === true) return;
  const asked = describeRequest(manifest.permissions).filter(({ effect }) => effect === "allow");
  for (const kind of KIND_NAMES) {
    if (permissions[kind]?.allow === undefined || asked.some((line) => line.kind === kind)) continue;
    terminal.err(`sallyport: --allow-${flagName(kind)} does nothing: "${name}" does not ask for ${kind}`);
  }
}

/** Nothing was trusted for good, so there is nobody to keep things for (T17). */
function noticeTemporary({ name, manifest }: PluginFacts, { terminal }: CommandContext, flags: Flags): void {
  const keeps = describeRequest(manifest.permissions).some(({ kind, entry, effect }) =>
    effect === "allow" &&
    (kind === "storage" || (kind === "write" && (entry === true || entry.startsWith("$data"))))
  );
  if (!keeps || flags.json === true) return;
  terminal.err(
    `sallyport: with --yes, storage and $data of "${name}" are temporary: removed when this run ends`,
  );
}

function noticeConfinement(host: Host, { terminal }: CommandContext, flags: Flags): void {
  const { level, reasons } = host.confinement;
  if (level === "strong" || flags.json === true) return;
  terminal.err(`sallyport: confinement of workers is ${level}: ${reasons.join("; ")}`);
}

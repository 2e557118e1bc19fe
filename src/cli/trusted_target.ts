/**
 * The plugin that a command line runs: found, and trusted for good or, with `--yes`, for this run. `run` and `discover` are
 * the same up to here.
 */
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import {
  describeRequest,
  flagName,
  graveOf,
  type Kind,
  KINDS,
  type KindTable,
  layerOf,
  NotCapableError,
  type PathContext,
  type SallyportError,
  TrustError,
  UsageError,
} from "../../permissions/mod.ts";
import { contextOf } from "../grant_plugin.ts";
import type { Host } from "../host.ts";
import type { LimitRequest } from "../manifest/mod.ts";
import { quoteArgument } from "../quote.ts";
import { findCapability } from "../registry.ts";
import { lookAgain } from "../plugin_state.ts";
import type { Tenant } from "../tenant.ts";
import type { PluginFacts } from "../tenant_types.ts";
import type { CommandContext } from "./command.ts";
import {
  kindsOf,
  limitFlags,
  LOCAL,
  localDocuments,
  localIndex,
  localLoader,
  localPolicy,
  localSecrets,
  localStore,
  namedLoader,
  noticeUnconfined,
  refuseUnusableSettings,
} from "./local.ts";
import { type FlagRequest, permissionsOf, spellFlags } from "./permission_flags.ts";

type Flags = Readonly<Record<string, unknown>>;

/** What of a plugin is meant. */
export interface PluginTarget {
  /** A directory or a name. */
  readonly what: string;
  /** Which of the two. */
  readonly isDirectory: boolean;
  /** As it was typed. */
  readonly capability: string | undefined;
  /** What stands behind it. */
  readonly words?: readonly string[];
}

/** A plugin that may run. */
export interface TrustedTarget {
  /** Its tenant. */
  readonly tenant: Tenant;
  /** What is known of it. */
  readonly plugin: PluginFacts;
  /** What of it. */
  readonly capability: PluginFacts["capabilities"][number];
  /** What the line says of limits. */
  readonly limits: LimitRequest;
}

/** Throws what says why it may not run, with the line that would let it; `verb` is the one that was typed. */
export async function openTrusted(
  host: Host,
  context: CommandContext,
  { what, isDirectory, capability: given, words = [] }: PluginTarget,
  flags: Flags,
  verb: string,
): Promise<TrustedTarget> {
  const limits = limitFlags(flags);
  // With a record that cannot be believed the call tells what is wrong; with --yes nothing else would look at it.
  if (flags.yes === true) refuseUnusableSettings(context);
  const policy = localPolicy(context, limits);
  noticeUnconfined(context, policy, flags);
  const permissions = permissionsOf(flags, kindsOf(context));
  const tenant = host.tenant(LOCAL, {
    policy,
    plugins: isDirectory ? namedLoader(context, [what]) : localLoader(context),
    documents: localDocuments(context),
    store: localStore(context),
    // With --yes nothing outlives the run; nothing is approved for good then, so there is nothing to keep either.
    index: localIndex(context, flags.yes === true),
    secrets: localSecrets(context),
    narrowing: { permissions, cwd: context.cwd },
  });
  const plugin = await pluginOf(tenant, what, isDirectory);
  await setImmediate(); // the worker that starts meanwhile is answered here, and goes on
  noticeIdleFlags(plugin, permissions, context, flags);
  const capability = capabilityOf(plugin, given);
  const { fullId: id } = capability;
  const grave = ungivenGrave(
    plugin,
    permissions,
    contextOf(plugin.directory, policy, join(context.userHome, ".sallyport/data/its-own"), kindsOf(context)),
  );
  if (flags.yes === true) {
    if (grave.length > 0) throw tooGrave(plugin, grave);
    host.warm();
    noticeTemporary(plugin, context, flags);
    await trustOnce(tenant, plugin, capability, flags);
  } else if (await isUntrusted(tenant, plugin)) {
    throw untrusted(plugin, what, [id, ...words], grave, flags, permissions, verb);
  } else await refuseOtherRecord(tenant, plugin, flags);
  return { tenant, plugin, capability, limits };
}

/** For this run: no record is written, and none is asked (T17). What the plugin itself puts around calls is in force. */
async function trustOnce(
  tenant: Tenant,
  { name, capabilities }: PluginFacts,
  { fullId }: TrustedTarget["capability"],
  flags: Flags,
): Promise<void> {
  const around = capabilities.filter(({ stations }) => stations !== undefined).map((each) => each.fullId);
  const expose = [...new Set([fullId, ...around])];
  const { hash } = await tenant.fingerprint(name);
  const fingerprint = flags.fingerprint === undefined ? hash : String(flags.fingerprint);
  await tenant.trust(name, { fingerprint, approver: "run --yes", expose, keep: false });
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

async function pluginOf(tenant: Tenant, what: string, isDirectory: boolean): Promise<PluginFacts> {
  if (!isDirectory) return await tenant.facts(what);
  const [row] = await tenant.list();
  return await tenant.facts(row!.name);
}

function capabilityOf(
  { name, capabilities }: PluginFacts,
  given: string | undefined,
): TrustedTarget["capability"] {
  const ids = capabilities.map(({ fullId }) => fullId);
  if (given === undefined) {
    if (capabilities.length === 1) return capabilities[0]!;
    throw new UsageError(
      "ERR_USAGE",
      `Cannot tell what of "${name}" to run: name one of ${
        ids.join(", ") || "nothing, since it offers nothing"
      }`,
    );
  }
  return findCapability(given, capabilities);
}

/**
 * What must be added to the line so that `--yes` grants all that is asked of the kinds in which something is grave
 * (T17): `--yes` alone does not, and neither does a deny.
 */
function ungivenGrave(
  plugin: PluginFacts,
  flags: FlagRequest,
  context: PathContext,
): string[] {
  const grave = new Set(graveOf(plugin.manifest.permissions, context).map(({ kind }) => kind));
  const asked = layerOf("manifest", plugin.manifest.permissions, context).kinds;
  const kinds: KindTable = context.kinds ?? KINDS;
  return Object.keys(kinds).filter((kind) => grave.has(kind) && flags[kind]?.allow === undefined).flatMap(
    (kind) => {
      const entries = asked[kind]?.allow ?? [];
      // A flag narrows the kind that it names, so it names every entry of it; a comma would split one in two.
      if (entries === true || entries.some(({ text }) => text.includes(","))) {
        return spellFlags(kind, { allow: true });
      }
      return spellFlags(kind, {
        allow: entries.map(({ entry, text }) => spellEntry(kinds[kind]!, entry, text)),
      });
    },
  );
}

/** A path that starts at the plugin's directory is spelled out, since on the line it would start at another one. */
function spellEntry(kind: Kind, entry: unknown, text: string): string {
  const spelled = kind.displayEntry(entry);
  return spelled.startsWith("/") && !/^[/$]/.test(text) ? spelled : text.startsWith("{") ? spelled : text;
}

function untrusted(
  plugin: PluginFacts,
  what: string,
  words: readonly string[],
  grave: readonly string[],
  flags: Flags,
  permissions: FlagRequest,
  verb: string,
): TrustError {
  const values = ["input", "fingerprint", "wallMs", "memoryMb"].filter((name) => flags[name] !== undefined)
    .map((name) => `--${flagName(name)} ${quoteArgument(String(flags[name]))}`);
  const switches = ["prompt", "raw", "json"].filter((name) => flags[name] === true).map((name) =>
    `--${name}`
  );
  const given = [
    ...Object.keys(permissions).flatMap((kind) => spellFlags(kind, permissions[kind] ?? {})),
    ...Object.entries(flags).flatMap(([name, texts]) =>
      name.startsWith("ceiling") && Array.isArray(texts)
        ? texts.map((text) => quoteArgument(`--${flagName(name)}=${text}`))
        : name.startsWith("ceiling")
        ? [`--${flagName(name)}`]
        : []
    ),
    ...values,
    ...switches,
  ];
  const command = [
    `sallyport ${verb}`,
    ...[what, ...words].map(quoteArgument),
    "--yes",
    ...grave,
    ...given,
  ].join(" ");
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

/** Flags narrow what a plugin asks for: to allow what it does not ask for changes nothing. */
function noticeIdleFlags(
  { name, manifest }: PluginFacts,
  permissions: FlagRequest,
  context: CommandContext,
  flags: Flags,
): void {
  if (flags.json === true) return;
  const kinds = kindsOf(context);
  const asked = describeRequest(manifest.permissions, kinds).filter(({ effect }) => effect === "allow");
  for (const kind of Object.keys(kinds)) {
    if (permissions[kind]?.allow === undefined || asked.some((line) => line.kind === kind)) continue;
    context.terminal.err(
      `sallyport: --allow-${flagName(kind)} does nothing: "${name}" does not ask for ${kind}`,
    );
  }
}

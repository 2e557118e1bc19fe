/** The command line is one tenant, `local`: its policy is the person who types. */
import { lstatSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { HostError, type KindTable, kindTable, UsageError } from "../../permissions/mod.ts";
import { type Asker, GUEST_LIMITS_MAX, MEMORY_MB_MIN } from "../../runtime/mod.ts";
import { display } from "../display.ts";
import { findHome, findProject, realAncestor } from "../home.ts";
import { createHost, type Host, type HostOptions } from "../host.ts";
import { directoryLoader, type Loader } from "../loaders/mod.ts";
import type { LimitRequest } from "../manifest/mod.ts";
import type { TenantPolicy } from "../policy.ts";
import type { ResourceRoot } from "../resources/mod.ts";
import { fileSecretStore, type SecretStore } from "../secrets/mod.ts";
import { ceilingOf, settingsPolicy } from "../settings_policy.ts";
import { diskCache } from "../stores/disk_cache.ts";
import { fileStatIndex } from "../stores/stat_index.ts";
import { readSettings, type Settings, settingsStore, type StatIndex, type TrustStore } from "../trust/mod.ts";
import type { CommandContext } from "./command.ts";

/** Id of the command line's tenant. */
export const LOCAL = "local";
/** How long a command line waits for a plugin unless it is told otherwise. */
const DEFAULT_WALL_MS = 30_000;
/** The most memory that a plugin's manifest may ask for unless the command line says otherwise. */
const DEFAULT_MEMORY_MB_MAX = 512;

/**
 * A host for one command; workers are confined as well as the machine can. With `isPassing` nothing that was made of a plugin
 * outlives it: who trusts for one run only leaves nothing behind but the audit (T17).
 */
export async function localHost(
  context: CommandContext,
  asker?: Asker,
  { isPassing = false, ...more }: Pick<HostOptions, "audit"> & { readonly isPassing?: boolean } = {},
): Promise<Host> {
  const { userHome, cwd, environment, permissions = [], ops = [], events = [], early } = context;
  const { root, cache, cacheKey } = findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME });
  return await createHost({
    confinement: "best",
    home: root,
    ...(isPassing ? {} : { cache: diskCache({ directory: cache, keyFile: cacheKey }) }),
    workers: { blanksShared: 1 }, // one thing is run, so a second blank isolate would only be in its way
    permissions,
    ops,
    events,
    ...(asker === undefined ? {} : { asker }),
    ...more,
  }, early);
}

/** The kinds of permission of this command line. */
export function kindsOf({ permissions }: CommandContext): KindTable {
  return kindTable(permissions);
}

/** Trust is kept in the person's own settings; a project's files are never looked at (L28). */
export function localStore(context: CommandContext): TrustStore {
  return localSettings(context).store;
}

/** The same, with what else the settings say: for who needs both. */
export function localSettings(
  { userHome, cwd, environment }: CommandContext,
): ReturnType<typeof settingsStore> {
  const { root } = findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME });
  return settingsStore(root);
}

/** How files of trusted plugins looked; what only tells what is there changes nothing. */
export function localIndex(
  { userHome, cwd, environment }: CommandContext,
  isReadOnly: boolean = false,
): StatIndex {
  const home = findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME });
  return fileStatIndex({ file: home.statIndex, keyFile: home.cacheKey, isReadOnly });
}

/** Secrets are kept beside the settings, where no grant reaches. */
export function localSecrets({ userHome, cwd, environment }: CommandContext): SecretStore {
  return fileSecretStore(findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME }).root);
}

/** Plugins in directories that were named; a link among the project's or the person's own plugins is meant as that plugin. */
export function namedLoader(context: CommandContext, paths: readonly string[]): Loader {
  return {
    load: () =>
      Promise.resolve(paths.map((path) => {
        const directory = resolve(context.cwd, path);
        const link = linkOf(context, directory);
        return link === null ? { directory, origin: "list" } : { directory, origin: "list", link };
      })),
  };
}

/** Where the link stands that this path is, if it is one of the plugins that are found by themselves; else null. */
export function linkOf(context: CommandContext, path: string): string | null {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return null;
  const root = realAncestor(dirname(path));
  const isOwn = (localLoader(context).roots ?? []).some((each) => realAncestor(each) === root);
  return isOwn ? join(root, basename(path)) : null;
}

/** Plugins of the project first, then the person's own. */
export function localLoader({ userHome, cwd, environment }: CommandContext): Loader {
  const { root } = findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME });
  const project = findProject(cwd, root);
  return directoryLoader([
    ...(project === null ? [] : [{ directory: join(project, ".sallyport/plugins"), origin: "project" }]),
    { directory: join(root, "plugins"), origin: "user" },
  ]);
}

/** Documents of the project first, then the person's own, in folders called after their surfaces. */
export function localDocuments({ userHome, cwd, environment }: CommandContext): readonly ResourceRoot[] {
  const { root } = findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME });
  const project = findProject(cwd, root);
  return [
    ...(project === null ? [] : [{ id: "project", directory: join(project, ".sallyport") }]),
    { id: "user", directory: root },
  ];
}

/**
 * The person may grant everything but for what their own settings take from it; what is granted is up to the manifest and
 * the flags. Settings that cannot be believed say nothing here: no record in them is believed either.
 */
export function localPolicy(
  context: CommandContext,
  limits: LimitRequest,
  settings?: () => Settings,
): TenantPolicy {
  const { userHome, cwd, environment } = context;
  const { root } = findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME });
  const kinds = kindsOf(context);
  const { permissions = {}, ...stated } = settingsOrNothing(settings ?? (() => readSettings(root)), kinds);
  return {
    ...stated,
    permissions: ceilingOf(permissions, kinds),
    limits: { ...GUEST_LIMITS_MAX, memoryMb: DEFAULT_MEMORY_MB_MAX, wallMs: DEFAULT_WALL_MS, ...limits },
    environment,
    home: userHome,
    project: findProject(cwd, root) ?? cwd,
  };
}

/** Throws HostError `ERR_STORE` where the settings cannot be believed, for what would run without a record in them. */
export function refuseUnusableSettings(context: CommandContext): void {
  const { userHome, cwd, environment } = context;
  const { root } = findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME });
  settingsPolicy(readSettings(root), kindsOf(context));
}

/** Says where the settings make the boundary weaker than it is (T34). */
export function noticeUnconfined(
  { terminal }: CommandContext,
  { unconfinedCommands, onNoAnswer = {} }: TenantPolicy,
  flags: Readonly<Record<string, unknown>>,
): void {
  if (flags.json === true) return;
  if (unconfinedCommands !== undefined) {
    terminal.err(
      "sallyport: programs may run unconfined: settings.yaml says policy.unconfinedCommands: allow",
    );
  }
  for (const plugin of Object.keys(onNoAnswer)) {
    terminal.err(
      `sallyport: what plugin "${
        display(plugin)
      }" guards passes when it gives no answer: settings.yaml says policy.onNoAnswer`,
    );
  }
}

function settingsOrNothing(settings: () => Settings, kinds: KindTable): ReturnType<typeof settingsPolicy> {
  try {
    return settingsPolicy(settings(), kinds);
  } catch (error) {
    if (error instanceof HostError) return {};
    throw error;
  }
}

/** `--wall-ms`, `--memory-mb`. Throws UsageError for what is no whole number. */
export function limitFlags(flags: Readonly<Record<string, unknown>>): LimitRequest {
  const limits: { memoryMb?: number; wallMs?: number } = {};
  for (const name of ["memoryMb", "wallMs"] as const) {
    if (flags[name] === undefined) continue;
    const value = Number(flags[name]);
    const least = name === "memoryMb" ? MEMORY_MB_MIN : 1;
    if (!Number.isInteger(value) || value < least || value > GUEST_LIMITS_MAX[name]) {
      const flag = name === "memoryMb" ? "--memory-mb" : "--wall-ms";
      throw new UsageError(
        "ERR_USAGE",
        `Cannot use ${flag} "${String(flags[name])}": it is a whole number from ${least} to ${
          GUEST_LIMITS_MAX[name]
        }`,
      );
    }
    limits[name] = value;
  }
  return limits;
}

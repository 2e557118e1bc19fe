/** The command line is one tenant, `local`: its policy is the person who types. */
import { join } from "node:path";
import { HostError, type KindTable, kindTable, UsageError } from "../../permissions/mod.ts";
import { type Asker, GUEST_LIMITS_MAX, MEMORY_MB_MIN } from "../../runtime/mod.ts";
import { findHome, findProject } from "../home.ts";
import { createHost, type Host } from "../host.ts";
import { directoryLoader, type Loader } from "../loaders/mod.ts";
import type { LimitRequest } from "../manifest/mod.ts";
import type { TenantPolicy } from "../policy.ts";
import { fileSecretStore, type SecretStore } from "../secrets/mod.ts";
import { ceilingOf, settingsPolicy } from "../settings_policy.ts";
import { settingsTrustStore, type TrustStore } from "../trust/mod.ts";
import type { CommandContext } from "./command.ts";

/** Id of the command line's tenant. */
export const LOCAL = "local";
/** How long a command line waits for a plugin unless it is told otherwise. */
const DEFAULT_WALL_MS = 30_000;
/** The most memory that a plugin's manifest may ask for unless the command line says otherwise. */
const DEFAULT_MEMORY_MB_MAX = 512;

/** A host for one command; workers are confined as well as the machine can. */
export async function localHost(context: CommandContext, asker?: Asker): Promise<Host> {
  const { userHome, cwd, environment, permissions = [], ops = [] } = context;
  const { root } = findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME });
  return await createHost({
    confinement: "best",
    home: root,
    permissions,
    ops,
    ...(asker === undefined ? {} : { asker }),
  });
}

/** The kinds of permission of this command line. */
export function kindsOf({ permissions }: CommandContext): KindTable {
  return kindTable(permissions);
}

/** Trust is kept in the person's own settings; a project's files are never looked at (L28). */
export function localStore({ userHome, cwd, environment }: CommandContext): TrustStore {
  const { root } = findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME });
  return settingsTrustStore(root);
}

/** Secrets are kept beside the settings, where no grant reaches. */
export function localSecrets({ userHome, cwd, environment }: CommandContext): SecretStore {
  return fileSecretStore(findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME }).root);
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

/**
 * The person may grant everything but for what their own settings take from it; what is granted is up to the manifest and
 * the flags. Settings that cannot be believed say nothing here: no record in them is believed either.
 */
export function localPolicy(context: CommandContext, limits: LimitRequest): TenantPolicy {
  const { userHome, cwd, environment } = context;
  const { root } = findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME });
  const kinds = kindsOf(context);
  const { permissions = {}, ...stated } = settingsOrNothing(root, kinds);
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
  settingsPolicy(root, kindsOf(context));
}

/** Says where what plugins start may be less confined than they are (T34). */
export function noticeUnconfined(
  { terminal }: CommandContext,
  { unconfinedCommands }: TenantPolicy,
  flags: Readonly<Record<string, unknown>>,
): void {
  if (unconfinedCommands === undefined || flags.json === true) return;
  terminal.err("sallyport: programs may run unconfined: settings.yaml says policy.unconfinedCommands: allow");
}

function settingsOrNothing(root: string, kinds: KindTable): ReturnType<typeof settingsPolicy> {
  try {
    return settingsPolicy(root, kinds);
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

/** Which plugin a word on the command line means: a directory, or a name among the project's and the person's own. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { UsageError } from "../../permissions/mod.ts";
import type { Host } from "../host.ts";
import type { Loader } from "../loaders/mod.ts";
import type { Tenant } from "../tenant.ts";
import type { TenantOptions } from "../tenant_types.ts";
import type { CommandContext } from "./command.ts";
import {
  LOCAL,
  localDocuments,
  localLoader,
  localPolicy,
  localSecrets,
  localStore,
  namedLoader,
} from "./local.ts";

/** Opens the tenant in which a plugin is found, and gives the plugin's name. Throws UsageError, and for an invalid one. */
export async function openPlugin(
  host: Host,
  context: CommandContext,
  what: string,
  options: Pick<TenantOptions, "narrowing" | "index"> = {},
): Promise<{ readonly tenant: Tenant; readonly name: string }> {
  const directory = directoryOf(context, what);
  const plugins: Loader = directory === null ? localLoader(context) : namedLoader(context, [directory]);
  const policy = localPolicy(context, {});
  const stores = { store: localStore(context), secrets: localSecrets(context) };
  const tenant = host.tenant(LOCAL, {
    policy,
    plugins,
    ...(directory === null ? {} : { beside: localLoader(context) }),
    documents: localDocuments(context),
    ...stores,
    ...options,
  });
  if (directory === null) return { tenant, name: what };
  const [row] = await tenant.list();
  return { tenant, name: row!.name };
}

/** The directory that is meant, or null for a name. Throws UsageError for what is neither. */
export function directoryOf({ cwd }: CommandContext, what: string): string | null {
  const path = resolve(cwd, what);
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return path;
  if (/^[a-z0-9][a-z0-9-]{0,31}$/.test(what)) return null;
  throw new UsageError(
    "ERR_USAGE",
    `Cannot find "${what}": there is no such directory, and no plugin has such a name`,
  );
}

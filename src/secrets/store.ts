/** Where secrets are kept. A store only keeps; who may use one, and where it goes, is decided by the broker each time. */
import type { OwnedSecret } from "../../runtime/mod.ts";

/** Keeps secrets. Methods throw HostError `ERR_STORE` when the place cannot be believed, read or written. */
export interface SecretStore {
  /** All secrets of one tenant, with their values, as they are now. */
  list(tenant: string): Promise<readonly OwnedSecret[]>;
  /** Keeps a secret in the place of the one of its name. */
  put(tenant: string, secret: OwnedSecret): Promise<void>;
  /** Forgets a secret; says whether there was one. */
  remove(tenant: string, name: string): Promise<boolean>;
  /**
   * Adds what one of a secret's `plugins` means, unless that is known already; of a secret that is gone, nothing. Absent is a
   * store in which that is known for the process alone.
   */
  pin?(tenant: string, name: string, plugin: string, lineage: string): Promise<void>;
}

/** The secret, with what one of its `plugins` means, unless that is known already. */
export function pinned(secret: OwnedSecret, plugin: string, lineage: string): OwnedSecret {
  const { lineages = {} } = secret;
  return Object.hasOwn(lineages, plugin)
    ? secret
    : { ...secret, lineages: { ...lineages, [plugin]: [lineage] } };
}

/** Keeps secrets in memory: what an embedder has elsewhere, it sets again in each process. */
export function memorySecretStore(): SecretStore {
  const tenants = new Map<string, Map<string, OwnedSecret>>();
  return {
    list: (tenant) => Promise.resolve([...tenants.get(tenant)?.values() ?? []]),
    put: (tenant, secret) => {
      const own = tenants.get(tenant) ?? new Map<string, OwnedSecret>();
      tenants.set(tenant, own.set(secret.name, secret));
      return Promise.resolve();
    },
    pin: (tenant, name, plugin, lineage) => {
      const own = tenants.get(tenant);
      const secret = own?.get(name);
      if (secret !== undefined) own?.set(name, pinned(secret, plugin, lineage));
      return Promise.resolve();
    },
    remove: (tenant, name) => Promise.resolve(tenants.get(tenant)?.delete(name) ?? false),
  };
}

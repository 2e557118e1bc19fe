/** The store of the command line: `secrets.json` beside the settings. */
import { z } from "zod";
import type { OwnedSecret } from "../../runtime/mod.ts";
import { ownedJson } from "../stores/owned_json.ts";
import { TRUST_LIMITS, type TrustLimits } from "../trust/limits.ts";
import { pinned, type SecretStore } from "./store.ts";

interface Entry extends OwnedSecret {
  readonly tenant: string;
}

interface Content {
  readonly v: 1;
  readonly secrets: readonly Entry[];
}

const content: z.ZodType<Content> = z.strictObject({
  v: z.literal(1),
  secrets: z.array(z.strictObject({
    tenant: z.string(),
    name: z.string(),
    value: z.string(),
    hosts: z.array(z.string()),
    plugins: z.array(z.string()),
    lineages: z.record(z.string(), z.array(z.string())).exactOptional(),
  })),
});

/** Opens the store in the directory `home`. Nothing is read or made before it is asked. */
export function fileSecretStore(
  home: string,
  options: { readonly limits?: Partial<TrustLimits> } = {},
): SecretStore {
  const file = ownedJson<Content>({
    home,
    name: "secrets.json",
    schema: content,
    empty: { v: 1, secrets: [] },
    writer: "`sallyport secrets`",
    cure: "Remove a secret",
    limits: { ...TRUST_LIMITS, ...options.limits },
  });
  const change = (work: (entries: readonly Entry[]) => readonly Entry[]): Promise<void> =>
    file.change(({ secrets }) => ({ v: 1, secrets: work(secrets) }));
  return {
    list: async (tenant) => file.read().secrets.filter((entry) => entry.tenant === tenant).map(withoutTenant),
    put: (tenant, secret) =>
      change((
        before,
      ) => [...before.filter((entry) => !isOf(entry, tenant, secret.name)), { tenant, ...secret }]),
    pin: (tenant, name, plugin, lineage) =>
      change((before) =>
        before.map((entry) =>
          isOf(entry, tenant, name) ? { tenant, ...pinned(withoutTenant(entry), plugin, lineage) } : entry
        )
      ),
    async remove(tenant, name) {
      let wasThere = false;
      await change((before) => {
        const rest = before.filter((entry) => !isOf(entry, tenant, name));
        wasThere = rest.length < before.length;
        return rest;
      });
      return wasThere;
    },
  };
}

function withoutTenant({ tenant: _tenant, ...secret }: Entry): OwnedSecret {
  return secret;
}

function isOf(entry: Entry, tenant: string, name: string): boolean {
  return entry.tenant === tenant && entry.name === name;
}

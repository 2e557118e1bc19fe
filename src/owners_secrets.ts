/** The secrets of a tenant in their owner's hands: what else the host does with them is not the embedder's. */
import type { Authority } from "./authority.ts";
import type { Secrets, TenantSecrets } from "./secrets/mod.ts";
import type { Approvals } from "./trust/mod.ts";

/** Gives the owner's side alone. What was taken away ends at once. */
export function ownersSecrets(
  { secrets, approvals, authority }: {
    readonly secrets: TenantSecrets;
    readonly approvals: Pick<Approvals, "lineages">;
    readonly authority: Pick<Authority, "reconsiderSecrets">;
  },
): Secrets {
  return {
    list: () => secrets.list(),
    set: async (name, value, binding) => {
      await secrets.set(name, value, binding, await lineagesOf(binding.plugins, approvals));
      await authority.reconsiderSecrets();
    },
    delete: async (name) => {
      const wasThere = await secrets.delete(name);
      await authority.reconsiderSecrets();
      return wasThere;
    },
  };
}

/** What names and directories of plugins mean by now (T13). What nobody trusted yet means nothing so far. */
async function lineagesOf(
  plugins: readonly string[],
  approvals: Pick<Approvals, "lineages">,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const known = await approvals.lineages();
  const meant = plugins.map((plugin) => {
    const own = known.filter(({ name, directory }) => name === plugin || directory === plugin);
    return [plugin, own.map(({ lineage }) => lineage)] as const;
  });
  return Object.fromEntries(meant.filter(([, lineages]) => lineages.length > 0));
}

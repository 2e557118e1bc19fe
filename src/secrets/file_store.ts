/**
 * The store of the command line: `secrets.json` beside the settings, which nobody but its owner can read. It is believed,
 * locked and replaced as the settings are; no grant reaches it, since it is Sallyport's own state (T03).
 */
import { join } from "node:path";
import { z } from "zod";
import type { OwnedSecret } from "../../runtime/mod.ts";
import type { FileStat } from "../source_file.ts";
import { TRUST_LIMITS, type TrustLimits } from "../trust/limits.ts";
import { withLock } from "../trust/lock.ts";
import { ensureDirectory, openSettings, replaceFile, unusable } from "../trust/settings_file.ts";
import { pinned, type SecretStore } from "./store.ts";

interface Entry extends OwnedSecret {
  readonly tenant: string;
}

const NAME = "secrets.json";

const content = z.strictObject({
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
  const limits = { ...TRUST_LIMITS, ...options.limits };
  let known: { readonly stat: FileStat; readonly entries: readonly Entry[] } | null = null;

  const entries = (): readonly Entry[] => {
    const file = openSettings(home, limits.settingsBytesMax, known?.stat ?? null, NAME);
    if (file === null) return known!.entries;
    const found = entriesOf(file.path, file.bytes);
    // Two writes within one tick of the file system's clock may look alike.
    const isSettled = file.stat !== null &&
      Date.now() - Number(file.stat.ctimeNs / 1_000_000n) > limits.settledMs;
    known = isSettled ? { stat: file.stat, entries: found } : null;
    return found;
  };
  const change = async (work: (entries: readonly Entry[]) => readonly Entry[]): Promise<void> => {
    ensureDirectory(home);
    await withLock(join(home, `${NAME}.lock`), limits, () => {
      const { path, bytes } = openSettings(home, limits.settingsBytesMax, null, NAME)!;
      const next = { v: 1, secrets: work(entriesOf(path, bytes)) };
      const text = Buffer.from(`${JSON.stringify(next, null, 2)}\n`);
      if (text.byteLength > limits.settingsBytesMax) {
        throw unusable(path, `it would be larger than ${limits.settingsBytesMax} bytes`, "Remove a secret");
      }
      replaceFile(path, text);
    });
  };
  return {
    list: async (tenant) => entries().filter((entry) => entry.tenant === tenant).map(withoutTenant),
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

/** Throws when the text is not acceptable: it is then neither believed nor ever overwritten. What it says is never repeated. */
function entriesOf(path: string, bytes: Uint8Array | null): readonly Entry[] {
  if (bytes === null || bytes.byteLength === 0) return [];
  const value = parsed(bytes);
  const result = content.safeParse(value);
  if (result.success) return result.data.secrets;
  throw unusable(path, "it is not what `sallyport secrets` writes", "Correct it by hand, or remove it");
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}

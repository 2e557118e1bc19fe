/** `list`: every plugin that is found, from its manifest alone. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { ERRORS, HostError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import { realAncestor } from "../home.ts";
import type { RetiredData } from "../retired_data.ts";
import type { PluginRow } from "../tenant_types.ts";
import type { Tenant } from "../tenant.ts";
import { placeOfKey, type TrustKey, type TrustStore } from "../trust/mod.ts";
import type { CliCommand } from "./command.ts";
import {
  LOCAL,
  localDocuments,
  localHost,
  localIndex,
  localLoader,
  localPolicy,
  localSettings,
  namedLoader,
} from "./local.ts";
import type { Terminal } from "./terminal.ts";

/** The verb. */
export const list: CliCommand = {
  name: "list",
  configure(command) {
    command
      .description("Lists plugins from their manifests; runs none of their code")
      .argument("[directories...]", "plugin directories; else the project's and your own plugins")
      .option("--verify", "hash every pinned file, also where it looks as it did when it was compared last")
      .addHelpText("after", "\nExample:\n  sallyport list ./web-research ./notes");
  },
  async run(context, directories, flags) {
    await using host = await localHost(context);
    const plugins = directories.length === 0 ? localLoader(context) : namedLoader(context, directories);
    const { store, settings } = localSettings(context);
    // A program that reads what is there does not expect that reading changes it (T13).
    const isReadOnly = flags.json === true;
    const index = localIndex(context, isReadOnly);
    const policy = localPolicy(context, {}, settings);
    const documents = localDocuments(context);
    const tenant = host.tenant(LOCAL, { policy, plugins, documents, store, index });
    const removed: RetiredData[] = [];
    const forgotten = isReadOnly ? [] : await forgetGone(tenant, (data) => void removed.push(data));
    const rows = await tenant.list({ verify: flags.verify === true });
    const elsewhere = await trustedElsewhere(store, rows);
    const isMissing = directories.some((path) => !existsSync(resolve(context.cwd, path, "plugin.yaml")));
    return {
      value: { plugins: rows, elsewhere },
      print: (terminal) => {
        print(rows, elsewhere, terminal);
        for (const key of forgotten) {
          terminal.out(`forgot the trust of "${display(key.name)}": ${display(placeOfKey(key))} is gone`);
        }
        for (const { name, directory } of removed) {
          terminal.out(`removed what "${display(name)}" of ${display(directory)} had kept`);
        }
      },
      ...(isMissing ? { exitCode: ERRORS.ERR_MANIFEST_NOT_FOUND.exit } : {}),
    };
  },
};

/** With records that cannot be used, the rows tell it. */
async function forgetGone(
  tenant: Tenant,
  onRemoved: (data: RetiredData) => void,
): Promise<readonly TrustKey[]> {
  try {
    return await tenant.prune({ onRemoved });
  } catch (error) {
    if (error instanceof HostError) return [];
    throw error;
  }
}

/** Plugins with a trust record that are not among the rows; of a store that cannot be used, which the rows tell, none. */
async function trustedElsewhere(
  store: TrustStore,
  rows: readonly PluginRow[],
): Promise<readonly Pick<TrustKey, "name" | "directory">[]> {
  // The row of an invalid plugin names its directory as it was found.
  const here = new Set(
    rows.map((row) => row.link ?? (row.state === "invalid" ? realAncestor(row.directory) : row.directory)),
  );
  try {
    const records = (await store.list(LOCAL)).map((stored) => stored.isSound ? stored.record : stored.key);
    return records.filter((key) => !here.has(placeOfKey(key)))
      .map((key) => ({ name: key.name, directory: placeOfKey(key) }));
  } catch (error) {
    if (error instanceof HostError) return [];
    throw error;
  }
}

/** A list that hashed nothing does not give an all-clear (T27). */
function stateText({ state, verified }: PluginRow): string {
  return state === "active" && !verified ? "active (unverified)" : state;
}

function print(
  rows: readonly PluginRow[],
  elsewhere: readonly Pick<TrustKey, "name" | "directory">[],
  { out }: Terminal,
): void {
  if (rows.length === 0) {
    out(
      "No plugins. A plugin is a directory with a plugin.yaml under .sallyport/plugins of the project or of your home.",
    );
  }
  const widest = Math.max(...rows.map(({ name }) => display(name).length), 4);
  for (const row of rows) {
    out(
      `${display(row.name).padEnd(widest)}  ${stateText(row).padEnd(12)}  ${display(row.version ?? "-")}  ${
        display(row.link ?? row.directory)
      }${row.link === undefined ? "" : ` (link to ${display(row.directory)})`}`,
    );
    if (row.reason !== null) {
      for (const line of row.reason.split("\n")) out(`${" ".repeat(widest)}    ${display(line)}`);
    }
    for (const { id, live } of row.capabilities) {
      out(`${" ".repeat(widest)}    ${display(id)}${live ? "" : "  (not live yet)"}`);
    }
  }
  if (elsewhere.length > 0) {
    out(
      `and ${elsewhere.length} trusted elsewhere: ${
        elsewhere.map(({ directory }) => display(directory)).join(", ")
      }`,
    );
  }
}

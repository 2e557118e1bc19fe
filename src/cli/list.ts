/** `list`: every plugin that is found, from its manifest alone. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { ERRORS, HostError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import { realAncestor } from "../home.ts";
import type { PluginRow } from "../tenant.ts";
import type { TrustKey, TrustStore } from "../trust/mod.ts";
import type { CliCommand } from "./command.ts";
import { LOCAL, localHost, localLoader, localPolicy, localStore } from "./local.ts";
import type { Terminal } from "./terminal.ts";

/** The verb. */
export const list: CliCommand = {
  name: "list",
  configure(command) {
    command
      .description("Lists plugins from their manifests; runs none of their code")
      .argument("[directories...]", "plugin directories; else the project's and your own plugins")
      .addHelpText("after", "\nExample:\n  sallyport list ./web-research ./notes");
  },
  async run(context, directories) {
    await using host = await localHost(context);
    const plugins = directories.length === 0
      ? localLoader(context)
      : directories.map((path) => resolve(context.cwd, path));
    const store = localStore(context);
    const rows = await host.tenant(LOCAL, { policy: localPolicy(context, {}), plugins, store }).list();
    const elsewhere = await trustedElsewhere(store, rows);
    const isMissing = directories.some((path) => !existsSync(resolve(context.cwd, path, "plugin.yaml")));
    return {
      value: { plugins: rows, elsewhere },
      print: (terminal) => print(rows, elsewhere, terminal),
      ...(isMissing ? { exitCode: ERRORS.ERR_MANIFEST_NOT_FOUND.exit } : {}),
    };
  },
};

/** Plugins with a trust record that are not among the rows; of a store that cannot be used, which the rows tell, none. */
async function trustedElsewhere(
  store: TrustStore,
  rows: readonly PluginRow[],
): Promise<readonly Pick<TrustKey, "name" | "directory">[]> {
  const here = new Set(rows.map(({ directory }) => realAncestor(directory)));
  try {
    const records = (await store.list(LOCAL)).map((stored) => stored.isSound ? stored.record : stored.key);
    return records.filter(({ directory }) => !here.has(directory))
      .map(({ name, directory }) => ({ name, directory }));
  } catch (error) {
    if (error instanceof HostError) return [];
    throw error;
  }
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
      `${display(row.name).padEnd(widest)}  ${row.state.padEnd(12)}  ${display(row.version ?? "-")}  ${
        display(row.directory)
      }`,
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

/** `list`: every plugin that is found, from its manifest alone. */
import { resolve } from "node:path";
import { display } from "../display.ts";
import type { PluginRow } from "../tenant.ts";
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
    return { value: { plugins: rows }, print: (terminal) => print(rows, terminal) };
  },
};

function print(rows: readonly PluginRow[], { out }: Terminal): void {
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
}

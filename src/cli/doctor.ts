/** `doctor`: whether this machine and these settings hold what Sallyport promises. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { ERRORS } from "../../permissions/mod.ts";
import { enginePath } from "../../runtime/mod.ts";
import { verifyLocalAudit } from "../audit/local.ts";
import { type DoctorRow, examine } from "../doctor.ts";
import { findHome } from "../home.ts";
import { fileRetiredStore } from "../retired_data.ts";
import { sharedStorage } from "../shared_storage.ts";
import type { CliCommand } from "./command.ts";
import { LOCAL, localHost, localLoader, localPolicy, localStore } from "./local.ts";
import type { Terminal } from "./terminal.ts";

/** The verb. */
export const doctor: CliCommand = {
  name: "doctor",
  configure(command) {
    command
      .description("Checks this machine and your settings; fails where the boundary is weaker than promised")
      .addHelpText("after", "\nExample:\n  sallyport doctor --json");
  },
  async run(context) {
    const { userHome, cwd, environment } = context;
    const home = findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME });
    const store = localStore(context);
    await using host = await localHost(context);
    const tenant = host.tenant(LOCAL, {
      policy: localPolicy(context, {}),
      plugins: localLoader(context),
      store,
    });
    const rows = await examine({
      node: process.versions.node,
      engine: enginePath,
      confinement: host.confinement,
      weakenings: host.weakenings,
      records: () => store.list(LOCAL),
      isThere: existsSync,
      plugins: () => tenant.list(),
      plan: () => tenant.plan(),
      sharedStorage: async () => {
        const found = new Map<string, readonly string[]>();
        for (const { name, state } of await tenant.list()) {
          if (state === "invalid") continue;
          const ids = sharedStorage(await tenant.manifest(name));
          if (ids.length > 0) found.set(name, ids);
        }
        return found;
      },
      lineages: () => foldersOf(join(home.data, LOCAL)),
      retired: () => fileRetiredStore(home.root).list(LOCAL),
      audit: () => verifyLocalAudit(home, LOCAL),
    });
    const isWeak = rows.some(({ level }) => level === "fail");
    return {
      value: { checks: rows },
      print: (terminal) => print(rows, terminal),
      ...(isWeak ? { exitCode: ERRORS.ERR_CONFINEMENT.exit } : {}),
    };
  },
};

function foldersOf(directory: string): readonly string[] {
  return existsSync(directory) ? readdirSync(directory).sort() : [];
}

function print(rows: readonly DoctorRow[], { out }: Terminal): void {
  const widest = Math.max(...rows.map(({ id }) => id.length));
  for (const { id, level, what, cure } of rows) {
    const [first, ...rest] = what.split("\n");
    out(`${level.padEnd(4)}  ${id.padEnd(widest)}  ${first}`);
    const indent = " ".repeat(widest + 8);
    for (const line of rest) out(indent + line);
    if (cure !== null) out(`${indent}→ ${cure}`);
  }
}

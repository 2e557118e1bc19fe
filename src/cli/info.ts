/** `info`: what one plugin says of itself, how it stands, and what was approved. Bundles nothing, runs nothing. */
import { join } from "node:path";
import { describeRequest, type GraveEntry, graveOf } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import { contextOf } from "../grant_plugin.ts";
import type { PluginFacts, PluginRow } from "../tenant.ts";
import type { TrustRecord } from "../trust/mod.ts";
import type { CliCommand } from "./command.ts";
import { localHost, localPolicy } from "./local.ts";
import { graveLines, requestText, valueLines } from "./review_text.ts";
import { openPlugin } from "./target.ts";
import type { Terminal } from "./terminal.ts";

interface Found {
  readonly row: PluginRow;
  readonly facts: PluginFacts;
  readonly grave: readonly GraveEntry[];
  readonly record: TrustRecord | null;
}

/** The verb. */
export const info: CliCommand = {
  name: "info",
  configure(command) {
    command
      .description("Shows one plugin: its manifest, what it asks for, and how it stands")
      .argument("<what>", "a plugin's directory or name")
      .addHelpText("after", "\nExample:\n  sallyport info ./web-research");
  },
  async run(context, [what]) {
    await using host = await localHost(context);
    const { tenant, name } = await openPlugin(host, context, what!);
    const facts = await tenant.facts(name);
    const row = (await tenant.list()).find(({ directory }) => directory === facts.directory)!;
    // Where its own folder is decides nothing here: it is never grave.
    const own = contextOf(
      facts.directory,
      localPolicy(context, {}),
      join(context.userHome, ".sallyport/data/own"),
    );
    const grave = graveOf(facts.manifest.permissions, own);
    // Of an untrusted plugin there is none, or a store that cannot be used, which is then the reason in the row.
    const record = row.state === "active" || row.state === "changed" ? await tenant.record(name) : null;
    const found = { row, facts, grave, record };
    return {
      value: { ...row, manifest: facts.manifest, grave, record },
      print: (terminal) => print(found, terminal),
    };
  },
};

function print({ row, facts, grave, record }: Found, { out }: Terminal): void {
  out(`${display(row.name)} ${display(row.version ?? "")}`);
  out(`  state        ${row.state}`);
  if (row.reason !== null) out(`  because      ${display(row.reason)}`);
  out(`  directory    ${display(row.directory)}`);
  for (const { id, live, exposed } of row.capabilities) {
    out(`  offers       ${display(id)}${live ? "" : "  (not live yet)"}${exposed ? "  (exposed)" : ""}`);
  }
  const asked = describeRequest(facts.manifest.permissions);
  if (asked.length === 0) out("  asks for     nothing");
  for (const line of asked) out(`  asks for     ${requestText(line)}`);
  if (asked.length > 0) { for (const line of graveLines(grave)) out(line); }
  for (const line of record === null ? [] : recordLines(record)) out(line);
  out("The manifest, whole:");
  for (const line of valueLines(facts.manifest, "  ")) out(line);
}

function recordLines({ fingerprint, approver, approvedAt, grants, exposed, lineage }: TrustRecord): string[] {
  return [
    `  trusted      ${fingerprint}`,
    `  by           ${display(approver)} at ${display(approvedAt)}`,
    ...describeRequest(grants).map((line) => `  granted      ${requestText(line)}`),
    ...exposed.map((id) => `  exposed      ${display(id)}`),
    `  lineage      ${lineage}`,
  ];
}

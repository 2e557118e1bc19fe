/** `info`: what one plugin says of itself, how it stands, and what was approved. Bundles nothing, runs nothing. */
import { join } from "node:path";
import {
  type Change,
  describeRequest,
  diff,
  grantOf,
  type GraveEntry,
  graveOf,
  type KindTable,
  layerOf,
  type PathContext,
} from "../../permissions/mod.ts";
import { type AuditedUse, readUses } from "../audit/uses.ts";
import { boundaryText } from "../boundary.ts";
import type { Confinement } from "../../runtime/mod.ts";
import { findHome } from "../home.ts";
import { display } from "../display.ts";
import { contextOf } from "../grant_plugin.ts";
import { sharedStorage } from "../shared_storage.ts";
import type { PluginFacts, PluginRow } from "../tenant_types.ts";
import type { RequestedSecret } from "../secrets/mod.ts";
import type { TrustRecord } from "../trust/mod.ts";
import type { ThroughCall } from "../through_calls.ts";
import { annotationText } from "./annotation_text.ts";
import type { CliCommand } from "./command.ts";
import { kindsOf, LOCAL, localHost, localPolicy } from "./local.ts";
import { graveLines, requestText, secretText, throughText, valueLines } from "./review_text.ts";
import { stationLines } from "./station_lines.ts";
import { openPlugin } from "./target.ts";
import type { Terminal } from "./terminal.ts";

interface Found {
  readonly row: PluginRow;
  readonly level: Confinement;
  readonly facts: PluginFacts;
  readonly grave: readonly GraveEntry[];
  readonly record: TrustRecord | null;
  /** What is asked for and was not granted. */
  readonly cut: readonly Pick<Change, "kind" | "entry">[];
  /** By the audit. */
  readonly used: readonly AuditedUse[];
  readonly secrets: readonly RequestedSecret[];
  readonly through: readonly ThroughCall[];
  readonly kinds: KindTable;
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
      kindsOf(context),
    );
    const grave = graveOf(facts.manifest.permissions, own);
    // Of an untrusted plugin there is none, or a store that cannot be used, which is then the reason in the row.
    const record = !["untrusted", "invalid", "incompatible"].includes(row.state)
      ? await tenant.record(name)
      : null;
    const { audit } = findHome({ ...context, fromEnvironment: context.environment.SALLYPORT_HOME });
    const fingerprint = record?.fingerprint ?? null;
    const used = readUses(audit, { tenant: LOCAL, plugin: facts.name, fingerprint });
    const cut = record === null ? [] : cutOf(facts, record, own);
    const secrets = await tenant.requestedSecrets(name);
    const through = await tenant.throughCalls(name);
    const { level } = host.confinement;
    const found = { row, level, facts, grave, record, cut, used, secrets, through, kinds: kindsOf(context) };
    return {
      value: {
        ...row,
        manifest: facts.manifest,
        boundary: { confinement: level, text: boundaryText(level) },
        problems: facts.findings,
        grave,
        record,
        requested: facts.manifest.permissions,
        granted: record?.grants ?? null,
        cut,
        used,
        secrets,
        through,
        sharedStorage: sharedStorage(facts.manifest),
      },
      print: (terminal) => print(found, terminal),
    };
  },
};

/** What the manifest asks for and the record leaves out or carves out. */
function cutOf({ manifest }: PluginFacts, { grants }: TrustRecord, context: PathContext): Found["cut"] {
  const asked = layerOf("manifest", manifest.permissions, context);
  const changes = diff(grantOf(asked), grantOf(asked, layerOf("record", grants, context)));
  return changes.filter(({ change }) => change === "lost").map(({ kind, entry }) => ({ kind, entry }));
}

function print(
  { row, level, facts, grave, record, cut, used, secrets, through, kinds }: Found,
  { out }: Terminal,
): void {
  out(`${display(row.name)} ${display(row.version ?? "")}`);
  out(`  state        ${row.state}`);
  if (row.reason !== null) out(`  because      ${display(row.reason)}`);
  out(`  directory    ${display(row.directory)}`);
  out(`  runs         ${boundaryText(level)}`);
  for (const problem of facts.findings) out(`  problem      ${problem}`);
  for (const { id, live, exposed, annotations, typed, stations } of row.capabilities) {
    const marks = [
      typed === undefined ? "" : `  ${display(typed)}`,
      live ? "" : "  (not live yet)",
      exposed ? "  (exposed)" : "",
    ];
    out(`  offers       ${display(id)}${marks.join("")}`);
    const said = annotationText(annotations);
    if (said !== null) out(`               says of itself: ${said}`);
    for (const line of stationLines(stations)) out(`               ${line}`);
  }
  const joined = sharedStorage(facts.manifest);
  if (joined.length > 0) {
    out(
      `  beware       data can flow between ${
        joined.map((id) => display(id)).join(", ")
      }: they keep it in one place`,
    );
  }
  const asked = describeRequest(facts.manifest.permissions, kinds);
  if (asked.length === 0) out("  asks for     nothing");
  for (const line of asked) out(`  asks for     ${requestText(line)}`);
  if (asked.length > 0) { for (const line of graveLines(grave)) out(line); }
  for (const secret of secrets) out(`  secret       ${secretText(secret)}`);
  for (const each of through) out(`  ${throughText(each)}`);
  for (const line of record === null ? [] : recordLines(record, kinds)) out(line);
  for (const { kind, entry } of cut) {
    out(`  cut          ${kind} ${entry === true ? "everything" : display(entry)}`);
  }
  for (const { kind, value, count, last } of used) {
    out(
      `  used         ${kind} ${value === null ? "everything" : display(value)}  (${count} times, last ${
        display(last)
      })`,
    );
  }
  out("The manifest, whole:");
  for (const line of valueLines(facts.manifest, "  ")) out(line);
}

function recordLines(
  { fingerprint, approver, approvedAt, grants, exposed, lineage }: TrustRecord,
  kinds: KindTable,
): string[] {
  return [
    `  trusted      ${fingerprint}`,
    `  by           ${display(approver)} at ${display(approvedAt)}`,
    ...describeRequest(grants, kinds).map((line) => `  granted      ${requestText(line)}`),
    ...exposed.map((id) => `  exposed      ${display(id)}`),
    `  lineage      ${lineage}`,
  ];
}

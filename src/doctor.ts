/**
 * Whether this machine and these settings hold what Sallyport promises. Each question is a row of a table: `fail` is a boundary
 * weaker than promised or something that cannot work, `warn` is what somebody should look at.
 */
import { SallyportError } from "../permissions/mod.ts";
import type { AuditVerification } from "./audit/verify.ts";
import { display } from "./display.ts";
import type { Plan } from "./plan.ts";
import { deadMatcherText } from "./points/dead_matchers.ts";
import { expiryOf, type RetiredData } from "./retired_data.ts";
import type { PluginRow } from "./tenant_types.ts";
import type { StoredRecord } from "./trust/mod.ts";

/** One answer. */
export interface DoctorRow {
  /** What was looked at. */
  readonly id: string;
  /** How it is. */
  readonly level: "ok" | "warn" | "fail";
  /** What was found, safe for a terminal. */
  readonly what: string;
  /** What to do about it; null where there is nothing to do. */
  readonly cure: string | null;
}

/** What is looked at. What throws is an answer as well. */
export interface DoctorFacts {
  /** Version of Node. */
  readonly node: string;
  /** Where the engine's binary is; throws HostError. */
  readonly engine: () => string;
  /** What workers reach, and why it is not better. */
  readonly confinement: {
    readonly level: string;
    readonly reasons: readonly string[];
    readonly bubblewrap?: string;
  };
  /** Options that make the boundary weaker than its default, in words. */
  readonly weakenings: readonly string[];
  /** The trust records; throws HostError. */
  readonly records: () => Promise<readonly StoredRecord[]>;
  /** Whether a directory is there. */
  readonly isThere: (directory: string) => boolean;
  /** Every plugin that is found. */
  readonly plugins: () => Promise<readonly PluginRow[]>;
  /** How things are, as a plan that supposes nothing. */
  readonly plan: () => Promise<Plan>;
  /** Full ids between which data can flow, by plugin. */
  readonly sharedStorage: () => Promise<ReadonlyMap<string, readonly string[]>>;
  /** Lineages that have a data folder. */
  readonly lineages: () => readonly string[];
  /** What plugins kept whose trust was forgotten; throws HostError. */
  readonly retired: () => readonly RetiredData[];
  /** Whether the log is what was written; null where there is none yet. */
  readonly audit: () => AuditVerification | null;
}

type Check = (facts: DoctorFacts) => Promise<readonly DoctorRow[]> | readonly DoctorRow[];

/** All answers, in the order of the table. A question that cannot be answered is a failure of its own. */
export async function examine(facts: DoctorFacts): Promise<readonly DoctorRow[]> {
  const rows: DoctorRow[] = [];
  for (const [id, check] of Object.entries(CHECKS)) {
    try {
      const found = await check(facts);
      rows.push(...(found.length > 0 ? found : [ok(id, QUIET[id] ?? "nothing was found")]));
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error;
      // One thing that cannot be read keeps several questions from being answered; it is told once.
      if (!rows.some(({ what }) => what === error.message)) rows.push(fail(id, error.message, null));
    }
  }
  return rows;
}

const CHECKS: Readonly<Record<string, Check>> = {
  node: ({ node }) =>
    ["24", "26"].includes(node.split(".")[0]!) ? [ok("node", `Node ${node}`)] : [
      fail(
        "node",
        `Node ${node} has no isolate engine`,
        "run your program with `npx node`, which Sallyport installed",
      ),
    ],
  engine: ({ engine }) => [ok("engine", display(engine()))],
  confinement: ({ confinement: { level, reasons } }) =>
    level === "strong" ? [ok("confinement", "workers are confined: strong")] : [fail(
      "confinement",
      `workers are confined: ${level}; ${reasons.map((each) => display(each)).join("; ")}`,
      STRONG,
    )],
  bubblewrap: ({ confinement: { bubblewrap } }) =>
    bubblewrap === undefined
      ? [warn("bubblewrap", "it is not used, so plugins can start no programs", STRONG)]
      : [ok("bubblewrap", bubblewrap)],
  weakening: ({ weakenings }) =>
    weakenings.map((each) => fail("weakening", each, "take the option away, or accept what it means")),
  settings: async ({ records }) => [
    ok("settings", `${(await records()).length} trust records, which nobody else could have written`),
  ],
  records: async ({ records }) =>
    (await records()).flatMap((stored) =>
      stored.isSound ? [] : [warn(
        "records",
        `"${display(stored.key.name)}" in ${display(stored.key.directory)}: ${display(stored.reason)}`,
        `sallyport trust ${display(stored.key.directory)}`,
      )]
    ),
  orphans: async ({ records, isThere, lineages, retired }) => {
    const stored = await records();
    const gone = stored.map((each) => each.isSound ? each.record : each.key).filter(({ directory }) =>
      !isThere(directory)
    );
    const known = new Set(stored.flatMap((each) => each.isSound ? [each.record.lineage] : []));
    const left = retired().filter(({ lineage }) => !known.has(lineage));
    const kept = new Set([...known, ...left.map(({ lineage }) => lineage)]);
    // What a broken record owned cannot be told, so nothing is called an orphan's then.
    const folders = stored.every(({ isSound }) => isSound)
      ? lineages().filter((lineage) => !kept.has(lineage))
      : [];
    return [
      ...gone.map(({ name, directory }) =>
        warn(
          "orphans",
          `"${display(name)}" is trusted in ${display(directory)}, which is gone`,
          "sallyport list removes the record",
        )
      ),
      ...left.map((each) =>
        warn(
          "orphans",
          `what "${display(each.name)}" of ${display(each.directory)} kept belongs to nobody since ${
            dayOf(Date.parse(each.since))
          }: its trust was forgotten. It is kept until ${dayOf(expiryOf(each))}`,
          "sallyport list removes it then",
        )
      ),
      ...(folders.length === 0
        ? []
        : [warn("orphans", `${folders.length} data folders belong to no trust record`, null)]),
    ];
  },
  plugins: async ({ plugins }) =>
    (await plugins()).filter(({ state }) => STATES.has(state)).map(({ name, state, reason }) =>
      warn("plugins", `"${display(name)}" is ${state}: ${display(reason ?? "")}`, STATES.get(state)!)
    ),
  dormant: async ({ plan }) =>
    (await plan()).dormant.map(({ id, reason }) =>
      warn("dormant", `${display(id)} is exposed and not offered: ${display(reason)}`, null)
    ),
  cut: async ({ plan }) =>
    (await plan()).broken.map(({ plugin, message }) =>
      warn("cut", `${display(plugin)}: ${display(message)}`, null)
    ),
  matchers: async ({ plan }) =>
    (await plan()).unmatched.map((each) =>
      warn("matchers", deadMatcherText(each), "correct it, or see that what it means is there")
    ),
  storage: async ({ sharedStorage }) =>
    [...await sharedStorage()].map(([plugin, ids]) =>
      warn(
        "storage",
        `of "${display(plugin)}", data can flow between ${
          ids.map((id) => display(id)).join(", ")
        }: they keep it in one place`,
        null,
      )
    ),
  audit: ({ audit }) => {
    const found = audit();
    if (found === null) return [ok("audit", "nothing was written yet")];
    const { segments, lines, problems: { length } } = found;
    return length === 0 ? [ok("audit", `${segments} segments, ${lines} lines: nothing was changed`)] : [
      fail(
        "audit",
        `${segments} segments, ${lines} lines: ${length} of them not as they were written`,
        "sallyport audit verify",
      ),
    ];
  },
};

/** What an empty answer means. */
const QUIET: Readonly<Record<string, string>> = {
  weakening: "no option weakens the boundary",
  records: "every trust record can be read",
  orphans: "every trust record has its plugin",
  plugins: "no plugin is stopped, broken or changed",
  dormant: "whatever is exposed is offered",
  cut: "no plugin lacks what it requires",
  matchers: "every matcher of a hook matches something",
  storage: "no capabilities with different permissions share what they keep",
};

const STRONG = "install bubblewrap, and let it make user namespaces";

/** States that somebody should know of, with the cure. */
const STATES: ReadonlyMap<string, string> = new Map([
  ["quarantined", "look at what it does, then sallyport enable NAME"],
  ["invalid", "sallyport check DIRECTORY"],
  ["changed", "sallyport diff NAME, then sallyport trust NAME"],
  ["collision", "disable or untrust one of them"],
  ["incompatible", "take a version of it that fits, or another Sallyport"],
]);

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function ok(id: string, what: string): DoctorRow {
  return { id, level: "ok", what, cure: null };
}

function warn(id: string, what: string, cure: string | null): DoctorRow {
  return { id, level: "warn", what, cure };
}

function fail(id: string, what: string, cure: string | null): DoctorRow {
  return { id, level: "fail", what, cure };
}

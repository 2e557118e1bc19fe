/** How far one tenant at full speed slows down another, a worker each: the same calls at the same pace, alone and beside it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHost, type Tenant } from "../../src/mod.ts";
import { median } from "../bench/stats.ts";
import { atPace, count, endOf, openTenant, rest, type Took, took, toolOf, writePlugins } from "./ground.ts";

/** What is done. */
export interface FairnessOptions {
  /** Length of each half of a run. */
  readonly ms: number;
  /** The middle one of them counts. */
  readonly runs: number;
  /** Calls of the well-behaved tenant. */
  readonly callsPerSecond: number;
  /** Which floods are let loose, one after the other. */
  readonly floods: readonly FloodName[];
  /** Told what was measured, as soon as it was. */
  readonly onRun?: (flood: FloodName, run: FairnessRun) => void;
}

/** One half of a run. */
export interface Half {
  /** From the making of a call to its answer. */
  readonly made: Took;
  /** From the moment at which a call was due, which an event loop that is held up makes late. */
  readonly due: Took;
}

/** One run. */
export interface FairnessRun {
  readonly alone: Half;
  readonly beside: Half;
  /** The worse of both ways of counting: p99 beside the flood, as a multiple of p99 alone. */
  readonly ratio: number;
  /** Calls of the flood that ended, each second. */
  readonly floodPerSecond: number;
}

/** What came of it. */
export interface FairnessFigures {
  readonly floods: Readonly<
    Partial<Record<FloodName, { readonly runs: readonly FairnessRun[]; readonly ratio: number }>>
  >;
  /** Calls of the well-behaved tenant that had any other end than their answer. */
  readonly wrong: Readonly<Record<string, number>>;
}

/** Below this is fair. */
export const RATIO_MAX = 3;

/** The name of a flood. */
export type FloodName = keyof typeof FLOODS;

/** What floods, and how many of it are under way at once: as many as one isolate serves, or the one that does it all. */
export const FLOODS = {
  calls: { inFlight: 64, source: "export const call = ({ n }) => ({ n });" },
  ops: {
    inFlight: 1,
    source: `export async function call(_input, { storage }) {
  for (const end = Date.now() + 500; Date.now() < end;) {
    await Promise.allSettled(Array.from({ length: 500 }, () => storage.get("a")));
  }
}`,
  },
  logs: {
    inFlight: 1,
    source: `export async function call() {
  for (let n = 0; n < 10_000; n++) {
    console.log("line " + n);
    if (n % 100 === 0) await null;
  }
}`,
  },
  results: {
    inFlight: 4,
    source: `const rows = Array.from({ length: 20_000 }, (_, n) => ({ n, text: "row " + n }));
export const call = () => rows;`,
  },
} as const;

const HANG_MS = 60_000;
/** Calls before the first measured half: a cold path is no one's fault. */
const WARM_CALLS = 300;
/** After a flood has ended, for what it left behind. */
const REST_MS = 250;
const POLICY = { permissions: { storage: true } } as const;

/** Runs it. */
export async function fairness(options: FairnessOptions): Promise<FairnessFigures> {
  const root = mkdtempSync(join(tmpdir(), "sallyport-fairness-"));
  try {
    await using host = await createHost({ confinement: "best", home: join(root, "home") });
    const head = "permissions: { storage: true }\n";
    const plugins = Object.entries({ good: { source: FLOODS.calls.source }, ...FLOODS })
      .map(([name, { source }]) => ({ name, source, head }));
    const [goodPlugin, ...floodPlugins] = writePlugins(join(root, "plugins"), plugins);
    const good = await openTenant(host, "good", [goodPlugin!], POLICY);
    const flooding = await openTenant(host, "flooding", floodPlugins, POLICY);
    const wrong: Record<string, number> = {};
    for (let n = 0; n < WARM_CALLS; n++) await callGood(good, n, wrong);
    const floods: Record<string, { runs: FairnessRun[]; ratio: number }> = {};
    for (const name of options.floods) {
      const runs: FairnessRun[] = [];
      await endOf(flooding.call(toolOf(name), { n: 0 }), HANG_MS); // its start is no part of the flood
      for (let n = 0; n < options.runs; n++) {
        const alone = await half(good, options, wrong);
        const flood = letLoose(flooding, name);
        const beside = await half(good, options, wrong);
        const floodPerSecond = await flood.stop();
        await rest(REST_MS);
        const of = (by: keyof Half): number => beside[by].p99Ms / alone[by].p99Ms;
        const run = { alone, beside, ratio: Math.max(of("made"), of("due")), floodPerSecond };
        runs.push(run);
        options.onRun?.(name, run);
      }
      floods[name] = { runs, ratio: median(runs.map(({ ratio }) => ratio)) };
    }
    return { floods, wrong };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function half(
  good: Tenant,
  { ms, callsPerSecond }: FairnessOptions,
  wrong: Record<string, number>,
): Promise<Half> {
  const [made, due]: number[][] = [[], []];
  let n = 0;
  await atPace(callsPerSecond, ms, async ({ dueAt, madeAt }) => {
    await callGood(good, n++, wrong);
    const now = performance.now();
    made!.push(now - madeAt);
    due!.push(now - dueAt);
  });
  return { made: took(made!), due: took(due!) };
}

async function callGood(good: Tenant, n: number, wrong: Record<string, number>): Promise<void> {
  const end = await endOf(good.call(toolOf("good"), { n }), HANG_MS);
  const isRight = end.kind === "answered" && (end.value as { n?: unknown } | null)?.n === n;
  if (!isRight) count(wrong, end.kind === "refused" ? end.code : end.kind);
}

/** Calls as fast as answers come, until it is stopped; then it tells how many ended, each second. */
function letLoose(flooding: Tenant, name: FloodName): { stop(): Promise<number> } {
  const begin = performance.now();
  let isOver = false;
  let ended = 0;
  const all = Array.from({ length: FLOODS[name].inFlight }, async () => {
    while (!isOver) {
      const end = await endOf(flooding.call(toolOf(name), { n: ended }), HANG_MS);
      ended += 1;
      // A bound that it ran into costs it its turn; whoever is refused at once would only count refusals.
      if (end.kind === "refused") await rest(1);
    }
  });
  return {
    async stop() {
      const perSecond = ended / ((performance.now() - begin) / 1_000);
      isOver = true;
      await Promise.all(all);
      return perSecond;
    },
  };
}

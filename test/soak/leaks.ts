/** Loads and unloads plugins, and calls them, many times: what of it is still there in the end. Linux alone. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createHost, type Tenant } from "../../src/mod.ts";
import { memoryOfTree, treeOf } from "../bench/memory.ts";
import { count, endOf, isThere, type LongPlugin, openTenant, rest, toolOf, writePlugins } from "./ground.ts";

/** What is done. */
export interface LeakOptions {
  /** Plugins loaded and unloaded; every fourth by switching it off and on, the others by taking their place. */
  readonly cycles: number;
  /** Calls of one plugin that stays. */
  readonly calls: number;
  /** Calls under way at once. */
  readonly inFlight: number;
  /** Collects garbage of this process. */
  readonly collect: () => void;
}

/** Memory at one moment. */
export interface MemoryNow {
  /** JavaScript heap of the host after a collection, and what hangs on it outside. */
  readonly hostHeapBytes: number;
  readonly hostResidentBytes: number;
  readonly workerResidentBytes: number;
}

/** What came of it. */
export interface LeakFigures {
  readonly cycles: number;
  readonly calls: number;
  /** Calls that did not come to what they must. */
  readonly wrong: Readonly<Record<string, number>>;
  /** After a tenth of the work, from which on nothing may grow for good. */
  readonly warm: MemoryNow;
  readonly afterCycles: MemoryNow;
  readonly afterCalls: MemoryNow;
  /** Whether all was done in one worker: another would not show what was left in the first. */
  readonly isOneWorker: boolean;
  /** Resources that keep the event loop awake, and were not there before the host was. */
  readonly resourcesLeft: readonly string[];
  /** Processes of the host's that are there after it has closed. */
  readonly processesLeft: number;
}

/** What may be there in the end beside what was there before. */
export const LEAK_BOUNDS = Object.freeze({
  /** What the host has learnt: compiled code, caches with bounds of their own. */
  hostHeapMb: 8,
  /** The same with what its allocator does not give back. */
  hostResidentMb: 48,
  /** What the worker's allocator does not give back, however much was done. */
  workerResidentMb: 16,
  /** Each load and unload. */
  workerCycleBytes: 8_192,
  /** Each call: the engine loses about 230 bytes with each slice that has a time-out, until its process ends. */
  workerCallBytes: 384,
});

/** Time for what has ended to be gone. */
const SETTLE_MS = 500;
const HANG_MS = 120_000;
const COLLECTIONS = 4;
const MEGABYTE = 1_048_576;

/** Holds enough for an isolate that stays to be seen, and ends in each way that a call can. */
const SOURCE = `const kept = Array.from({ length: 20_000 }, (_, place) => ({ place }));
export async function call({ n, way }, { storage }) {
  if (way === "throw") throw new Error("number " + n);
  if (way === "keep") {
    await storage.set("n" + n % 100, n);
    return { n: await storage.get("n" + n % 100) >= 0 ? n : -1, kept: kept.length };
  }
  return { n, kept: kept.length };
}
`;
/** One more than may be loaded at once, so that each that is called takes the place of another. */
const LOADED_MAX = 2;
const PLUGINS: readonly LongPlugin[] = ["first", "second", "third"].map((name) => ({
  name,
  source: SOURCE,
  head: "permissions: { storage: true }\n",
}));

/** Runs it. */
export async function leaks(options: LeakOptions): Promise<LeakFigures> {
  const root = mkdtempSync(join(tmpdir(), "sallyport-leaks-"));
  const before = process.getActiveResourcesInfo();
  const pids = new Set<number>();
  try {
    const grown = await run(options, root, pids);
    await rest(SETTLE_MS);
    return {
      ...grown,
      resourcesLeft: without(process.getActiveResourcesInfo(), before),
      processesLeft: [...pids].filter(isThere).length,
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** What is more than it may be, in words. */
export function leakProblems(figures: LeakFigures): readonly string[] {
  const { warm, afterCalls, afterCycles, wrong } = figures;
  const grown = [afterCycles, afterCalls].flatMap((after) => {
    const calls = figures.cycles + (after === afterCalls ? figures.calls : 0);
    const ofWork = figures.cycles * LEAK_BOUNDS.workerCycleBytes + calls * LEAK_BOUNDS.workerCallBytes;
    const rows = [
      ["host's heap", "hostHeapBytes", LEAK_BOUNDS.hostHeapMb],
      ["host", "hostResidentBytes", LEAK_BOUNDS.hostResidentMb],
      ["worker", "workerResidentBytes", LEAK_BOUNDS.workerResidentMb + ofWork / MEGABYTE],
    ] as const;
    return rows.filter(([, field, mb]) => after[field] - warm[field] > mb * MEGABYTE)
      .map(([name, , mb]) => `the ${name} has grown by more than ${mb.toFixed(1)} MiB`);
  });
  return [
    ...new Set(grown),
    ...Object.entries(wrong).map(([end, times]) => `${times} calls came to ${end}`),
    ...(figures.isOneWorker ? [] : ["the worker was replaced, which hides what was left in it"]),
    ...figures.resourcesLeft.map((name) => `a ${name} is left`),
    ...(figures.processesLeft > 0 ? [`${figures.processesLeft} processes are left`] : []),
  ];
}

async function run(
  { cycles, calls, inFlight, collect }: LeakOptions,
  root: string,
  pids: Set<number>,
): Promise<Omit<LeakFigures, "resourcesLeft" | "processesLeft">> {
  // The one worker is to show all that is left in it, so it's never replaced.
  const workers = {
    isolatesPerTenantMax: LOADED_MAX,
    isolatesMadePerWorkerMax: Infinity,
    recycleMb: Infinity,
    workerAgeMsMax: Infinity,
  };
  await using host = await createHost({ confinement: "best", home: join(root, "home"), workers });
  const policy = { permissions: { storage: true } } as const;
  const tenant = await openTenant(host, "leaks", writePlugins(join(root, "plugins"), PLUGINS), policy);
  const wrong: Record<string, number> = {};
  const served = new Set<number>();
  const measure = async (): Promise<MemoryNow> => {
    for (let n = 0; n < COLLECTIONS; n++) {
      await rest(SETTLE_MS / COLLECTIONS);
      collect();
    }
    const { heapUsed, external, rss } = process.memoryUsage();
    const serving = await host.workerPids();
    for (const pid of serving) served.add(pid);
    for (const pid of serving.flatMap(treeOf)) pids.add(pid);
    return {
      hostHeapBytes: heapUsed + external,
      hostResidentBytes: rss,
      workerResidentBytes: serving.reduce((sum, pid) => sum + memoryOfTree(pid).rssKib * 1_024, 0),
    };
  };
  await cycle(tenant, Math.ceil(cycles / 10), wrong);
  await callOften(tenant, Math.ceil(calls / 10), inFlight, wrong);
  const warm = await measure();
  await cycle(tenant, cycles, wrong);
  const afterCycles = await measure();
  await callOften(tenant, calls, inFlight, wrong);
  const afterCalls = await measure();
  return { cycles, calls, wrong, warm, afterCycles, afterCalls, isOneWorker: served.size === 1 };
}

async function cycle(tenant: Tenant, cycles: number, wrong: Record<string, number>): Promise<void> {
  for (let n = 0; n < cycles; n++) {
    const { name } = PLUGINS[n % PLUGINS.length]!;
    if (n % 4 === 3) {
      await tenant.disable(name);
      await tenant.enable(name);
    }
    await expect(tenant, name, n, "answer", wrong);
  }
}

async function callOften(
  tenant: Tenant,
  calls: number,
  inFlight: number,
  wrong: Record<string, number>,
): Promise<void> {
  let next = 0;
  const ways = ["answer", "answer", "answer", "answer", "answer", "answer", "keep", "throw"];
  await Promise.all(Array.from({ length: inFlight }, async () => {
    while (next < calls) {
      const n = next++;
      await expect(tenant, PLUGINS[0]!.name, n, ways[n % ways.length]!, wrong);
    }
  }));
}

async function expect(
  tenant: Tenant,
  plugin: string,
  n: number,
  way: string,
  wrong: Record<string, number>,
): Promise<void> {
  const end = await endOf(tenant.call(toolOf(plugin), { n, way }), HANG_MS);
  const isRight = way === "throw"
    ? end.kind === "refused" && end.code === "ERR_GUEST_THREW"
    : end.kind === "answered" && (end.value as { n?: unknown } | null)?.n === n;
  if (!isRight) count(wrong, end.kind === "refused" ? end.code : end.kind);
}

/** What is in the first list more often than in the second. */
function without(all: readonly string[], those: readonly string[]): readonly string[] {
  const left = [...those];
  return all.filter((name) => {
    const place = left.indexOf(name);
    if (place >= 0) left.splice(place, 1);
    return place < 0;
  });
}

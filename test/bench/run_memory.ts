/** Memory, in processes of their own: what another cell has freed would be used again. */
import { type CellName, CELLS } from "./cells.ts";
import { gap, type Gathered, record, type RunOptions } from "./gathered.ts";
import type { Order } from "./measure.ts";
import { type PeerEntry, type PeerName, PEERS } from "./peers/mod.ts";
import { RemotePeer } from "./remote.ts";

const MEMORY_CELLS = [
  ["small", "memorySmall", "memorySmallFirst"],
  ["large", "memoryLarge", "memoryLargeFirst"],
] as const;
/** A large plugin takes several times as long to start and as much memory. */
const LARGE_IS_FEWER = 4;
/** What a measurement may take beyond the end of the time: starting the peer, making plugins, collecting garbage. */
const GRACE_MS = 15_000;
/** The share of the time that is kept for the cycles. */
const CYCLES_SHARE = 0.35;
/** Peers that are taken to use all of their time; the later ones are lighter. */
const HEAVY_PEERS = 3;

/** Measures what idle plugins hold, then what loading and unloading leaves behind, until the time is up. */
export async function runMemory(
  options: RunOptions,
  found: Gathered,
  end: number,
): Promise<void> {
  const names = options.peers.filter((name) => entryOf(name).isOnlyCpu !== true);
  const idleEnd = end - CYCLES_SHARE * Math.max(end - performance.now(), 0);
  for (const [place, name] of names.entries()) {
    await growBoth(name, options, found, {
      end: idleEnd,
      ms: shareOf(idleEnd, names.length - place),
    });
    options.tell(`idle memory of ${PEERS[name].title}`);
  }
  if (!options.cells.includes("cycleLeft")) return;
  for (const [place, name] of names.entries()) {
    const ms = Math.min(
      options.effort.cyclesMs,
      shareOf(end, names.length - place),
    );
    const order = { do: "cycles", count: options.effort.cycles, ms } as const;
    await alone(
      found,
      { name, cell: "cycleLeft", order, end },
      ([, kib, each]) => {
        record(found, "cycleLeft", [name], new Map([[name, [kib!]]]));
        record(found, "cycleMs", [name], new Map([[name, [each!]]]));
      },
    );
    options.tell(`load/unload cycles of ${PEERS[name].title}`);
  }
}

/** Memory does not change by who else is busy, so both sizes fill up at once. */
async function growBoth(
  name: PeerName,
  { effort, cells }: RunOptions,
  found: Gathered,
  time: { readonly end: number; readonly ms: number },
): Promise<void> {
  await Promise.all(
    MEMORY_CELLS.filter(([, cell]) => cells.includes(cell)).map(
      async ([fixture, cell, firstCell]) => {
        const [few, many] = effort.idle[entryOf(name).weight].map((n) =>
          fixture === "large" ? Math.ceil(n / LARGE_IS_FEWER) : n
        ) as [number, number];
        const steps = [few, Math.round((few + many) / 2), many];
        const order = {
          do: "memory",
          fixture,
          steps,
          ms: Math.min(effort.growMs, time.ms),
        } as const;
        await alone(found, { name, cell, order, end: time.end }, (samples) => {
          const [first, middle, last] = rowsOf(samples).slice(1);
          if (middle!.n > first!.n) {
            record(
              found,
              firstCell,
              [name],
              new Map([[name, [slopeMib(first!, middle!)]]]),
            );
          }
          if (last!.n > first!.n) {
            record(
              found,
              cell,
              [name],
              new Map([[name, [slopeMib(first!, last!)]]]),
            );
          }
          if (last!.n < many) {
            found.gaps.push(
              `${PEERS[name].title}, ${CELLS[cell].title}: only ${last!.n} of ${many}`,
            );
          }
        });
      },
    ),
  );
}

interface Row {
  readonly n: number;
  readonly kib: number;
}

function rowsOf(samples: readonly number[]): readonly Row[] {
  return samples.flatMap((n, i) => i % 2 === 0 ? [{ n, kib: samples[i + 1]! }] : []);
}

function slopeMib(from: Row, to: Row): number {
  return (to.kib - from.kib) / (to.n - from.n) / 1_024;
}

/** One measurement in a fresh process. */
async function alone(
  found: Gathered,
  { name, cell, order, end }: {
    readonly name: PeerName;
    readonly cell: CellName;
    readonly order: Order & { readonly ms: number };
    readonly end: number;
  },
  take: (samples: readonly number[]) => void,
): Promise<void> {
  if (performance.now() > end) {
    return gap(found, name, cell, new Error("no time was left"));
  }
  let peer: RemotePeer | undefined;
  try {
    peer = await RemotePeer.start(name);
    take(
      await peer.order(order, Math.max(end - performance.now(), 0) + GRACE_MS),
    );
  } catch (error) {
    gap(found, name, cell, error);
  } finally {
    await peer?.end();
  }
}

/** What one of the peers that are left may take. */
function shareOf(end: number, left: number): number {
  return Math.max(
    (end - performance.now()) / Math.min(left, HEAVY_PEERS),
    1_000,
  );
}

function entryOf(name: PeerName): PeerEntry {
  return PEERS[name];
}

/** What is measured, inside the process of one peer. Each gives samples of one turn. */
import process from "node:process";
import { availableMib, memoryOfTree } from "./memory.ts";
import { LARGE_BYTES, payload, SMALL_BYTES } from "./payload.ts";
import type { Attempt, Fixture, Peer, Sandbox } from "./peers/peer.ts";

/** What can be ordered: the way of measuring, and its size. */
export type Order =
  | { readonly do: "stock"; readonly fixture: Fixture; readonly count: number }
  | { readonly do: "cold"; readonly fixture: Fixture; readonly count: number }
  | { readonly do: "first"; readonly fixture: Fixture }
  | { readonly do: "typescript"; readonly text: string }
  | {
    readonly do: "warm";
    readonly bytes: "small" | "large";
    readonly ms: number;
  }
  | {
    readonly do: "op";
    readonly tool: "opSerial" | "opParallel";
    readonly ms: number;
  }
  | { readonly do: "throughput"; readonly flights: number; readonly ms: number }
  | {
    readonly do: "cpu";
    readonly kernel: keyof typeof KERNELS;
    readonly count: number;
  }
  | {
    readonly do: "memory";
    readonly fixture: Fixture;
    readonly steps: readonly number[];
    readonly ms: number;
  }
  | { readonly do: "cycles"; readonly count: number; readonly ms: number };

/** The kernels, each with the size of its work: so much that the call around it hardly counts. */
export const KERNELS = {
  kernelFib: 31,
  kernelJson: 300,
  kernelMix: 15_000,
  kernelSort: 50_000,
} as const;

/** Ops that one call asks for. */
const OPS_PER_CALL = { opSerial: 100, opParallel: 640 } as const;
/** Calls before each series, unmeasured: a turn of another peer's has left this one cold. */
const SETTLING_CALLS = 20;
/** The same where each call asks for many ops. */
const SETTLING_OP_CALLS = 3;
/** After so many ops it is another plugin's turn. */
const OPS_PER_PLUGIN = 12_000;
/** A machine with less memory left than this is not filled further. */
const AVAILABLE_MIB_MIN = 3_072;
const COLLECTIONS = 3;
/** In all longer than anything that a peer does when it comes to rest. */
const COLLECTION_PAUSE_MS = 300;

/** Follows orders for one peer. */
export function measurer(
  peer: Peer,
): (order: Order) => Promise<readonly number[]> {
  const documents = {
    small: payload(SMALL_BYTES),
    large: payload(LARGE_BYTES),
  };
  const boxes = new Map<Fixture, Promise<Sandbox>>();
  const boxOf = (fixture: Fixture): Promise<Sandbox> => {
    const known = boxes.get(fixture) ?? peer.open(fixture);
    boxes.set(fixture, known);
    return known;
  };

  const cold = async (fixture: Fixture): Promise<Sandbox> => {
    const box = await peer.open(fixture);
    await box.call("echo", documents.small);
    return box;
  };

  let asking: { readonly box: Sandbox; asked: number } | undefined;
  const ops = async (
    tool: keyof typeof OPS_PER_CALL,
    ms: number,
  ): Promise<readonly number[]> => {
    const n = OPS_PER_CALL[tool];
    // The audit bounds what one plugin may add to it in a minute, so another one goes on from time to time.
    if (asking === undefined || asking.asked > OPS_PER_PLUGIN) {
      asking = { box: await peer.open("small"), asked: 0 };
    }
    const { box } = asking;
    const samples = await sampled(
      ms,
      1_000 / n,
      async () => void await box.call(tool, { n }),
      SETTLING_OP_CALLS,
    );
    asking.asked += n * (samples.length + SETTLING_OP_CALLS);
    return samples;
  };

  return async (order) => {
    switch (order.do) {
      case "stock":
        await peer.stock?.(order.fixture, order.count);
        return [];
      case "cold":
        return await times(order.count, async () => {
          const start = performance.now();
          const box = await cold(order.fixture);
          const ms = performance.now() - start;
          await box.dispose();
          return ms;
        });
      case "first":
        return await attempted(
          await peer.firstEver?.(order.fixture, documents.small),
        );
      case "typescript":
        return await attempted(
          await peer.typescript?.(order.text, documents.small),
        );
      case "warm": {
        const box = await boxOf("small");
        return await sampled(
          order.ms,
          1_000,
          async () => void await box.call("echo", documents[order.bytes]),
        );
      }
      case "op":
        return await ops(order.tool, order.ms);
      case "throughput": {
        const box = await boxOf("small");
        return [
          await throughput(
            () => box.call("echo", documents.small),
            order.flights,
            order.ms,
          ),
        ];
      }
      case "cpu": {
        const box = await boxOf("cpu");
        const n = KERNELS[order.kernel];
        const run = async (): Promise<number> =>
          await timed(async () => void await box.call(order.kernel, { n }));
        // The best of a turn: the code is compiled by then, and nobody else had the core.
        return [Math.min(...await times(order.count, run))];
      }
      case "memory":
        await peer.stock?.(order.fixture, order.steps.at(-1)! + 1);
        return await grow(() => cold(order.fixture), order.steps, order.ms);
      case "cycles":
        return await cycles(
          peer.cycle ?? (async () => await (await cold("small")).dispose()),
          order,
        );
    }
  };
}

/** Calls until the time is up; microseconds, or parts of them, for each. */
async function sampled(
  ms: number,
  scale: number,
  run: () => Promise<void>,
  settling = SETTLING_CALLS,
): Promise<readonly number[]> {
  await times(settling, run);
  const samples: number[] = [];
  for (
    const end = performance.now() + ms;
    performance.now() < end || samples.length < 3;
  ) {
    samples.push(await timed(run) * scale);
  }
  return samples;
}

async function throughput(
  call: () => Promise<unknown>,
  flights: number,
  ms: number,
): Promise<number> {
  await Promise.all(await times(flights, async () => call()));
  let calls = 0;
  const start = performance.now();
  const fly = async (): Promise<void> => {
    while (performance.now() - start < ms) {
      await call();
      calls++;
    }
  };
  await Promise.all(Array.from({ length: flights }, fly));
  return calls / ((performance.now() - start) / 1_000);
}

/**
 * Opens sandboxes up to each step, and gives for each the number that was reached and the memory then, in KiB. The first
 * one pays for what is loaded late; it is not counted.
 */
async function grow(
  open: () => Promise<Sandbox>,
  steps: readonly number[],
  ms: number,
): Promise<readonly number[]> {
  const end = performance.now() + ms;
  const first = await open();
  const boxes: Sandbox[] = [];
  const rows = [0, await settledKib()];
  for (const step of steps) {
    while (
      boxes.length < step && performance.now() < end &&
      availableMib() > AVAILABLE_MIB_MIN
    ) {
      boxes.push(await open());
    }
    rows.push(boxes.length, await settledKib());
  }
  for (const box of [first, ...boxes]) await box.dispose();
  return rows;
}

/** Loads and unloads; gives how often, what each left in KiB, and how long each took. */
async function cycles(
  cycle: () => Promise<void>,
  { count, ms }: { readonly count: number; readonly ms: number },
): Promise<readonly number[]> {
  const repeat = async (most: number): Promise<number> => {
    const end = performance.now() + ms / 2;
    let done = 0;
    for (; done < most && performance.now() < end; done++) await cycle();
    return done;
  };
  await cycle(); // makes ready what all of them need
  await repeat(count / 2); // what is loaded late, and what an allocator keeps for good, is there by then
  const before = await settledKib("rssKib");
  const start = performance.now();
  const done = await repeat(count);
  const each = (performance.now() - start) / done;
  return [done, (await settledKib("rssKib") - before) / done, each];
}

async function settledKib(
  kind: "pssKib" | "rssKib" = "pssKib",
): Promise<number> {
  for (let i = 0; i < COLLECTIONS; i++) {
    globalThis.gc?.();
    await new Promise((done) => setTimeout(done, COLLECTION_PAUSE_MS));
  }
  return memoryOfTree(process.pid)[kind];
}

async function attempted(
  attempt: Attempt | undefined,
): Promise<readonly number[]> {
  if (attempt === undefined) return [];
  try {
    return [await timed(() => attempt.run())];
  } finally {
    await attempt.undo();
  }
}

async function timed(run: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

async function times<T>(count: number, run: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let i = 0; i < count; i++) results.push(await run());
  return results;
}

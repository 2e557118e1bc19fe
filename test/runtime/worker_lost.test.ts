/** What becomes of calls when their worker ends, and of workers when their host does. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { planConfinement, RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { Bench, isRunning, until } from "./harness.ts";

const bench = new Bench();
afterAll(() => bench.pool.close());
const best = planConfinement("best");
const weak = planConfinement("weak", ["bubblewrap", "uid"]);
const isLinux = process.platform === "linux";

/** All processes below one, from the system's own table. */
function descendants(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // It ended meanwhile.
    }
  }
  const found = [root];
  for (const pid of found) for (const [child, parent] of parents) if (parent === pid) found.push(child);
  return found.slice(1);
}

const LOOP = "async (isBusy) => { while (isBusy); return 'rested'; }";
const WAIT = "(ms) => new Promise((resolve) => setTimeout(resolve, ms))";

describe("a worker that ends", () => {
  test("killed during a call: the call says so and may be made again, the next succeeds", async () => {
    const guest = await bench.start(LOOP);
    const [pid] = await bench.pool.pids();
    const call = guest.call(true, 60_000);
    await new Promise((resolve) => setTimeout(resolve, 200));
    process.kill(pid!, "SIGKILL");
    const outcome = await call;
    expect(outcome).toMatchObject({ code: "ERR_WORKER_LOST", error: { retryable: true } });
    expect(outcome.tookMs).toBeLessThan(5_000);
    expect(guest.isolate.isAlive).toBe(false);
    expect(await guest.call()).toMatchObject({ code: "ERR_WORKER_LOST" });
    expect(await bench.once(LOOP)).toMatchObject({ value: "rested" });
    expect(await bench.pool.pids()).not.toContain(pid);
  });

  test.skipIf(!isLinux)("killed from inside its jail: the same", async () => {
    const guest = await bench.start(LOOP);
    const [pid] = await bench.pool.pids();
    const call = guest.call(true, 60_000);
    await new Promise((resolve) => setTimeout(resolve, 200));
    process.kill(descendants(pid!).at(-1) ?? pid!, "SIGKILL");
    expect(await call).toMatchObject({ code: "ERR_WORKER_LOST", error: { details: { signal: "SIGKILL" } } });
    expect(await bench.once(LOOP)).toMatchObject({ value: "rested" });
  });

  test("[T32] every call in it is lost and none is charged: in one isolate, and in two", async () => {
    const [first, second] = [await bench.start(WAIT), await bench.start(WAIT)];
    const calls = [first.call(60_000), first.call(60_000), second.call(60_000)];
    await new Promise((resolve) => setTimeout(resolve, 100));
    const [pid] = await bench.pool.pids();
    process.kill(pid!, "SIGKILL");
    expect((await Promise.all(calls)).map(({ code }) => code)).toEqual(Array(3).fill("ERR_WORKER_LOST"));
  });

  test("[T11] the engine's own abort is charged to a call alone in its worker, and to nobody among several", async () => {
    const greedy = "async () => { new Array(1e9).fill(0); }";
    const bystander = await bench.start(WAIT);
    const culprit = await bench.start(greedy);
    const [aside, guilty] = await Promise.all([bystander.call(8_000), culprit.call(null, 10_000)]);
    expect(guilty.code).toMatch(/^ERR_WORKER_LOST$|^ERR_LIMIT_/);
    expect([undefined, "ERR_WORKER_LOST"]).toContain(aside.code);
    expect(await bench.once(greedy)).toMatchObject({ code: "ERR_LIMIT_MEMORY" });
  });

  test("a plugin in a worker of its own does not notice", async () => {
    const neighbour = await bench.start(WAIT, { cordon: "t/neighbour" });
    const guest = await bench.start(LOOP, { cordon: "t/victim" });
    const resting = neighbour.call(1_000);
    const victim = guest.call(true, 200);
    expect(await victim).toMatchObject({ code: "ERR_LIMIT_WALL" });
    expect(await resting).toMatchObject({ value: null });
  });
});

test("[T39] a host that was itself held up does not blame its worker for that silence", async () => {
  const guest = await bench.start(WAIT);
  const call = guest.call(7_000);
  await new Promise((resolve) => setTimeout(resolve, 100));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RUNTIME_LIMITS.pongMsMax + 500);
  expect(await call).toMatchObject({ value: null });
  guest.isolate.dispose();
});

describe("a host that ends", () => {
  for (const [name, plan] of [["best", best], ["weak", weak]] as const) {
    test(`[T01] closing during a loop ends the processes at once, under ${name}`, async () => {
      const own = new Bench({ plan });
      const guest = await own.start(LOOP);
      own.pool.warm();
      const call = guest.call(true, 60_000);
      await new Promise((resolve) => setTimeout(resolve, 200));
      const pids = await own.pool.pids();
      const all = isLinux ? [...pids, ...pids.flatMap(descendants)] : pids;
      const begin = performance.now();
      await own.pool.close();
      expect(performance.now() - begin).toBeLessThan(3_000);
      expect(await call).toMatchObject({ code: "ERR_HOST_CLOSED" });
      await until(() => !all.some(isRunning), 5_000);
      await expect(own.start(LOOP)).rejects.toMatchObject({ code: "ERR_HOST_CLOSED" });
    });

    for (const activity of ["resting", "busy"]) {
      test.skipIf(!isLinux)(
        `[T01] a killed host leaves no worker behind, ${activity}, under ${name}`,
        async () => {
          const entry = fileURLToPath(new URL("./host_process.ts", import.meta.url));
          const host = spawn(process.execPath, [entry, name, activity], {
            stdio: ["ignore", "pipe", "inherit"],
          });
          await new Promise<void>((resolve, reject) => {
            host.stdout.once("data", () => resolve());
            host.once("exit", (code) => reject(new Error(`the host ended with ${code}`)));
          });
          const workers = descendants(host.pid!);
          expect(workers.length).toBeGreaterThan(0);
          host.removeAllListeners("exit").kill("SIGKILL");
          await until(() => !workers.some(isRunning), 5_000);
        },
      );
    }
  }
});

/** Whose op is it? Calls that share an isolate must find each act, line and limit under their own name. */
import { afterAll, expect, test } from "vitest";
import { Bench } from "./harness.ts";

const bench = new Bench();
afterAll(() => bench.pool.close());

/** The values of audited ops by the call that they are written under. */
function askedByCall(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { type, call, value } of bench.events) {
    if (type === "op") found.set(call!, [...(found.get(call!) ?? []), value!]);
  }
  return found;
}

test("ops and lines of many calls in one isolate are each written under their own call", async () => {
  const guest = await bench.start(
    `async (name) => {
      const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      const asked = [];
      const ask = (step) => {
        const answer = Deno.stat("/outside/" + name + "/" + step).catch(() => console.log(name + " " + step));
        asked.push(answer);
        return answer;
      };
      await ask(1);
      await wait(name.length);
      await ask(2);
      await Promise.all([ask(3), wait(3).then(() => ask(4)), ask(5)]);
      await new Promise((resolve) => setTimeout(() => resolve(ask(6)), 2));
      await null;
      queueMicrotask(() => ask(7));
      await (async () => { for await (const step of [8, 9]) await ask(step); })();
      await new Promise((resolve) => {
        let count = 10;
        const timer = setInterval(() => { ask(count); if (++count === 13) { clearInterval(timer); resolve(); } }, 1);
      });
      await null;
      await Promise.all(asked);
      return name;
    }`,
  );
  const names = Array.from({ length: 40 }, (_, index) => `call-${"x".repeat(index % 7)}${index}`);
  const outcomes = await Promise.all(names.map((name) => guest.call(name, 20_000, { id: name })));
  expect(outcomes.map(({ value }) => value)).toEqual(names);
  const asked = askedByCall();
  for (const [index, name] of names.entries()) {
    const steps = asked.get(name)!.map((path) => path.slice("/outside/".length).split("/"));
    expect(new Set(steps.map(([owner]) => owner))).toEqual(new Set([name]));
    expect(steps.map(([, step]) => Number(step)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 12 }, (_, step) => step + 1),
    );
    const { lines, denials } = outcomes[index]!;
    expect(lines).toHaveLength(12);
    expect(lines.every(({ text }) => text.startsWith(`${name} `))).toBe(true);
    expect(denials).toHaveLength(12);
    expect(denials.every(({ spelled }) => spelled!.startsWith(`/outside/${name}/`))).toBe(true);
  }
  guest.isolate.dispose();
});

test("a refusal in one call is not one of another call that runs beside it", async () => {
  const guest = await bench.start(
    `async (name) => {
      if (name === "asks") return await Deno.readTextFile("/outside");
      await new Promise((resolve) => setTimeout(resolve, 30));
      const error = new Error("mine");
      throw error;
    }`,
  );
  const [asks, throws] = await Promise.all([guest.call("asks"), guest.call("throws")]);
  expect(asks).toMatchObject({ code: "ERR_NOT_CAPABLE" });
  expect(throws).toMatchObject({ code: "ERR_GUEST_THREW", denials: [] });
  guest.isolate.dispose();
});

test("[T32] what one call asks too much ends it by name; its neighbour learns that it may try again", async () => {
  const guest = await bench.start(
    `async (isGreedy) => {
      if (!isGreedy) return await new Promise((resolve) => setTimeout(resolve, 5000));
      for (;;) { for (let i = 0; i < 1000; i++) Deno.stat("/x").catch(() => {}); await null; }
    }`,
  );
  const [neighbour, greedy] = await Promise.all([guest.call(false), guest.call(true)]);
  expect(greedy).toMatchObject({ code: "ERR_LIMIT_OPS" });
  expect(neighbour).toMatchObject({ code: "ERR_WORKER_LOST", error: { retryable: true } });
});

test("cancelling one call ends it by name, and the pool serves the next", async () => {
  const guest = await bench.start("() => new Promise(() => {})");
  const controller = new AbortController();
  const call = guest.call(null, 10_000, { signal: controller.signal });
  setTimeout(() => controller.abort(), 50);
  expect(await call).toMatchObject({ code: "ERR_CALL_CANCELLED" });
  expect(await bench.once("async () => 1")).toMatchObject({ value: 1 });
  const aborted = await (await bench.start("() => 1")).call(null, 10_000, { signal: AbortSignal.abort() });
  expect(aborted).toMatchObject({ code: "ERR_CALL_CANCELLED" });
});

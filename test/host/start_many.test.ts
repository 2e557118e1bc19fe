import { beforeEach, describe, expect, test } from "vitest";
import type { HostOptions, TenantOptions } from "../../src/mod.ts";
import { failureOf, pluginOf, until } from "./support.ts";
import { hearing, lifePlugin, lively } from "./lifecycle_support.ts";

const WORKERS: HostOptions = { workers: { idleWorkerMs: 50, sweepMs: 50 } };
const { host, ear } = await hearing(WORKERS);
const MAIN = `
export async function activate(context) {
  context.onDispose(() => context.host.say("end " + context.plugin));
  await context.host.say("begin " + context.plugin);
  await context.host.ask(context.plugin);
  context.register("tools", "t", () => context.plugin);
}`;
const plugin = (name: string): string =>
  lifePlugin(name, {
    main: MAIN,
    head: 'lifecycle: { activate: "main.ts:activate" }\n',
    registered: { t: "" },
  });
const names = (length: number): string[] => Array.from({ length }, (_, index) => `p${index}`);

const many = (length: number, lifecycle: NonNullable<TenantOptions["lifecycle"]> = {}) =>
  lively(host, names(length).map(plugin), { lifecycle });

const forever = new Promise(() => {});
const hanging = (...hung: readonly string[]): void => {
  ear.answer = (word) => hung.includes(word) ? forever : null;
};

beforeEach(() => {
  ear.answer = () => null;
  ear.said.length = 0;
});

describe("starting many plugins", () => {
  test("[R33] each is started once, and the results are in the catalog's order", async () => {
    const tenant = await many(6);
    const rows = await tenant.activateAll();
    expect(rows).toEqual(names(6).map((name) => ({ plugin: name, state: "active", error: null })));
    await tenant.activateAll();
    for (const name of names(6)) expect(await tenant.call(`plugin__${name}__t`, {})).toBe(name);
    expect([...ear.said].sort()).toEqual(names(6).map((name) => `begin ${name}`));
  });

  test("four are started at a time", async () => {
    const tenant = await many(6, { stallMs: 60_000 });
    let most = 0, now = 0;
    const { promise: four, resolve: areFour } = Promise.withResolvers<void>();
    ear.answer = async () => {
      most = Math.max(most, ++now);
      if (now === 4) setTimeout(areFour, 100); // time for a fifth one, which there must not be
      await four;
      now--;
    };
    await tenant.activateAll();
    expect(most).toBe(4);
  });

  test("[R24] [R25] of ten, three hang: they use up the one budget and nobody else's time", async () => {
    const tenant = await many(10, { startAllMs: 4_000, stallMs: 60_000, stopMs: 300 });
    const hung = ["p0", "p4", "p7"];
    hanging(...hung);
    const starting = tenant.activateAll();
    // All others can be called while the three still hang.
    await until(() => ear.said.filter((word) => word.startsWith("begin")).length === 10);
    for (const name of names(10).filter((each) => !hung.includes(each))) {
      expect(await tenant.call(`plugin__${name}__t`, {})).toBe(name);
    }
    const rows = await starting;
    expect(rows.map(({ plugin, state }) => [plugin, state])).toEqual(
      names(10).map((name) => [name, hung.includes(name) ? "failed" : "active"]),
    );
    for (const { error } of rows.filter(({ state }) => state === "failed")) {
      expect(error).toMatchObject({ code: "ERR_LIMIT_WALL", details: { startAllMs: 4_000 } });
    }
  });

  test("when all that start first hang, those after them are started all the same", async () => {
    const tenant = await many(6, { startAllMs: 3_000, stallMs: 100, stopMs: 300 });
    hanging("p0", "p1", "p2", "p3");
    const rows = await tenant.activateAll();
    expect(rows.map(({ state }) => state)).toEqual([
      "failed",
      "failed",
      "failed",
      "failed",
      "active",
      "active",
    ]);
  });

  test("[R09] one that failed to start offers nothing, and it is told why", async () => {
    const tenant = await many(3);
    ear.answer = (word) => word === "p1" ? Promise.reject(new Error("no")) : null;
    const [, failed] = await tenant.activateAll();
    expect(failed).toMatchObject({ plugin: "p1", state: "failed", error: { code: "ERR_ACTIVATION_FAILED" } });
    const { tools, failures } = await tenant.snapshot();
    expect(tools.map(({ plugin }) => plugin)).toEqual(["p0", "p2"]);
    expect(failures).toMatchObject([{ plugin: "p1", id: null, code: "ERR_ACTIVATION_FAILED" }]);
  });

  test("[R33] a required one that fails undoes what was begun, and no process is left behind", async () => {
    const own = await hearing(WORKERS);
    const tenant = await lively(own.host, names(5).map(plugin), { lifecycle: { stopMs: 300 } });
    const { promise: asked, resolve: onAsk } = Promise.withResolvers<void>();
    const { promise: held, resolve: release } = Promise.withResolvers<null>();
    own.ear.answer = async (word) => {
      if (word === "p3") onAsk(), await held;
      if (word === "p2") await asked.then(() => Promise.reject(new Error("no")));
    };
    const error = await failureOf(tenant.activateAll({ required: ["p2"] }));
    expect(error).toMatchObject({ code: "ERR_ACTIVATION_FAILED", details: { plugin: "p2" } });
    const [begun, ended] = ["begin", "end"].map((what) =>
      own.ear.said.filter((word) => word.startsWith(what)).map((word) => word.split(" ")[1]).sort()
    );
    expect(ended).toEqual(begun);
    expect(new Set(begun).size).toBe(begun!.length);
    expect((await tenant.progress()).map(({ state }) => state).filter((state) => state === "active")).toEqual(
      [],
    );
    release(null); // an op of the embedder's that never settles keeps its worker
    for (let waited = 0; (await own.host.workerPids()).length > 0 && waited < 10_000; waited += 50) {
      await new Promise((resume) => setTimeout(resume, 50));
    }
    expect(await own.host.workerPids()).toEqual([]);
    own.ear.answer = () => null;
    // The failure is remembered for these bytes in this build; the next build tries what is required again.
    await tenant.reload();
    expect(await tenant.call("plugin__p2__t", {})).toBe("p2");
  });

  test("[R25] a required one that hangs fails the build when the budget is used up; one that is not there at once", async () => {
    const tenant = await many(3, { startAllMs: 1_500, stopMs: 300 });
    hanging("p1");
    expect(await failureOf(tenant.activateAll({ required: ["p1"] }))).toMatchObject({
      code: "ERR_LIMIT_WALL",
      details: { plugin: "p1", startAllMs: 1_500 },
    });
    ear.said.length = 0;
    expect((await failureOf(tenant.activateAll({ required: ["none"] }))).code).toBe("ERR_CAPABILITY_UNKNOWN");
    await tenant.untrust("p2");
    expect((await failureOf(tenant.activateAll({ required: ["p2"] }))).code).toBe("ERR_TRUST_UNKNOWN");
    expect(ear.said).toEqual([]);
  });

  test("a signal cancels all of it and undoes what was begun", async () => {
    const tenant = await many(3, { stopMs: 300 });
    hanging("p2");
    const controller = new AbortController();
    const starting = failureOf(tenant.activateAll({ signal: controller.signal }));
    await until(() => ear.said.length === 3);
    controller.abort();
    expect((await starting).code).toBe("ERR_ACTIVATION_CANCELLED");
    expect(ear.said.filter((word) => word.startsWith("end")).sort()).toEqual(["end p0", "end p1", "end p2"]);
    expect((await tenant.progress()).map(({ state }) => state)).toEqual([
      "discovered",
      "discovered",
      "discovered",
    ]);
  });

  test("a plugin with several isolates is started whole or not at all", async () => {
    const directory = lifePlugin("whole", {
      main: `
        export async function activate(context) {
          context.onDispose(() => context.host.say("end " + context.capabilities));
          if (context.capabilities.includes("plugin__whole__bad")) await context.host.ask("bad");
          context.register("tools", "one", () => 1);
        }`,
      head: 'lifecycle: { activate: "main.ts:activate" }\n',
      tools: { good: "export const good = () => 1;", bad: "export const bad = () => 1;" },
      registered: { one: "" },
    });
    const tenant = await lively(host, [directory, pluginOf("other", { go: "export const go = () => 1;" })]);
    ear.answer = () => Promise.reject(new Error("no"));
    expect((await failureOf(tenant.activate("whole"))).code).toBe("ERR_ACTIVATION_FAILED");
    expect(ear.said).toEqual(["end plugin__whole__bad", "end plugin__whole__good"]);
    expect((await tenant.snapshot()).tools.map(({ id }) => id)).toEqual(["plugin__other__go"]);
    await tenant.activate("other");
    expect((await failureOf(tenant.activate("none"))).code).toBe("ERR_CAPABILITY_UNKNOWN");
  });
});

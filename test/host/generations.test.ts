import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  directoryLoader,
  memoryAudit,
  settingsTrustStore,
  type Snapshot,
  type Tenant,
  type TenantOptions,
} from "../../src/mod.ts";
import type { Activate, ToolHandler } from "../../src/plugin_types.ts";
import { approve, approved, failureOf, hosted, pluginOf, ROOT, temporary, until, write } from "./support.ts";
import { hearing, lifePlugin, lively } from "./lifecycle_support.ts";

const { host, ear } = await hearing();
const GO = { go: "export const go = () => 'went';" };
const COUNTER = `
let calls = 0;
export async function activate(context) {
  context.onDispose(() => context.host.say("end " + context.plugin));
  await context.host.ask("start " + context.plugin);
  context.register("tools", "count", () => ++calls);
  context.register("tools", "hold", async (_input, { host }) => [await host.ask("hold"), ++calls]);
  context.register("tools", "late", (_input, { host }) => {
    setTimeout(() => { try { context.register("tools", "count", () => 0); } catch ({ message }) { host.say(message); } }, 1);
    return host.ask("hold");
  });
}`;
const HEAD = 'lifecycle: { activate: "main.ts:activate" }\n';
let count = 0;

const counter = (name: string, under?: string): string =>
  lifePlugin(name, {
    main: COUNTER,
    head: HEAD,
    registered: { count: "", hold: "", late: "" },
    ...(under === undefined ? {} : { under }),
  });

/** A tenant whose approvals are kept, so that each change takes its time. */
function kept(options: TenantOptions): Promise<Tenant> {
  return approved(host, `g${count++}`, {
    store: settingsTrustStore(join(temporary(), "settings")),
    ...options,
  });
}

function ids({ tools }: Snapshot): string[] {
  return tools.map(({ id }) => id);
}

/** Holds whoever asks a word until it is released; tells when somebody does. */
function holding(word: string) {
  const { promise, resolve: release } = Promise.withResolvers<unknown>();
  const { promise: asked, resolve: onAsk } = Promise.withResolvers<void>();
  ear.answer = (said) => said === word ? (onAsk(), promise) : null;
  return { asked, release };
}

describe("snapshots", () => {
  test("[A13] [P23] a snapshot is frozen, numbered and detached, and stays the same while nothing changes", async () => {
    const tenant = await kept({ plugins: [pluginOf("one", GO), pluginOf("two", GO)] });
    const snapshot = await tenant.snapshot();
    expect(await tenant.snapshot()).toBe(snapshot);
    const { tools } = snapshot;
    expect(tools[0]).toEqual({
      id: "plugin__one__go",
      name: "go",
      plugin: "one",
      description: null,
      live: true,
      input: { type: "object" },
    });
    for (
      const change of [
        () => (tools as unknown[]).push(1),
        () => ((tools[0] as { id: string }).id = "x"),
        () => ((tools[0]!.input as { type: string }).type = "string"),
        () => ((snapshot as { generation: number }).generation = 9),
      ]
    ) expect(change).toThrow(TypeError);
    await tenant.hide(["plugin__one__go"]);
    expect(ids(snapshot)).toEqual(["plugin__one__go", "plugin__two__go"]);
    const next = await tenant.snapshot();
    expect([ids(next), next.generation - snapshot.generation]).toEqual([["plugin__two__go"], 1]);
  });

  test("[A12] [A19] what a plugin offers on every surface is listed under its own namespace", async () => {
    const directory = join(temporary(), "web-research");
    const manifest = readFileSync(join(ROOT, "test/manifest/fixtures/whole.yaml"), "utf8");
    const code =
      "export const webSearch = 1, guard = 1, run = 1, provider = 1, check = 1, around = 1, render = 1, activate = 1, onStop = 1;";
    const texts: Readonly<Record<string, string>> = {
      md: "---\ndescription: y\n---\ntext\n",
      json: "{}",
      yaml: "roles: {}\n",
      "playbook.yaml": "steps: [{ name: one, instructions: Begin }]\n",
    };
    write(directory, {
      "plugin.yaml": manifest,
      "data/x.txt": "x",
      ...Object.fromEntries(
        [
          "tools/search",
          "hooks/guard",
          "commands/research",
          "providers/searchapi",
          "guards/pii",
          "intercept/cache",
          "ui/status",
          "main",
        ]
          .map((path) => [`${path}.ts`, code]),
      ),
      "hooks/rate_guard": "#!/bin/sh\n",
      ...Object.fromEntries(
        [...manifest.matchAll(/\[([a-z]+\/[\w/-]+\.(md|(?:playbook\.)?yaml|(?:theme\.)?json))\]/g)].map((
          [, path, kind],
        ) => [path!, texts[kind!]!]),
      ),
    });
    const tenant = await approved(host, `g${count++}`, { plugins: [directory] });
    const snapshot = await tenant.snapshot();
    for (const surface of ["tools", "commands", "skills", "prompts", "guardrails", "interceptors"] as const) {
      expect([surface, snapshot[surface].length]).toEqual([surface, 1]);
      expect(snapshot[surface][0]!.id).toContain("web-research");
    }
    expect(snapshot.lifecycle).toEqual([
      { plugin: "web-research", activate: "main.ts:activate", stop: "main.ts:onStop" },
    ]);
    expect(snapshot.plugins).toMatchObject([{ name: "web-research", version: "0.3.0" }]);
  });

  test("each commit makes one generation, whoever made it", async () => {
    const directory = pluginOf("one", GO);
    const tenant = await kept({ plugins: [directory] });
    let { generation } = await tenant.snapshot();
    const { hash } = await tenant.fingerprint("one");
    const commits: Readonly<Record<string, () => unknown>> = {
      hide: () => tenant.hide(["plugin__one__go"]),
      expose: () => tenant.expose(["plugin__one__go"]),
      disable: () => tenant.disable("one"),
      enable: () => tenant.enable("one"),
      trust: () => tenant.trust("one", { fingerprint: hash, approver: "ada", expose: ["plugin__one__go"] }),
      reload: () => tenant.reload(),
      edit: () => write(directory, { "tools/go.ts": "export const go = () => 'other';" }),
      untrust: () => tenant.untrust("one"),
    };
    for (const [name, commit] of Object.entries(commits)) {
      await commit();
      const next = await tenant.snapshot();
      expect([name, next.generation]).toEqual([name, ++generation]);
    }
    expect((await failureOf(tenant.disable("none"))).code).toBe("ERR_CAPABILITY_UNKNOWN");
    expect((await tenant.snapshot()).generation).toBe(generation);
  });

  test("[P15] no reader sees a part of a change", async () => {
    const names = ["aa", "bb", "cc", "dd"];
    const tenant = await kept({ plugins: names.map((name) => pluginOf(name, GO)) });
    const all = names.map((name) => `plugin__${name}__go`);
    const seen = new Set<number>();
    let isDone = false;
    const reading = (async () => {
      while (!isDone) seen.add(ids(await tenant.snapshot()).length);
    })();
    for (let round = 0; round < 5; round++) {
      await tenant.hide(all);
      await tenant.expose(all);
    }
    isDone = true;
    await reading;
    expect([...seen].filter((length) => length !== 0 && length !== 4)).toEqual([]);
  });

  test("[R05] switching one plugin on and off, and building anew, moves no entry of another", async () => {
    const tenant = await kept({ plugins: ["aa", "bb", "cc"].map((name) => pluginOf(name, GO)) });
    const hashOf = async (plugins: readonly string[]) => {
      const { tools } = await tenant.snapshot();
      const own = tools.filter(({ plugin }) => plugins.includes(plugin));
      return createHash("sha256").update(JSON.stringify(own)).digest("hex");
    };
    const prefix = async () => {
      const { tools } = await tenant.snapshot();
      return createHash("sha256").update(JSON.stringify(tools.slice(0, 2))).digest("hex");
    };
    const before = [await hashOf(["aa", "bb"]), await hashOf(["aa", "cc"]), await prefix()];
    await tenant.disable("cc");
    expect([await hashOf(["aa", "bb"]), await prefix()]).toEqual([before[0], before[2]]);
    await tenant.enable("cc");
    await tenant.reload();
    expect([await hashOf(["aa", "bb"]), await hashOf(["aa", "cc"]), await prefix()]).toEqual(before);
    await tenant.disable("bb");
    expect(await hashOf(["aa", "cc"])).toBe(before[1]);
  });

  test("[A24] after a plugin is switched off, an earlier snapshot is as it was and the next one lacks its tools", async () => {
    const tenant = await lively(host, [counter("gone"), pluginOf("stays", GO)]);
    await tenant.call("plugin__gone__count", {});
    const before = await tenant.snapshot();
    ear.said.length = 0;
    await tenant.disable("gone");
    expect(ear.said).toEqual(["end gone"]);
    expect(ids(before).length).toBe(4);
    expect(ids(await tenant.snapshot())).toEqual(["plugin__stays__go"]);
  });

  test("two plugins that race for one bare name: one is offered, the other is told whose it is", async () => {
    for (const act of ["expose", "trust"] as const) {
      const tenant = host.tenant(`g${count++}`, {
        plugins: [pluginOf("aa", GO), pluginOf("bb", GO)],
        naming: "bare",
        store: settingsTrustStore(join(temporary(), "settings")),
      });
      const racing = ["aa", "bb"].map(async (name) => {
        const { hash } = await tenant.fingerprint(name);
        const expose = [`plugin__${name}__go`];
        await tenant.trust(name, {
          fingerprint: hash,
          approver: "ada",
          expose: act === "trust" ? expose : [],
        });
        if (act === "expose") await tenant.expose(expose);
      });
      const ends = await Promise.allSettled(racing);
      const [refused] = ends.filter((end) => end.status === "rejected");
      expect(ends.filter(({ status }) => status === "fulfilled").length).toBe(1);
      expect(refused!.reason).toMatchObject({ code: "ERR_COLLISION" });
      expect((await tenant.snapshot()).tools.length).toBe(1);
      expect(await tenant.call("go", {})).toBe("went");
    }
  });
});

describe("handles", () => {
  test("[R18] a handle is of its own tenant, and of the approval under which it was made", async () => {
    const plugins = [pluginOf("one", GO)];
    const [a, b] = [await lively(host, plugins), await lively(host, plugins)];
    const handle = await a.handle("go");
    expect(await a.call(handle, {})).toBe("went");
    expect(await handle.call({})).toBe("went");
    expect(await failureOf(b.call(handle, {}))).toMatchObject({ code: "ERR_STALE_GENERATION" });
    expect(await failureOf(a.call({ ...handle }, {}))).toMatchObject({ code: "ERR_STALE_GENERATION" });
    await a.untrust("one");
    await approve(a, "one");
    expect((await failureOf(handle.call({}))).code).toBe("ERR_STALE_GENERATION");
    expect(await (await a.handle("go")).call({})).toBe("went");
  });

  test("[R20] calls that were begun under a generation finish under it, and it takes no new ones", async () => {
    const tenant = await lively(host, [counter("life")]);
    const handle = await tenant.handle("plugin__life__hold");
    expect(await tenant.call("plugin__life__count", {})).toBe(1);
    const { asked, release } = holding("hold");
    ear.said.length = 0;
    const running = handle.call({});
    await asked;
    const snapshot = await tenant.reload();
    expect(snapshot.generation).toBe(handle.generation + 1);
    expect((await failureOf(handle.call({}))).code).toBe("ERR_STALE_GENERATION");
    expect(await tenant.call("plugin__life__count", {})).toBe(1);
    expect(ear.said).toEqual([]);
    release("held");
    expect(await running).toEqual(["held", 2]);
    await until(() => ear.said.length > 0);
    expect(ear.said).toEqual(["end life"]);
    expect(await tenant.call("plugin__life__count", {})).toBe(2);
  });

  test("[R21] what registers late, in a generation that is ending, is refused at once", async () => {
    const tenant = await lively(host, [counter("life")]);
    await tenant.call("plugin__life__count", {});
    const { asked, release } = holding("hold");
    ear.said.length = 0;
    const running = tenant.call("plugin__life__late", {});
    await asked;
    await tenant.reload();
    await until(() => ear.said.length > 0);
    release(null);
    await running;
    expect(ear.said[0]).toBe("The activation is over");
    expect(await tenant.call("plugin__life__count", {})).toBe(1);
  });
});

describe("building anew", () => {
  test("[R19] nothing of what is being built is read before it is there", async () => {
    const root = temporary();
    counter("aa", root);
    const tenant = await lively(host, [], {}).then(() =>
      approved(host, `g${count++}`, { plugins: directoryLoader([{ directory: root, origin: "test" }]) })
    );
    await tenant.call("plugin__aa__count", {});
    const before = await tenant.snapshot();
    counter("bb", root);
    const { asked, release } = holding("start aa");
    const reloading = tenant.reload();
    await asked;
    expect(await tenant.snapshot()).toBe(before);
    expect((await tenant.list()).map(({ name }) => name)).toEqual(["aa"]);
    expect(await tenant.call("plugin__aa__count", {})).toBe(2);
    release(null);
    await reloading;
    expect((await tenant.list()).map(({ name }) => name)).toEqual(["aa", "bb"]);
    rmSync(join(root, "bb"), { recursive: true });
    await tenant.reload();
    expect((await tenant.list()).map(({ name }) => name)).toEqual(["aa"]);
  });

  test("[R40] when it fails, all is as it was, and what it started is gone", async () => {
    const tenant = await lively(host, [counter("aa"), counter("bb")]);
    ear.answer = () => null;
    await tenant.activateAll({ required: ["bb"] });
    expect(await tenant.call("plugin__aa__count", {})).toBe(1);
    const [before, pids] = [await tenant.snapshot(), await host.workerPids()];
    ear.said.length = 0;
    ear.answer = (word) => word === "start bb" ? Promise.reject(new Error("not now")) : null;
    expect((await failureOf(tenant.reload())).code).toBe("ERR_ACTIVATION_FAILED");
    expect(ear.said).toEqual(["end bb", "end aa"]);
    expect(await host.workerPids()).toEqual(pids);
    expect(await tenant.snapshot()).toBe(before);
    expect(await tenant.call("plugin__aa__count", {})).toBe(2);
    ear.answer = () => null;
    await tenant.reload();
    expect(await tenant.call("plugin__aa__count", {})).toBe(1);
  });

  test("[R43] [P25] while one is being built, exactly one more waits", async () => {
    const tenant = await lively(host, [counter("aa")]);
    ear.answer = () => null;
    await tenant.call("plugin__aa__count", {});
    const { generation } = await tenant.snapshot();
    let builds = 0;
    const { promise, resolve } = Promise.withResolvers<null>();
    const { promise: asked, resolve: onAsk } = Promise.withResolvers<void>();
    ear.answer = (word) => word === "start aa" ? (builds++, onAsk(), promise) : null;
    const calling = tenant.call("plugin__aa__hold", {});
    const first = tenant.reload();
    await asked;
    const [second, third] = [tenant.reload(), tenant.reload()];
    expect(third).toBe(second);
    expect(second).not.toBe(first);
    resolve(null);
    expect([(await first).generation, (await second).generation]).toEqual([generation + 1, generation + 2]);
    expect(await calling).toEqual([null, 2]);
    expect(builds).toBe(2);
  });

  test("[R17] building one tenant anew changes nothing in another one", async () => {
    const plugins = [counter("aa")];
    const [a, b] = [await lively(host, plugins), await lively(host, plugins)];
    ear.answer = () => null;
    for (const tenant of [a, b]) await tenant.call("plugin__aa__count", {});
    const before = await b.snapshot();
    const { asked, release } = holding("hold");
    const running = b.call("plugin__aa__hold", {});
    await asked;
    ear.said.length = 0;
    await a.reload();
    await until(() => ear.said.length > 0);
    release("held");
    expect(await running).toEqual(["held", 2]);
    expect(await b.snapshot()).toBe(before);
    expect(await b.call("plugin__aa__count", {})).toBe(3);
    expect(await a.call("plugin__aa__count", {})).toBe(1);
  });
});

describe("lanes", () => {
  test("[P12] [T22] a start that hangs delays no other, and two first calls of one plugin wait for one start", async () => {
    const tenant = await lively(host, [counter("hangs"), counter("goes")]);
    const { asked, release } = holding("start hangs");
    const first = tenant.call("plugin__hangs__count", {});
    await asked;
    const second = tenant.call("plugin__hangs__count", {});
    expect(await tenant.call("plugin__goes__count", {})).toBe(1);
    await tenant.hide(["plugin__goes__late"]);
    expect((await tenant.progress()).map(({ state }) => state)).toEqual(["activating", "active"]);
    release(null);
    expect(await Promise.all([first, second])).toEqual([1, 2]);
  });

  test("[P11] a plugin is discovered, activating, active or failed, and disposed in the end", async () => {
    const tenant = await lively(host, [counter("aa")]);
    const state = async () => (await tenant.progress())[0]!.state;
    expect(await state()).toBe("discovered");
    const failing = holding("start aa");
    const call = failureOf(tenant.activate("aa"));
    await failing.asked;
    expect(await state()).toBe("activating");
    failing.release(Promise.reject(new Error("no")));
    await call;
    expect(await state()).toBe("failed");
    ear.answer = () => null;
    await tenant.reload();
    expect(await state()).toBe("discovered");
    await tenant.activate("aa");
    expect(await state()).toBe("active");
    await tenant.stop();
    expect(await state()).toBe("disposed");
  });

  test("[T22] a call that would wait for its own start, through whichever plugin, is refused", async () => {
    const circular = (name: string, other: string) =>
      lifePlugin(name, {
        main: `
          export async function activate(context) {
            await context.host.ask("start ${name}");
            context.register("tools", "t", () => "${name}");
            await context.call("plugin__${other}__t", {}).catch(async (error) => {
              await context.host.say(error.message);
              throw error;
            });
          }`,
        head: `${HEAD}permissions: { call: ["plugin__${other}__t"] }\n`,
        registered: { t: "callers: any" },
      });
    const options = { policy: { permissions: { call: true } } } as const;
    const plugins = [circular("aa", "bb"), circular("bb", "aa")];
    ear.answer = () => null;
    const alone = await lively(host, plugins, options);
    expect(await failureOf(alone.call("plugin__aa__t", {}))).toMatchObject({
      code: "ERR_ACTIVATION_FAILED",
    });
    expect(ear.said).toContainEqual(
      expect.stringContaining("cycle plugin__aa__t → plugin__bb__t → plugin__aa__t"),
    );
    // Both starts are under way before either calls the other: neither call is in the chain of the other.
    const crossed = await lively(host, plugins, options);
    let waiting = 0;
    const { promise: both, resolve } = Promise.withResolvers<null>();
    ear.answer = () => (++waiting === 2 && resolve(null), both);
    const errors = await Promise.all(
      ["aa", "bb"].map((name) => failureOf(crossed.call(`plugin__${name}__t`, {}))),
    );
    expect(errors.map(({ code }) => code)).toEqual(["ERR_ACTIVATION_FAILED", "ERR_ACTIVATION_FAILED"]);
    const open = lifePlugin("bb", {
      main: "export const activate = (c) => { c.register('tools', 't', () => 'open'); };",
      head: HEAD,
      registered: { t: "callers: any" },
    });
    ear.answer = () => null;
    expect(await (await lively(host, [plugins[0]!, open], options)).call("plugin__aa__t", {})).toBe("aa");
  });

  test("[R41] nothing is locked while a plugin runs: what it asks for may come back to its tenant, and many do", async () => {
    const tenant: Tenant = await lively(host, [counter("aa"), pluginOf("other", GO)]);
    ear.answer = async () => {
      await tenant.snapshot();
      await tenant.expose(["plugin__other__go"]);
      await tenant.list();
      return await tenant.call("plugin__other__go", {});
    };
    const calls = Array.from({ length: 40 }, () => tenant.call("plugin__aa__hold", {}));
    expect((await Promise.all(calls)).map((value) => (value as unknown[])[0])).toEqual(
      Array(40).fill("went"),
    );
    ear.answer = () => null;
  });

  test("[R30] calls in one isolate take turns: what runs between two awaits runs alone, and 64 are under way at most", async () => {
    const main = `
      let inside = 0, most = 0, begun = 0;
      export function activate(context) {
        context.register("tools", "t", async (_input, { host }) => {
          begun++;
          inside++;
          for (let n = 0; n < 1e5; n++) most = Math.max(most, inside);
          inside--;
          await host.ask("hold");
          return [begun, most];
        });
      }`;
    const tenant = await lively(host, [lifePlugin("turns", { main, head: HEAD, registered: { t: "" } })]);
    let asking = 0;
    const { promise, resolve } = Promise.withResolvers<null>();
    ear.answer = () => (++asking, promise);
    const first = tenant.call("t", {});
    await until(() => asking === 1);
    const calls = Array.from({ length: 63 }, () => tenant.call("t", {}));
    await until(() => asking === 64);
    expect((await failureOf(tenant.call("t", {}))).code).toBe("ERR_LIMIT_RATE");
    resolve(null);
    expect(new Set((await Promise.all([first, ...calls])).map(String))).toEqual(new Set(["64,1"]));
    ear.answer = () => null;
  });

  test(
    "[R31] of a caller's signal and a bound that come at the same moment, it is always the signal: 1,000 races",
    { timeout: 240_000 },
    async () => {
      const code = (name: string) =>
        `export const ${name} = ({ quick }) => quick ? "quick" : new Promise(() => {});`;
      const tools = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`t${at}`, code(`t${at}`)]));
      const tenant = await lively(host, [pluginOf("races", tools)]);
      const reasons = new Map<string, number>();
      for (let round = 0; round < 50; round++) {
        const wallMs = 5 + round % 25;
        const errors = await Promise.all(
          Object.keys(tools).map(async (tool) => {
            await tenant.call(tool, { quick: true });
            // The bound of a call that was answered leaves its timer behind, which looks at the next call's as well.
            await tenant.call(tool, { quick: true }, { wallMs: wallMs - 2 }).catch(() => {});
            return await failureOf(tenant.call(tool, {}, { wallMs, signal: AbortSignal.timeout(wallMs) }));
          }),
        );
        for (const { code: reason } of errors) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      }
      expect([...reasons]).toEqual([["ERR_CALL_CANCELLED", 1_000]]);
      const signal = AbortSignal.timeout(60_000);
      expect((await failureOf(tenant.call("t0", {}, { wallMs: 20, signal }))).code).toBe("ERR_LIMIT_WALL");
    },
  );
});

describe("bounds", () => {
  test("[R31] a plugin that calls another within its last moment is told its own bound, whichever comes first", async () => {
    const caller = lifePlugin("caller", {
      main: "export const activate = () => {};",
      head: `${HEAD}permissions: { call: ["plugin__callee__t"] }\n`,
      tools: {
        relay:
          "export const relay = (_input, { call }) => call('plugin__callee__t', {}).catch(() => 'caught');",
      },
    });
    const callee = lifePlugin("callee", {
      main: "export const activate = (c) => { c.register('tools', 't', () => new Promise(() => {})); };",
      head: HEAD,
      registered: { t: "callers: any" },
    });
    const tenant = await lively(host, [caller, callee], { policy: { permissions: { call: true } } });
    for (let round = 0; round < 20; round++) {
      const { code } = await failureOf(tenant.call("relay", {}, { wallMs: 100 + round }));
      expect([round, code]).toEqual([round, "ERR_LIMIT_WALL"]);
    }
  });
});

/** Written as a plugin's author writes it, and checked as such with this file. */
const handler: ToolHandler<{ text: string }, { readonly total: number; readonly words: readonly string[] }> =
  (
    { text },
    { plugin },
  ) => text === "wrong" ? { total: plugin } as never : { total: text.length, words: text.split(" ") };
const typed: Activate = (context) => {
  context.register("tools", "t", handler);
};

describe("embedders", () => {
  test("[L17] a name that the embedder's own registry misses is asked of the tenant, and loads exactly its owner's target", async () => {
    const audit = memoryAudit();
    const own = await hosted({ audit: () => audit });
    const tools = { go: "export const go = () => 'tenant';", other: "export const other = () => 1;" };
    const tenant = await approved(own, "acme", {
      plugins: [pluginOf("one", tools), pluginOf("two", { third: "export const third = () => 2;" })],
    });
    const registry = new Map<string, () => unknown>([["own", () => "embedder"]]);
    const call = async (name: string) => {
      const known = registry.get(name);
      if (known !== undefined) return known();
      const found = await tenant.resolve(name, "tools");
      return found.owner === "plugin" ? await tenant.call(found.id, {}) : null;
    };
    expect(await call("own")).toBe("embedder");
    expect(audit.events.filter(({ type }) => type === "activate")).toEqual([]);
    expect(await call("go")).toBe("tenant");
    expect(
      audit.events.filter(({ type }) => type === "activate").map(({ plugin, details }) => [plugin, details]),
    ).toEqual([
      ["one", { target: "tools/go.ts:go" }],
    ]);
    expect((await failureOf(call("none"))).code).toBe("ERR_CAPABILITY_UNKNOWN");
  });

  test("[A32] a plugin's resources are read by its host as the plugin itself reads them, and only as they were approved", async () => {
    const directory = pluginOf(
      "docs",
      { read: "export const read = ({ path }) => Deno.readTextFile(path);" },
      {
        head: 'permissions: { read: ["./texts"] }\n',
        files: { "texts/a.md": "\ufeffäö\n" },
      },
    );
    const tenant = await lively(host, [directory], { policy: { permissions: { read: true } } });
    const resources = await tenant.resources("docs");
    const { text } = resources.readStrict("texts/a.md");
    expect(await tenant.call("read", { path: "texts/a.md" })).toBe(text);
    expect(resources.read("plugin:/tools/read.ts")).toMatchObject({ rootId: "docs", path: "tools/read.ts" });
    expect([resources.exists("texts/a.md"), resources.exists("none"), resources.read("none")]).toEqual([
      true,
      false,
      undefined,
    ]);
    expect(() => resources.readStrict("none")).toThrow(
      expect.objectContaining({ code: "ERR_RESOURCE_NOT_FOUND" }),
    );
    expect(() => resources.read("../x")).toThrow(expect.objectContaining({ code: "ERR_RESOURCE_PATH" }));
    write(directory, { "tools/read.ts": "export const read = 1;" });
    expect(() => resources.read("tools/read.ts")).toThrow(
      expect.objectContaining({ code: "ERR_TRUST_CHANGED" }),
    );
    await tenant.untrust("docs");
    expect((await failureOf(tenant.resources("docs"))).code).toBe("ERR_TRUST_UNKNOWN");
  });

  test("[A15] what a plugin makes with the author's types is what its host holds it to", async () => {
    const main = `const handler = ${handler};\nexport const activate = ${typed};\n`;
    const output =
      "output: { type: object, required: [total, words], properties: { total: { type: integer } } }";
    const tenant = await lively(host, [lifePlugin("typed", { main, head: HEAD, registered: { t: output } })]);
    expect(await tenant.call("t", { text: "a b" })).toEqual({ total: 3, words: ["a", "b"] });
    expect((await failureOf(tenant.call("t", { text: "wrong" }))).code).toBe("ERR_RESULT_INVALID");
  });
});

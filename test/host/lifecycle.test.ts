import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { memoryAudit, settingsTrustStore, type TenantOptions } from "../../src/mod.ts";
import { approve, failureOf, temporary, until, write } from "./support.ts";
import { hearing, lifePlugin, lively } from "./lifecycle_support.ts";

const { host, ear } = await hearing();
const COUNTING = `
let calls = 0;
export async function activate(context) {
  await context.host.say("activate " + context.plugin + " " + context.capabilities.join());
  context.onDispose(() => context.host.say("first disposer"));
  context.onDispose(() => context.host.say("second disposer"));
  context.register("tools", "one", (input, { plugin }) => [plugin, ++calls, input]);
  context.register("tools", "two", () => ++calls);
}
export const onStop = (context) => context.host.say("stop " + context.plugin);
`;

function heard(): string[] {
  return ear.said.splice(0);
}

async function started(
  main: string,
  more: Omit<Parameters<typeof lifePlugin>[1], "main"> = {},
  options: Omit<TenantOptions, "plugins"> = {},
) {
  ear.said.length = 0;
  const registered = more.registered ?? (more.tools === undefined ? { one: "", two: "" } : {});
  return await lively(host, [lifePlugin("life", { ...more, main, registered })], options);
}

/** The error of the first call. */
async function refused(
  main: string,
  more: Omit<Parameters<typeof lifePlugin>[1], "main"> = {},
  options: Omit<TenantOptions, "plugins"> = {},
) {
  const tenant = await started(main, more, options);
  return await failureOf(tenant.call("one", {}));
}

describe("lifecycle code", () => {
  test("activate registers the tools that have no target, and they share one isolate", async () => {
    const tenant = await started(COUNTING);
    expect(await tenant.call("one", { a: 1 })).toEqual(["life", 1, { a: 1 }]);
    expect(await tenant.call("two", {})).toBe(2);
    expect(heard()).toEqual(["activate life plugin__life__one,plugin__life__two"]);
  });

  test("stop runs first and the disposers after it, last registered first, when a plugin is switched off", async () => {
    const tenant = await started(COUNTING);
    await tenant.call("one", {});
    heard();
    expect(await tenant.disable("life")).toEqual([]);
    expect(heard()).toEqual(["stop life", "second disposer", "first disposer"]);
    expect((await failureOf(tenant.call("one", {}))).code).toBe("ERR_TRUST_DISABLED");
    await tenant.enable("life");
    expect(await tenant.call("two", {})).toBe(1);
    expect(heard()).toEqual(["activate life plugin__life__one,plugin__life__two"]);
  });

  test("[T24] activate and stop run in each isolate of the plugin, under that isolate's grants, and register only what is its own", async () => {
    const main = `
      export async function activate(context) {
        const may = await context.storage.get("x").then(() => "may", ({ name }) => name);
        const told = ["wide", "narrow"].map((name) => context.register("tools", name, () => name));
        await context.host.say(context.capabilities + " " + may + " " + told);
      }
      export const onStop = async (context) => {
        await context.host.say("stop " + await context.storage.get("x").then(() => "may", ({ name }) => name));
      };`;
    const head =
      'lifecycle: { activate: "main.ts:activate", stop: "main.ts:onStop" }\npermissions: { storage: true }\n';
    const registered = { wide: "", narrow: "permissions: {}" };
    const tools = { aimed: "export const aimed = () => 'aimed';" };
    const tenant = await started(main, { head, registered, tools }, {
      policy: { permissions: { storage: true } },
    });
    expect(await tenant.call("aimed", {})).toBe("aimed");
    expect(await tenant.call("narrow", {})).toBe("narrow");
    expect(await tenant.call("wide", {})).toBe("wide");
    expect(heard()).toEqual([
      "plugin__life__aimed may false,false",
      "plugin__life__narrow NotCapable false,true",
      "plugin__life__wide may true,false",
    ]);
    await tenant.disable("life");
    expect(heard()).toEqual(["stop may", "stop NotCapable", "stop may"]);
  });

  test("[A22] a plugin without stop is switched off like any other", async () => {
    const head = 'lifecycle: { activate: "main.ts:activate" }\n';
    const tenant = await started("export const activate = (c) => { c.register('tools', 'one', () => 1); };", {
      head,
      registered: { one: "" },
    });
    expect(await tenant.call("one", {})).toBe(1);
    expect(await tenant.disable("life")).toEqual([]);
    expect(await tenant.list()).toMatchObject([{ state: "disabled" }]);
  });

  test("nothing of a plugin runs once its trust was taken back: neither stop nor a disposer", async () => {
    const tenant = await started(COUNTING);
    await tenant.call("one", {});
    heard();
    await tenant.untrust("life");
    expect(heard()).toEqual([]);
  });

  test("[A25] [P21] stopping goes in reverse activation order, each is attempted, failures are gathered, twice is one promise", async () => {
    const life = (name: string, fails: boolean) =>
      lifePlugin(name, {
        main: `
          export const activate = (context) => {
            context.register("tools", "t", () => 1);
            context.onDispose(async () => { await context.host.say("${name} a"); ${
          fails ? "throw new Error('a failed');" : ""
        } });
            context.onDispose(async () => { await context.host.say("${name} b"); ${
          fails ? "throw new Error('b failed');" : ""
        } });
          };
          export const onStop = async (context) => { await context.host.say("${name} stop"); };`,
        registered: { t: "" },
      });
    const tenant = await lively(host, [life("aa", false), life("bb", true), life("cc", false)]);
    for (const name of ["bb", "cc", "aa"]) await tenant.call(`plugin__${name}__t`, {});
    heard();
    const stopping = tenant.stop();
    expect(tenant.stop()).toBe(stopping);
    const failures = await stopping;
    expect(heard()).toEqual(["aa", "cc", "bb"].flatMap((name) => [`${name} stop`, `${name} b`, `${name} a`]));
    expect(failures.map(({ message }) => message)).toEqual([
      expect.stringContaining("b failed"),
      expect.stringContaining("a failed"),
    ]);
    expect((await failureOf(tenant.call("plugin__aa__t", {}))).code).toBe("ERR_HOST_CLOSED");
  });

  test("an onStop that hangs is given up after its bound, and keeps nobody else from stopping", async () => {
    const main = (wait: string) => `
      export const activate = (context) => { context.register("tools", "t", () => 1); };
      export const onStop = async (context) => { await context.host.say("stopping " + context.plugin); ${wait} };`;
    const plugins = [
      lifePlugin("good", { main: main(""), registered: { t: "" } }),
      lifePlugin("waits", { main: main("await new Promise(() => {});"), registered: { t: "" } }),
      lifePlugin("spins", { main: main("for (;;);"), registered: { t: "" } }),
    ];
    const tenant = await lively(host, plugins, { lifecycle: { stopMs: 300 } });
    for (const name of ["good", "waits", "spins"]) await tenant.call(`plugin__${name}__t`, {});
    heard();
    expect((await tenant.disable("waits")).map(({ code }) => code)).toEqual(["ERR_LIMIT_WALL"]);
    expect((await tenant.stop()).map(({ code }) => code)).toEqual([
      expect.stringMatching(/^ERR_LIMIT_(WALL|CPU)$/),
    ]);
    expect(heard()).toEqual(["stopping waits", "stopping spins", "stopping good"]);
  });
});

describe("stopping what is busy", () => {
  test("stop runs however many calls are under way, and those are told why they end", async () => {
    const main = `
      export const activate = (context) => {
        context.register("tools", "t", (_input, { host }) => host.ask("hold"));
      };
      export const onStop = (context) => context.host.say("stop");`;
    const tenant = await lively(host, [lifePlugin("busy", { main, registered: { t: "" } })]);
    heard();
    let asking = 0;
    const { promise, resolve } = Promise.withResolvers<null>();
    ear.answer = () => (asking++, promise);
    const first = failureOf(tenant.call("t", {}));
    await until(() => asking === 1);
    const calls = [first, ...Array.from({ length: 63 }, () => failureOf(tenant.call("t", {})))];
    await until(() => asking === 64);
    expect(await tenant.disable("busy")).toEqual([]);
    expect(heard()).toEqual(["stop"]);
    expect(new Set((await Promise.all(calls)).map(({ code }) => code))).toEqual(
      new Set(["ERR_TRUST_DISABLED"]),
    );
    resolve(null);
    ear.answer = () => null;
  });

  test("a stop that takes its time is not cut short by a look at the records, which say that it is off", async () => {
    const main = `
      export const activate = (context) => { context.register("tools", "t", () => 1); };
      export const onStop = async (context) => {
        await context.host.ask("wait");
        await context.host.say("stopped");
      };`;
    const store = settingsTrustStore(join(temporary(), "settings"));
    const tenant = await lively(host, [lifePlugin("slow", { main, registered: { t: "" } })], {
      store,
      lifecycle: { stopMs: 20_000 },
    });
    await tenant.call("t", {});
    heard();
    // Three looks at the records.
    ear.answer = () => new Promise((resume) => setTimeout(resume, 800));
    expect(await tenant.disable("slow")).toEqual([]);
    expect(heard()).toEqual(["stopped"]);
    ear.answer = () => null;
  });

  test("an isolate whose place is wanted stops in the same way, and the next call starts another", async () => {
    const own = await hearing({ workers: { idleIsolateMs: 100, sweepMs: 50 } });
    const tenant = await lively(own.host, [
      lifePlugin("life", { main: COUNTING, registered: { one: "", two: "" } }),
    ]);
    const begun = "activate life plugin__life__one,plugin__life__two";
    expect(await tenant.call("two", {})).toBe(1);
    await until(() => own.ear.said.length === 4);
    expect(own.ear.said).toEqual([begun, "stop life", "second disposer", "first disposer"]);
    expect(await tenant.call("two", {})).toBe(1);
    expect(own.ear.said.filter((word) => word === begun).length).toBe(2);
  });
});

describe("an activation that fails", () => {
  test("[A23] [P17] is undone: stop runs once, disposers in reverse, nothing is registered, and the host goes on", async () => {
    const audit = memoryAudit();
    const own = await hearing({ audit: () => audit });
    const bad = lifePlugin("bad", {
      main: `
        export async function activate(context) {
          context.register("tools", "one", () => 1);
          context.onDispose(() => context.host.say("a"));
          context.onDispose(() => { throw new Error("not this one"); });
          context.onDispose(() => context.host.say("c"));
          throw new Error("midway");
        }
        export const onStop = (context) => context.host.say("stop");`,
      registered: { one: "" },
    });
    const good = lifePlugin("good", { main: COUNTING, registered: { one: "", two: "" } });
    const tenant = await lively(own.host, [bad, good]);
    const error = await failureOf(tenant.call("plugin__bad__one", {}));
    expect(error).toMatchObject({ code: "ERR_ACTIVATION_ROLLBACK_FAILED" });
    expect(own.ear.said).toEqual(["stop", "c", "a"]);
    expect(await tenant.progress()).toMatchObject([{ plugin: "bad", state: "failed" }, {
      state: "discovered",
    }]);
    expect(await tenant.call("plugin__good__two", {})).toBe(1);
    const { tools, failures } = await tenant.snapshot();
    expect(tools.map(({ id }) => id)).toEqual(["plugin__good__one", "plugin__good__two"]);
    expect(failures).toMatchObject([{ plugin: "bad", id: null, code: "ERR_ACTIVATION_ROLLBACK_FAILED" }]);
  });

  test("[P18] a failure is told as such, and one of undoing it as a frozen list beside the first", async () => {
    const failing = (more: string) => `
      export async function activate(context) { ${more} throw new TypeError("midway"); }
      export const onStop = () => {};`;
    const plain = await refused(failing(""));
    expect(plain).toMatchObject({
      code: "ERR_ACTIVATION_FAILED",
      message: expect.stringContaining("TypeError: midway"),
    });
    const both = await refused(failing(`
      context.onDispose(() => { throw new Error("one"); });
      context.onDispose(() => Promise.reject(new RangeError("two")));`));
    expect(both).toMatchObject({
      code: "ERR_ACTIVATION_ROLLBACK_FAILED",
      details: {
        primary: { code: "ERR_ACTIVATION_FAILED", message: expect.stringContaining("midway") },
        cleanup: [{ message: expect.stringContaining("two") }, { message: expect.stringContaining("one") }],
      },
    });
    const { details } = both;
    expect([details, details.primary, details.cleanup].every((each) => Object.isFrozen(each))).toBe(true);
  });

  test("[R03] [R04] registering what the manifest does not declare fails all of it, even where the plugin catches that", async () => {
    const main = `
      export function activate(context) {
        context.register("tools", "one", () => 1);
        try { context.register("hooks", "two", () => 2); } catch {}
        context.register("tools", "two", () => 2);
      }
      export const onStop = () => {};`;
    expect(await refused(main)).toMatchObject({
      code: "ERR_CAPABILITY_NOT_DECLARED",
      details: { capability: "hooks/two" },
    });
    const extra = main.replace('"hooks", "two"', '"tools", "three"');
    const tenant = await started(extra);
    expect((await failureOf(tenant.call("two", {}))).code).toBe("ERR_CAPABILITY_NOT_DECLARED");
    expect((await tenant.snapshot()).tools).toEqual([]);
    const declared = main.replace('"hooks", "two"', '"tools", "two"').replace(
      /context.register\("tools", "two", \(\) => 2\);\s*}/,
      "}",
    );
    expect(await (await started(declared)).call("two", {})).toBe(2);
  });

  test("[P16] a name that is registered twice, or has a target, exposes nothing of the batch", async () => {
    const twice = `
      export const activate = (c) => { for (const name of ["one", "two", "one"]) { try { c.register("tools", name, () => 1); } catch {} } };
      export const onStop = () => {};`;
    const tenant = await started(twice);
    expect(await failureOf(tenant.call("two", {}))).toMatchObject({
      code: "ERR_ACTIVATION_FAILED",
      message: expect.stringContaining('"tools/one" twice'),
    });
    expect((await tenant.snapshot()).tools).toEqual([]);
    const tools = { aimed: "export const aimed = () => 1;" };
    const taken =
      "export const activate = (c) => { c.register('tools', 'aimed', () => 2); }; export const onStop = () => {};";
    const other = await started(taken, { tools });
    expect(await failureOf(other.call("aimed", {}))).toMatchObject({
      code: "ERR_ACTIVATION_FAILED",
      message: expect.stringContaining("target of its own"),
    });
  });

  test("what is not registered though it has no target fails as well", async () => {
    const error = await refused(
      "export const activate = (c) => { c.register('tools', 'one', () => 1); }; export const onStop = () => {};",
    );
    expect(error).toMatchObject({
      code: "ERR_ACTIVATION_FAILED",
      message: expect.stringContaining('"tools/two"'),
    });
    const missing = await refused("export const other = 1; export const onStop = () => {};");
    expect(missing).toMatchObject({
      code: "ERR_ACTIVATION_FAILED",
      message: expect.stringContaining('no function "activate"'),
    });
  });

  test("[L25] it is remembered: three calls, one start; other bytes that are approved start anew", async () => {
    const failing = (mark: string) =>
      `export const activate = (c) => c.host.say("${mark}").then(() => { throw new Error("no"); }); export const onStop = () => {};`;
    ear.said.length = 0;
    const directory = lifePlugin("life", { main: failing("first"), registered: { one: "" } });
    const tenant = await lively(host, [directory]);
    const calls = async () => {
      for (let call = 0; call < 3; call++) {
        expect((await failureOf(tenant.call("one", {}))).code).toBe("ERR_ACTIVATION_FAILED");
      }
      return heard();
    };
    expect(await calls()).toEqual(["first"]);
    write(directory, { "main.ts": failing("second") });
    await approve(tenant, "life");
    expect(await calls()).toEqual(["second"]);
  });
});

describe("the context", () => {
  const probe = (body: string) => `
    export async function activate(context) {
      context.register("tools", "one", () => told);
      context.register("tools", "two", () => late);
      ${body}
    }
    let told = null, late = null;
    export const onStop = () => {};`;

  test("[P13] is frozen: no field is added, replaced or removed", async () => {
    const tenant = await started(probe(`
      const attempts = [
        () => { context.extra = 1; }, () => { context.register = null; }, () => { delete context.plugin; },
        () => { context.capabilities.push("x"); }, () => { context.host.say = null; },
      ];
      told = attempts.map((attempt) => { try { attempt(); return "done"; } catch ({ name }) { return name; } });
    `));
    expect(await tenant.call("one", {})).toEqual(Array(5).fill("TypeError"));
  });

  test("[P14] closes when activate settles: a thenable that registers after it resolved, and a later registration, are refused", async () => {
    const tenant = await started(
      `
      let told = [];
      const attempt = (context, when) => {
        try { context.register("tools", "two", () => when); told.push(when + " done"); } catch ({ message }) { told.push(when + ": " + message); }
        try { context.onDispose(() => {}); told.push("done"); } catch ({ message }) { told.push(message); }
      };
      export function activate(context) {
        context.register("tools", "one", () => told);
        return { then(resolve) { resolve(); attempt(context, "after"); setTimeout(() => attempt(context, "later"), 5); } };
      }
      export const onStop = () => {};`,
      { registered: { one: "" } },
    );
    await tenant.call("one", {});
    await until(() => true);
    await new Promise((resume) => setTimeout(resume, 50));
    expect(await tenant.call("one", {})).toEqual([
      "after: The activation is over",
      "The activation is over",
      "later: The activation is over",
      "The activation is over",
    ]);
  });

  test("accessors of a guest are data: no field of a handler is read, and a name is a string or refused", async () => {
    const tenant = await started(`
      let reads = [];
      const handler = Object.defineProperty(() => reads, "then", { get() { reads.push("then"); } });
      const spy = new Proxy(handler, { get: (target, key) => { reads.push(String(key)); return target[key]; } });
      export const activate = (c) => {
        c.register("tools", "one", spy);
        try { c.register({ toString() { reads.push("text"); return "tools"; } }, "two", () => 2); } catch ({ name }) { reads.push(name); }
        c.register("tools", "two", () => 2);
      };
      export const onStop = () => {};`);
    expect(await tenant.call("one", {})).toEqual(["TypeError"]);
  });
});

describe("cancelling", () => {
  const HANGS = (more = "") => `
    export async function activate(context) {
      ${more}
      context.register("tools", "one", () => 1);
      context.onDispose(() => context.host.say("undone"));
      await context.host.ask("go");
      await context.host.say("resolved");
    }
    export const onStop = () => {};`;

  test("an activation that resolves after it was cancelled is undone, and its tools are not there", async () => {
    const tenant = await started(HANGS(), { registered: { one: "" } });
    const { promise, resolve } = Promise.withResolvers<void>();
    const { promise: asked, resolve: onAsk } = Promise.withResolvers<void>();
    ear.answer = () => (onAsk(), promise);
    const controller = new AbortController();
    const activating = failureOf(tenant.activate("life", { signal: controller.signal }));
    await asked;
    controller.abort();
    resolve();
    expect((await activating).code).toBe("ERR_ACTIVATION_CANCELLED");
    expect(heard()).toContain("undone");
    expect(await tenant.progress()).toMatchObject([{ state: "discovered" }]);
    ear.answer = () => null;
    expect(await tenant.call("one", {})).toBe(1);
  });

  test("[P22] it is told as cancelled, also where undoing fails", async () => {
    const tenant = await started(HANGS("context.onDispose(() => { throw new Error('stuck'); });"), {
      registered: { one: "" },
    });
    const { promise: asked, resolve: onAsk } = Promise.withResolvers<void>();
    ear.answer = () => (onAsk(), new Promise(() => {}));
    const controller = new AbortController();
    const activating = failureOf(tenant.activate("life", { signal: controller.signal }));
    await asked;
    controller.abort();
    expect(await activating).toMatchObject({
      code: "ERR_ACTIVATION_ROLLBACK_FAILED",
      details: { primary: { code: "ERR_ACTIVATION_CANCELLED" }, cleanup: [{ code: "ERR_GUEST_THREW" }] },
    });
    ear.answer = () => null;
    expect(await tenant.call("one", {})).toBe(1);
  });

  test("a caller who gives up a first call is answered at once, and the next one starts anew", async () => {
    const tenant = await started(HANGS(), { registered: { one: "" } });
    const { promise: asked, resolve: onAsk } = Promise.withResolvers<void>();
    ear.answer = () => (onAsk(), new Promise(() => {}));
    const controller = new AbortController();
    const calling = failureOf(tenant.call("one", {}, { signal: controller.signal }));
    await asked;
    controller.abort();
    expect((await calling).code).toBe("ERR_CALL_CANCELLED");
    ear.answer = () => null;
    expect(await tenant.call("one", {})).toBe(1);
    expect(heard()).toEqual(["undone", "resolved"]);
  });
});

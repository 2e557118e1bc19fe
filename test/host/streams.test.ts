/** Streams of tools, as whoever embeds the library reads them. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  type CallStream,
  type Host,
  memoryAudit,
  type Progress,
  type StreamOptions,
  type Tenant,
} from "../../src/mod.ts";
import { RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { approved, failureOf, hosted, pluginOf, temporary, until, write } from "./support.ts";

const TOOLS = {
  count: `export async function* count({ to, ms = 0 }) {
    for (let i = 0; i < to; i++) {
      yield i;
      if (ms > 0) await new Promise((resume) => setTimeout(resume, ms));
    }
  }`,
  plain: "export const plain = ({ a }) => ({ a });",
  left: `let before = "never";
  export async function* left(input) {
    if (input.asks) return void (yield before);
    try { for (let i = 0;; i++) yield i; } finally { before = input.name; }
  }`,
  throws: "export async function* throws() { yield 1; throw new RangeError('no more'); }",
  hangs: "export async function* hangs() { yield 1; await new Promise(() => {}); }",
  waits: `let before = "never";
  export async function* waits({ asks }, { signal }) {
    if (asks) return void (yield before);
    yield 1;
    try { await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))); }
    catch ({ name }) { before = name; }
  }`,
  stays:
    `export async function* stays() { try { for (;;) yield 1; } finally { await new Promise(() => {}); } }`,
  dies:
    "export async function* dies() { yield 1; const all = []; for (;;) all.push(new Array(1e6).fill(all.length)); }",
  upper: `export async function* upper(_, { body }) {
    for await (const piece of body) yield typeof piece === "string" ? piece.toUpperCase() : piece.map((byte) => byte + 1);
  }`,
};

const open: CallStream[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((stream) => stream.return()));
});

let host: Host;
let tenants = 0;
beforeAll(async () => {
  host = await hosted();
});

/** A tenant of the file's own host with some of the tools, or with these. */
async function tenantOf(
  tools: readonly (keyof typeof TOOLS)[] | Readonly<Record<string, string>>,
): Promise<Tenant> {
  const code = Array.isArray(tools)
    ? Object.fromEntries(tools.map((name: keyof typeof TOOLS) => [name, TOOLS[name]]))
    : tools as Readonly<Record<string, string>>; // what is no list is code
  return await approved(host, `s${tenants++}`, { plugins: [pluginOf("flow", code)] });
}

function read(tenant: Tenant, name: string, input: object = {}, options: StreamOptions = {}): CallStream {
  const stream = tenant.stream(`plugin__flow__${name}`, input, options);
  open.push(stream);
  return stream;
}

/** The values that a stream gives before it ends, and the error that it ends with, if it does. */
async function drain(stream: CallStream): Promise<{ readonly values: unknown[]; readonly code?: string }> {
  const values: unknown[] = [];
  try {
    for await (const value of stream) values.push(value);
  } catch (error) {
    return { values, code: (error as { code: string }).code };
  }
  return { values };
}

test("a stream is read with for await, and tells afterwards what it was", async () => {
  const tenant = await tenantOf(["count"]);
  const stream = read(tenant, "count", { to: 3 });
  expect([stream.summary, stream.isValue]).toEqual([null, null]);
  expect(await drain(stream)).toEqual({ values: [0, 1, 2] });
  expect(stream.isValue).toBe(false);
  const sha256 = createHash("sha256").update("012").digest("hex");
  expect(stream.summary).toEqual({ chunks: 3, bytes: 3, sha256 });
  expect(await stream.next()).toEqual({ done: true, value: stream.summary });
  // Nothing begins before it is read.
  expect(await drain(tenant.stream("nothing", {}))).toEqual({ values: [], code: "ERR_CAPABILITY_UNKNOWN" });
  expect(await tenant.stream("nothing", {}).return()).toEqual({ done: true, value: undefined });
});

test("one value comes as one, of a stream a call wants none, and both say how", async () => {
  const tenant = await tenantOf(["count", "plain"]);
  const plain = read(tenant, "plain", { a: 1 });
  expect(await drain(plain)).toEqual({ values: [{ a: 1 }] });
  expect(plain.isValue).toBe(true);
  expect(await failureOf(tenant.call("plugin__flow__count", { to: 1 }))).toMatchObject({
    code: "ERR_RESULT_INVALID",
    message: expect.stringContaining("tenant.stream") as string,
  });
});

test("[R44] large input and output come in pieces, and a reader can compare what came", async () => {
  const tenant = await tenantOf(["upper"]);
  const pieces = Array.from(
    { length: 40 },
    (_, n) => new Uint8Array(RUNTIME_LIMITS.bodyPieceBytesMax).fill(n),
  );
  const body = (async function* () {
    yield "text";
    yield* pieces;
  })();
  const hash = createHash("sha256").update("TEXT");
  for (const piece of pieces) hash.update(piece.map((byte) => byte + 1));
  const stream = read(tenant, "upper", {}, { body });
  const { values } = await drain(stream);
  expect(values.slice(0, 2)).toEqual(["TEXT", pieces[0]!.map((byte) => byte + 1)]);
  expect(stream.summary).toMatchObject({ chunks: 41, sha256: hash.digest("hex") });
  // The same of a call that gives one value, and nothing of a body that its call left unread.
  const collect = await tenantOf({
    collect:
      "export const collect = async (_, { body }) => { let all = ''; for await (const piece of body) all += piece; return all; };",
    ignores: "export const ignores = async (_, { body }) => (await body.next()).value;",
  });
  const given = (async function* () {
    yield "a";
    yield "b";
  })();
  expect(await collect.call("plugin__flow__collect", {}, { body: given })).toBe("ab");
  let isLeft = false;
  const endless = (async function* () {
    try {
      for (;;) yield "x";
    } finally {
      isLeft = true;
    }
  })();
  expect(await collect.call("plugin__flow__ignores", {}, { body: endless })).toBe("x");
  await until(() => isLeft);
});

describe("a reader that leaves", () => {
  test("lets the guest clean up, whatever way it leaves, and the isolate goes on", async () => {
    const tenant = await tenantOf(["left"]);
    const leftBy = async () => (await drain(read(tenant, "left", { asks: true }))).values[0];
    for await (const _value of read(tenant, "left", { name: "break" })) break;
    expect(await leftBy()).toBe("break");

    const returned = read(tenant, "left", { name: "return" });
    await returned.next();
    await returned.return();
    expect(await leftBy()).toBe("return");
    expect(await returned.next()).toEqual({ done: true, value: undefined });
    expect(returned.summary).toBe(null);

    const controller = new AbortController();
    const aborted = read(tenant, "left", { name: "abort" }, { signal: controller.signal });
    await aborted.next();
    controller.abort();
    expect(await drain(aborted)).toMatchObject({ code: "ERR_CALL_CANCELLED" });
    await aborted.return();
    expect(await leftBy()).toBe("abort");

    await (async () => {
      await using disposed = read(tenant, "left", { name: "using" });
      await disposed.next();
    })();
    expect(await leftBy()).toBe("using");
    await expect(read(tenant, "left", { name: "x" }).throw(new Error("mine"))).rejects.toThrow("mine");
  });

  test("is told to a guest that waits for something else, and to none that ended by itself", async () => {
    const tenant = await tenantOf(["waits"]);
    const stream = read(tenant, "waits");
    await stream.next();
    await stream.return();
    expect(await drain(read(tenant, "waits", { asks: true }))).toEqual({ values: ["AbortError"] });
    const ended = await tenantOf({
      ends: `let before = [];
      export async function* ends({ asks }, { signal }) {
        if (asks) return void (yield before);
        signal.addEventListener("abort", () => before.push("aborted"));
        yield 1;
      }`,
    });
    expect(await drain(read(ended, "ends"))).toEqual({ values: [1] });
    expect(await drain(read(ended, "ends", { asks: true }))).toEqual({ values: [[]] });
  });

  test("waits for no guest that does not end, nor for one that is busy", async () => {
    const tenant = await tenantOf(["hangs", "stays", "count"]);
    for (const name of ["hangs", "stays"]) {
      const stream = read(tenant, name);
      expect(await stream.next()).toMatchObject({ value: 1 });
      const pending = name === "hangs" ? stream.next() : null;
      await stream.return();
      if (pending !== null) expect(await pending).toMatchObject({ done: true });
    }
    expect(await drain(read(tenant, "count", { to: 1 }))).toEqual({ values: [0] });
  });

  test("before it has begun has called nothing", async () => {
    const audit = memoryAudit();
    const audited = await hosted({ audit: () => audit });
    const tenant = await approved(audited, "t", { plugins: [pluginOf("flow", { count: TOOLS.count })] });
    const stream = tenant.stream("plugin__flow__count", { to: 1 });
    await stream.return();
    expect(await drain(stream)).toEqual({ values: [] });
    const signal = AbortSignal.abort();
    expect(await drain(tenant.stream("plugin__flow__count", { to: 1 }, { signal }))).toMatchObject({
      code: "ERR_CALL_CANCELLED",
    });
    expect(audit.events.filter(({ type }) => type === "call")).toEqual([]);
  });
});

describe("a stream that cannot go on", () => {
  test.each<[string, keyof typeof TOOLS, StreamOptions, string, boolean]>([
    ["its guest throws", "throws", {}, "ERR_GUEST_THREW", false],
    ["its guest takes too long", "hangs", { wallMs: 3_000 }, "ERR_LIMIT_WALL", false],
    ["its guest outgrows its memory", "dies", {}, "ERR_LIMIT_MEMORY", false],
  ])("ends by name, after all that came: %s", async (_what, name, options, code, retryable) => {
    const tenant = await tenantOf([name]);
    const stream = read(tenant, name, {}, options);
    expect(await stream.next()).toMatchObject({ value: 1 });
    expect(await failureOf(stream.next())).toMatchObject({ code, retryable });
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(stream.summary).toBe(null);
  });

  test("ends retryably when a neighbour takes its isolate along", async () => {
    const tenant = await tenantOf({
      mixed: `export async function* mixed({ isBad }) {
        yield 1;
        if (isBad) for (;;);
        for (;;) { await new Promise((resume) => setTimeout(resume, 10)); yield 2; }
      }`,
    });
    const good = read(tenant, "mixed");
    await good.next();
    const bad = read(tenant, "mixed", { isBad: true }, { wallMs: 500 });
    await bad.next();
    expect(await failureOf(bad.next())).toMatchObject({ code: "ERR_LIMIT_WALL" });
    const error = await (async () => {
      for (;;) await good.next();
    })().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "ERR_WORKER_LOST", retryable: true });
  });

  test("[T14] ends when its approval does, with nothing more of it read", async () => {
    const tenant = await tenantOf(["count"]);
    const stream = read(tenant, "count", { to: 1_000 });
    await stream.next();
    await tenant.untrust("flow");
    expect(await drain(stream)).toEqual({ values: [], code: "ERR_TRUST_UNKNOWN" });
  });

  test("[T39] ends when nobody reads it, and not while somebody does", async () => {
    const tenant = await tenantOf(["count"]);
    const left = read(tenant, "count", { to: 1_000 }, { idleMs: 100 });
    await left.next();
    await new Promise((resume) => setTimeout(resume, 400));
    expect(await failureOf(left.next())).toMatchObject({
      code: "ERR_LIMIT_WALL",
      details: { streamIdleMs: 100 },
    });
    const slow = read(tenant, "count", { to: 5, ms: 150 }, { idleMs: 100 });
    expect(await drain(slow)).toEqual({ values: [0, 1, 2, 3, 4] });
  });

  test("of too many at once the last is refused by name, and the others go on", async () => {
    const tenant = await tenantOf(["count", "hangs"]);
    // Of one isolate as many as it serves; of one tenant as many as it may have.
    const all = Array.from(
      { length: RUNTIME_LIMITS.callsInFlightMax + 1 },
      () => read(tenant, "count", { to: 100 }),
    );
    const firsts = await Promise.allSettled(all.map((stream) => stream.next()));
    const refused = firsts.filter((first) => first.status === "rejected");
    expect(refused).toHaveLength(1);
    expect(refused[0]!.reason).toMatchObject({ code: "ERR_LIMIT_RATE" });
    await Promise.all(all.map((stream) => stream.return()));

    const thousands = Array.from({ length: 2_000 }, () => read(tenant, "hangs"));
    const codes = await Promise.all(
      thousands.map((stream) => stream.next().then(() => "ok", ({ code }) => code as string)),
    );
    expect(codes.filter((code) => code === "ok").length).toBeLessThanOrEqual(RUNTIME_LIMITS.callsInFlightMax);
    expect(new Set(codes.filter((code) => code !== "ok"))).toEqual(new Set(["ERR_LIMIT_RATE"]));
    await Promise.all(thousands.map((stream) => stream.return()));
    expect(await drain(read(tenant, "count", { to: 1 }))).toEqual({ values: [0] });
  });
});

describe("across a reload", () => {
  // Each build has an isolate of its own, whose module begins anew.
  const tools = { tick: "let n = 0; export async function* tick({ to }) { while (n < to) yield ++n; }" };

  test("[R39] what was begun under a generation ends under it, no value lost or twice", async () => {
    const tenant = await tenantOf(tools);
    const old = read(tenant, "tick", { to: 200 });
    const values = [(await old.next()).value];
    const handle = await tenant.handle("plugin__flow__tick");
    await tenant.reload();
    expect((await drain(read(tenant, "tick", { to: 2 }))).values).toEqual([1, 2]);
    expect(await failureOf(handle.stream({ to: 1 }).next())).toMatchObject({ code: "ERR_STALE_GENERATION" });

    values.push(...(await drain(old)).values);
    expect(values).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
    expect(old.summary).toMatchObject({ chunks: 200 });
    const fresh = await tenant.handle("plugin__flow__tick");
    expect((await drain(fresh.stream({ to: 3 }))).values).toEqual([3]);
  });

  test("closing the host ends it by name", async () => {
    const closing = await hosted();
    const tenant = await approved(closing, "t", { plugins: [pluginOf("flow", { hangs: TOOLS.hangs })] });
    const stream = tenant.stream("plugin__flow__hangs", {});
    await stream.next();
    const next = failureOf(stream.next());
    await closing.close();
    expect(await next).toMatchObject({ code: "ERR_HOST_CLOSED" });
  });
});

describe("what it is held to", () => {
  test("an output schema describes each value", async () => {
    const directory = pluginOf("flow", {});
    write(directory, {
      "plugin.yaml": `name: flow
version: "1"
capabilities:
  tools:
    - name: rows
      target: "rows.ts:rows"
      input: { type: object, properties: { n: { type: integer } }, required: [n] }
      output: { type: object, properties: { n: { type: integer } }, required: [n] }
`,
      "rows.ts": `export async function* rows({ n, last }) {
        for (let i = 0; i < n; i++) yield { n: i };
        if (last !== undefined) yield last === "bytes" ? new Uint8Array(1) : last;
      }`,
    });
    const tenant = await approved(host, `s${tenants++}`, { plugins: [directory] });
    expect(await drain(read(tenant, "rows", { n: 2 }))).toEqual({ values: [{ n: 0 }, { n: 1 }] });
    expect(await drain(read(tenant, "rows", { n: 1, last: { n: "x" } }))).toEqual({
      values: [{ n: 0 }],
      code: "ERR_RESULT_INVALID",
    });
    expect(await drain(read(tenant, "rows", { n: 0, last: "bytes" }))).toMatchObject({
      code: "ERR_RESULT_INVALID",
    });
    expect(await drain(read(tenant, "rows", {}))).toEqual({
      values: [],
      code: "ERR_CAPABILITY_INPUT_INVALID",
    });
  });

  test("[T35] granted environment does not leave it, in one value or over two", async () => {
    const tools = {
      say: `export async function* say() {
        const value = Deno.env.get("TOKEN");
        yield "it is " + value.slice(0, 9);
        yield value.slice(9) + ", really";
        yield { value };
      }`,
    };
    const plugins = [pluginOf("flow", tools, { head: "permissions: { env: [TOKEN] }\n" })];
    const policy = { permissions: { env: true as const }, environment: { TOKEN: "tok-0123456789-abcdef" } };
    const tenant = await approved(host, `s${tenants++}`, { plugins, policy });
    const { values } = await drain(read(tenant, "say"));
    expect(values.slice(0, -1).join("")).toBe("it is [redacted], really");
    expect(values.at(-1)).toEqual({ value: "[redacted]" });
  });

  test("too large a value ends it by name, and says how much may be", async () => {
    const tenant = await tenantOf({
      big: "export async function* big({ size }) { yield 'x'.repeat(size); yield 'more'; }",
    });
    const { streamChunkBytesMax } = RUNTIME_LIMITS;
    expect((await drain(read(tenant, "big", { size: streamChunkBytesMax }))).values).toHaveLength(2);
    const stream = read(tenant, "big", { size: streamChunkBytesMax + 1 });
    expect(await failureOf(stream.next())).toMatchObject({
      code: "ERR_LIMIT_SIZE",
      details: { streamChunkBytesMax },
    });
  });

  test("the audit has its call, with how many values it gave", async () => {
    const audit = memoryAudit();
    const audited = await hosted({ audit: () => audit });
    const tenant = await approved(audited, "t", { plugins: [pluginOf("flow", { count: TOOLS.count })] });
    await drain(read(tenant, "count", { to: 7 }));
    const calls = audit.events.filter(({ type }) => type === "call").map(({ details }) => details);
    expect(calls).toMatchObject([{ phase: "start" }, { phase: "end", ok: true, streamed: 7 }]);
  });

  test("another plugin's call gets one value, and no stream", async () => {
    const directory = temporary();
    const caller = pluginOf("caller", {
      go: "export const go = async ({ id }, { call }) => await call(id).catch(({ code }) => code);",
    }, { under: directory, head: "permissions: { call: [plugin__flow__plain, plugin__flow__count] }\n" });
    const flow = pluginOf("flow", {}, { under: directory });
    write(flow, {
      "plugin.yaml": `name: flow
version: "1"
capabilities:
  tools:
    - { name: plain, target: "f.ts:plain", callers: any }
    - { name: count, target: "f.ts:count", callers: any }
`,
      "f.ts": "export const plain = () => 1; export const count = function* () { yield 1; };",
    });
    const policy = { permissions: { call: true as const } };
    const tenant = await approved(host, `s${tenants++}`, { plugins: [caller, flow], policy });
    const go = (name: string) => tenant.call("plugin__caller__go", { id: `plugin__flow__${name}` });
    expect([await go("plain"), await go("count")]).toEqual([1, "ERR_RESULT_INVALID"]);
  });
});

test("progress reaches whoever called, of a call and of a stream alike, and its words are redacted", async () => {
  const tools = {
    work: `const report = (progress) => { progress(1, 2, "with " + Deno.env.get("TOKEN")); progress(2, 2); };
    export const work = (_, { progress }) => { report(progress); return 1; };`,
    flows: "export async function* flows(_, { progress }) { progress(1, 1, 'one'); yield 1; }",
  };
  const plugins = [pluginOf("flow", tools, { head: "permissions: { env: [TOKEN] }\n" })];
  const policy = { permissions: { env: true as const }, environment: { TOKEN: "tok-0123456789-abcdef" } };
  const tenant = await approved(host, `s${tenants++}`, { plugins, policy });
  const told: Progress[] = [];
  const onProgress = (progress: Progress): void => void told.push(progress);
  expect(await tenant.call("plugin__flow__work", {}, { onProgress })).toBe(1);
  expect(told).toEqual([
    { done: 1, total: 2, message: "with [redacted]" },
    { done: 2, total: 2, message: null },
  ]);
  told.length = 0;
  await drain(read(tenant, "flows", {}, { onProgress }));
  expect(told).toEqual([{ done: 1, total: 1, message: "one" }]);
});

test("what lifecycle code registers streams as well", async () => {
  const directory = join(temporary(), "flow");
  write(directory, {
    "plugin.yaml": `name: flow
version: "1"
lifecycle: { activate: "main.ts:activate" }
capabilities:
  tools: [{ name: ticks }]
`,
    "main.ts": `export const activate = ({ register }) => {
      register("tools", "ticks", async function* ({ to }) { for (let i = 0; i < to; i++) yield i; });
    };`,
  });
  const tenant = await approved(host, `s${tenants++}`, { plugins: [directory] });
  expect(await drain(read(tenant, "ticks", { to: 2 }))).toEqual({ values: [0, 1] });
});

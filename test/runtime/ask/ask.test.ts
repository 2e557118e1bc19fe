/** Asking, answering and giving up: what is asked, what an answer grants, and what nobody is ever asked about. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { grantOf, type Layer, layerOf, type PermissionRequest } from "../../../permissions/mod.ts";
import { realAncestor } from "../../../src/home.ts";
import {
  type Answer,
  type Answered,
  Asks,
  Broker,
  defineOp,
  type Denial,
  ENDOWMENTS,
  memoryAudit,
  type Powers,
  type Principal,
  type Question,
} from "../../../runtime/mod.ts";
import { Bench, temporaryFolder } from "../harness.ts";

/** An operator who answers by a function, and what they were asked. */
function operator(
  answer: (question: Question, signal: AbortSignal) => Answer | Promise<Answer>,
  limits: ConstructorParameters<typeof Asks>[0]["limits"] = {},
) {
  const asked: Question[] = [];
  const answers: Answered[] = [];
  const asks = new Asks({
    real: realAncestor,
    limits,
    asker: {
      name: "ada",
      ask: async (question, signal) => {
        asked.push(question);
        return await answer(question, signal);
      },
      onAnswer: (answered) => void answers.push(answered),
    },
  });
  return { asks, asked, answers };
}

const CONTEXT = { cwd: "/srv/place" };

/** Reaches the machine itself by a name. */
const probe = defineOp<[host: string]>({
  name: "probe",
  args: z.tuple([z.string()]),
  requires: ([host]) => [{ kind: "net", value: host }],
  act: async (_args, { granted, authorizeAddress }) => authorizeAddress(granted[0]!, "127.0.0.1").address,
});

/** A broker with a principal; `use` asks one read, and tells what came of it. */
function bed(
  layers: readonly [Layer["source"], PermissionRequest][],
  asks: Asks | undefined,
  options: { readonly sealed?: readonly string[]; readonly signal?: AbortSignal } = {},
) {
  const audit = memoryAudit();
  const denials: Denial[] = [];
  const broker = new Broker({
    ops: [
      ...ENDOWMENTS.flatMap(({ ops }) => ops).map((op) =>
        op.requires === undefined ? op : { ...op, act: () => Promise.resolve("done") }
      ),
      probe,
    ],
    audit,
    powers: {} as Powers, // the ops of these tests have acts of their own
    sealed: () => options.sealed ?? [],
    asks,
  });
  const principal: Principal = {
    tenant: "t",
    plugin: "p",
    title: 'Plugin "p"',
    fingerprint: null,
    confinement: "test",
    grant: grantOf(...layers.map(([source, request]) => layerOf(source, request, CONTEXT))),
    context: CONTEXT,
    bundle: null,
    denialPrefix: "dTEST-",
  };
  const signal = options.signal ?? new AbortController().signal;
  const scope = { id: "call-1", signal, deny: (denial: Denial) => void denials.push(denial) };
  const send = async (name: string, ...args: unknown[]): Promise<unknown> => {
    const answer = await broker.dispatch({ principal, scope, op: 1, text: JSON.stringify([name, args]) });
    const { ok, value, error } = JSON.parse(answer) as {
      ok: boolean;
      value: unknown;
      error: { name: string };
    };
    return ok ? value : error.name;
  };
  return { send, audit, denials, read: (path: string) => send("read_text_file", path) };
}

const SCRIPT = [["flags", {}]] as const satisfies [Layer["source"], PermissionRequest][];

describe("what is asked", () => {
  test("a script may be asked about for anything; a yes holds for what lies below, and is asked for once", async () => {
    const { asks, asked, answers } = operator(() => "yes");
    const { read, send, audit } = bed([...SCRIPT], asks);
    expect(await read("./data")).toBe("done");
    expect(await read("/srv/place/data/a.txt")).toBe("done");
    expect(await read("/srv/place/database")).toBe("done");
    expect(await send("fetch", "https://api.example.com/v1?q=1", "GET", [], null, "follow", 1)).toBe("done");
    expect(await send("fetch", "https://api.example.com/v2", "POST", [], null, "follow", 2)).toBe("done");
    expect(asked.map(({ kind, entry, spelled }) => [kind, entry, spelled])).toEqual([
      ["read", "/srv/place/data", "./data"],
      ["read", "/srv/place/database", "/srv/place/database"],
      ["net", "api.example.com:443", "https://api.example.com/v1?q=1"],
    ]);
    expect(answers[0]).toEqual({ plugin: "p", kind: "read", entry: "/srv/place/data", answer: "yes" });
    const [first, second] = audit.events;
    expect(first).toMatchObject({
      type: "grant",
      kind: "read",
      value: "/srv/place/data",
      decision: "granted",
      rule: "answered at the prompt by ada",
      details: { answer: "yes" },
    });
    expect(second).toMatchObject({ type: "op", decision: "granted", rule: "answered at the prompt by ada" });
  });

  test("without an operator nothing is asked, and nothing changes", async () => {
    const { read, denials } = bed([...SCRIPT], undefined);
    expect(await read("./data")).toBe("NotCapable");
    expect(denials[0]?.decision.remedy).toBe("Run again with --allow-read=./data.");
  });

  test("no is no for this value in this run, and the refusal says who said it", async () => {
    const { asks, asked } = operator(({ entry }) => entry === "/srv/place/a" ? "no" : "yes");
    const { read, denials, audit } = bed([...SCRIPT], asks);
    for (let times = 0; times < 3; times++) expect(await read("./a")).toBe("NotCapable");
    expect(await read("./b")).toBe("done");
    expect(asked).toHaveLength(2);
    expect(denials.map(({ decision }) => decision.rule)).toEqual(
      Array.from({ length: 3 }, () => "answered at the prompt by ada"),
    );
    expect(denials[0]?.decision).toMatchObject({ remedy: "Run again with --allow-read=./a." });
    expect(audit.events[0]).toMatchObject({ type: "grant", decision: "denied", details: { answer: "no" } });
  });

  test("always is for the kind, and no other", async () => {
    const { asks, asked } = operator(({ kind }) => kind === "read" ? "always" : "no");
    const { read, send } = bed([...SCRIPT], asks);
    expect([await read("./a"), await read("/etc/hosts")]).toEqual(["done", "done"]);
    expect(await send("write_text_file", "./a", "", false, true, false)).toBe("NotCapable");
    expect(asked).toHaveLength(2);
  });

  test("[T17] of a plugin only what flags or record cut is asked for, never more than its manifest or the policy", async () => {
    const { asks, asked } = operator(() => "always");
    const { read, send } = bed([
      ["manifest", { read: ["/srv/in"], env: ["A"] }],
      ["record", { read: ["/srv/in/agreed"], env: ["A"] }],
      ["policy", { read: ["/srv/in/agreed", "/srv/in/more"], env: ["A"] }],
    ], asks);
    expect(await read("/srv/in/more/a")).toBe("done");
    expect(asked).toHaveLength(1);
    for (const path of ["/srv/in/other", "/srv/other"]) expect(await read(path)).toBe("NotCapable");
    expect(await send("write_text_file", "/srv/in/more/a", "", false, true, false)).toBe("NotCapable");
    expect(asked).toHaveLength(1);
  });

  test("a deny, sealed state, special files, and what is malformed or settled are never asked about", async () => {
    const { asks, asked } = operator(() => "always");
    const { read, send } = bed(
      [["flags", { read: { deny: ["/srv/place/denied"] } }]],
      asks,
      { sealed: ["/srv/state"] },
    );
    for (
      const path of [
        "/srv/place/denied/x",
        "/srv/state/key",
        "/srv/.sallyport/x",
        "/proc/self/environ",
        "/dev/tty",
        "a\0b",
      ]
    ) expect(await read(path), path).toBe("NotCapable");
    expect(await send("permission_request", "env", "A*")).toEqual(["denied", {}]);
    for (const kind of ["ffi", "import", "wasm", "dynamicCode"]) {
      expect(await send("permission_request", kind, null)).toEqual(["denied", null]);
    }
    expect(await send("env_get", "HOME")).toBe("NotCapable");
    expect(asked).toEqual([]);
    // The same broker asks about what may be asked.
    expect(await read("/srv/place/a")).toBe("done");
    // And whatever was then answered, a deny and the state stay.
    for (const path of ["/srv/place/denied/x", "/srv/state/key", "/proc/self/environ"]) {
      expect(await read(path), path).toBe("NotCapable");
    }
    expect(asked).toHaveLength(1);
  });

  test("a link is followed before the question, which names both places; a yes grants those and no later one", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "real"));
    writeFileSync(join(folder.path, "real/a"), "");
    symlinkSync("real", join(folder.path, "link"));
    const { asks, asked } = operator(() => "yes");
    const { read } = bed([...SCRIPT], asks);
    expect(await read(join(folder.path, "link/a"))).toBe("done");
    expect(asked[0]).toMatchObject({
      entry: join(folder.path, "link/a"),
      leadsTo: join(folder.path, "real/a"),
    });
    expect(await read(join(folder.path, "real/a"))).toBe("done");
    expect(asked).toHaveLength(1);
    const sealed = bed([...SCRIPT], asks, { sealed: [join(folder.path, "real")] });
    expect(await sealed.read(join(folder.path, "link/a"))).toBe("NotCapable");
    expect(asked).toHaveLength(1);
  });

  test("more than 10 KiB is not asked about, nor more questions than there may be", async () => {
    const { asks, asked } = operator(() => "yes", { questionsMax: 2 });
    const long = bed([...SCRIPT], asks);
    expect(await long.read(`/${"ä".repeat(4_000)}`)).toBe("done");
    expect(await long.read(`/${"\u{10ffff}".repeat(2_040)}ääää`)).toBe("done");
    const { asks: more, asked: askedMore } = operator(() => "yes", { questionBytesMax: 8_000 });
    const longer = bed([...SCRIPT], more);
    expect(await longer.read(`/${"ä".repeat(4_000)}`)).toBe("NotCapable");
    expect(longer.denials[0]?.decision.rule).toBe(
      "not asked about: it is longer than 8000 bytes (questionBytesMax)",
    );
    expect(askedMore).toEqual([]);
    expect(await long.read("/third")).toBe("NotCapable");
    expect(long.denials[0]?.decision.rule).toBe("not asked about: it asked 2 times before (questionsMax)");
    expect(asked).toHaveLength(2);
  });

  test("questions are asked one at a time for all principals, and an answer meanwhile decides those that wait", async () => {
    let open = 0;
    let most = 0;
    const { asks, asked } = operator(async (): Promise<Answer> => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve, 5));
      open--;
      return "yes";
    });
    const [first, second] = [bed([...SCRIPT], asks), bed([...SCRIPT], asks)];
    const all = [first.read("/a"), first.read("/a"), first.read("/a/b"), first.read("/c"), second.read("/a")];
    expect(await Promise.all(all)).toEqual(["done", "done", "done", "done", "done"]);
    expect(most).toBe(1);
    expect(asked.map(({ entry }) => entry)).toEqual(["/a", "/c", "/a"]);
  });

  test("nobody answers in time, fails, or the call ends: no", async () => {
    const never = operator(() => new Promise<Answer>(() => {}), { askMs: 20 });
    const silent = bed([...SCRIPT], never.asks);
    expect([await silent.read("/a"), await silent.read("/a")]).toEqual(["NotCapable", "NotCapable"]);
    expect(never.asked).toHaveLength(1);
    const rules = silent.denials.map(({ decision }) => decision.rule);
    expect(rules).toEqual(["not answered at the prompt", "not answered at the prompt"]);
    const broken = operator(() => Promise.reject(new Error("no terminal")));
    expect(await bed([...SCRIPT], broken.asks).read("/a")).toBe("NotCapable");
    const controller = new AbortController();
    const ended = operator(() => {
      controller.abort();
      return new Promise<Answer>(() => {});
    });
    expect(await bed([...SCRIPT], ended.asks, { signal: controller.signal }).read("/a")).toBe("NotCapable");
    const odd = operator(() => "YES" as Answer);
    expect(await bed([...SCRIPT], odd.asks).read("/a")).toBe("NotCapable");
  });

  test("where a name leads is not asked about: a yes to it reaches nothing private, and always is as --allow-net", async () => {
    for (const [answer, outcome] of [["yes", "NotCapable"], ["always", "127.0.0.1"]] as const) {
      const { asks, asked } = operator(() => answer);
      const { send } = bed([...SCRIPT], asks);
      expect(await send("probe", "inside.example.com:80")).toBe(outcome);
      expect(asked).toHaveLength(1);
    }
    const { asks } = operator(() => "yes");
    expect(await bed([...SCRIPT], asks).send("probe", "127.0.0.1:80")).toBe("127.0.0.1");
  });
});

describe("Deno.permissions in a guest", () => {
  let bench: Bench;
  const asking = operator(({ entry }) => entry === null || /no/.test(entry) ? "no" : "yes");
  beforeAll(() => {
    bench = new Bench({ asks: asking.asks });
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  const run = async (body: string, options: Parameters<Bench["once"]>[1] = {}): Promise<unknown> => {
    const handler = `async () => {
      const state = async (does, descriptor) => (await Deno.permissions[does](descriptor)).state;
      const name = async (work) => { try { return await work(); } catch (error) { return error.name; } };
      ${body}
    }`;
    const { value, error } = await bench.once(handler, { source: "flags", ...options });
    if (error !== undefined) throw error;
    return value;
  };

  test("query says prompt where asking could grant; request asks; what was refused is denied from then on", async () => {
    const value = await run(
      `
      const read = { name: "read", path: "/srv/yes" }, other = { name: "read", path: "/srv/no" };
      return [await state("query", read), await state("request", read), await state("query", read),
        await state("query", other), await state("request", other), await state("query", other),
        await state("query", { name: "read", path: "/srv/denied" }), await state("query", { name: "ffi" }),
        await name(() => Deno.permissions.query({ name: "nonsense" }))];`,
      {
        permissions: { read: { allow: [], deny: ["/srv/denied"] } },
      },
    );
    expect(value).toEqual([
      "prompt",
      "granted",
      "granted",
      "prompt",
      "denied",
      "denied",
      "denied",
      "denied",
      "TypeError",
    ]);
  });

  test("a requested variable is handed over and can be read; one that is unset reads as unset", async () => {
    const value = await run(
      `
      const before = await name(() => Deno.env.get("A_KEY"));
      const states = [await state("request", { name: "env", variable: "A_KEY" }),
        await state("request", { name: "env", variable: "UNSET" })];
      return [before, ...states, Deno.env.get("A_KEY"), Deno.env.get("UNSET") ?? null,
        await name(() => Deno.env.get("OTHER")), Deno.env.toObject()];`,
      { environment: { A_KEY: "value", OTHER: "other" } },
    );
    expect(value).toEqual(["NotCapable", "granted", "granted", "value", null, "NotCapable", {
      A_KEY: "value",
    }]);
    expect(bench.events.filter(({ op }) => op === "env_push").map(({ value: pushed }) => pushed)).toEqual([
      "A_KEY",
    ]);
  });

  test("a requested fact can be read as well", async () => {
    const value = await run(`
      return [await name(() => Deno.hostname()), await state("request", { name: "sys", kind: "hostname" }),
        typeof Deno.hostname(), await name(() => Deno.osRelease())];`);
    expect(value).toEqual(["NotCapable", "granted", "string", "NotCapable"]);
  });

  test("revoke takes for the rest of the isolate's life, and neither request nor anything else gives back", async () => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "a"), "a");
    writeFileSync(join(folder.path, "b"), "b");
    const value = await run(
      `
      const a = { name: "read", path: "${folder.path}/a" };
      const first = await Deno.readTextFile(a.path);
      const revoked = await state("revoke", a);
      const after = await name(() => Deno.readTextFile(a.path));
      const states = [await state("query", a), await state("request", a)];
      const b = await Deno.readTextFile("${folder.path}/b");
      await Deno.permissions.revoke({ name: "read" });
      await Deno.permissions.revoke({ name: "env", variable: "A" });
      return [first, revoked, after, ...states, b, await name(() => Deno.readTextFile("${folder.path}/b")),
        await name(() => Deno.env.get("A")), Deno.env.get("B"), Deno.env.toObject(),
        await state("query", { name: "read", path: "/srv/never-granted" })];`,
      {
        permissions: { read: true, env: ["A", "B"] },
        environment: { A: "1", B: "2" },
        config: { env: { A: "1", B: "2" }, envAllow: ["A", "B"] },
      },
    );
    expect(value).toEqual([
      "a",
      "denied",
      "NotCapable",
      "denied",
      "denied",
      "b",
      "NotCapable",
      "NotCapable",
      "2",
      { B: "2" },
      "denied",
    ]);
  });

  test("what is revoked is one isolate's own affair, and bounded", async () => {
    const value = await run(
      `
      for (let i = 0; i < 1000; i++) await Deno.permissions.revoke({ name: "sys", kind: "hostname" });
      return await name(() => Deno.permissions.revoke({ name: "sys", kind: "uid" }));`,
      { permissions: { sys: ["hostname"] } },
    );
    expect(value).toBe("LimitError");
    const part = await run(
      `return await name(() => Deno.permissions.revoke({ name: "storage", kind: "5" }));`,
    );
    expect(part).toBe("TypeError");
    const other = await run(`return await state("query", { name: "sys", kind: "hostname" });`, {
      permissions: { sys: ["hostname"] },
    });
    expect(other).toBe("granted");
  });

  test("the deadline stands still while a person is asked, and goes on from where it stood", async () => {
    const slow = operator(async (): Promise<Answer> => {
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      return "yes";
    });
    await using own = new Bench({ asks: slow.asks });
    const guest = await own.start(
      `async (spin) => { const { state } = await Deno.permissions.request({ name: "read", path: "/a" });
        if (spin) for (;;); return state; }`,
      { source: "flags" },
    );
    expect(await guest.call(false, 1_000)).toMatchObject({ value: "granted" });
    const spinning = await guest.call(true, 1_000);
    expect(spinning.code).toBe("ERR_LIMIT_WALL");
  });
});

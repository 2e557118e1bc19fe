/** The one place that ops pass, asked directly: what is decided, in which order it is written down, and what is told. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type ErrorCode,
  ERRORS,
  grantOf,
  HostError,
  layerOf,
  type PermissionRequest,
  SallyportError,
} from "../../permissions/mod.ts";
import {
  type AuditEvent,
  Broker,
  CheckedPath,
  defineOp,
  type Denial,
  ENDOWMENTS,
  failureToError,
  memoryAudit,
  type OpDefinition,
  PowerError,
  type Powers,
  RUNTIME_LIMITS,
  toGuest,
} from "../../runtime/mod.ts";

const ROOT = join(import.meta.dirname, "../..");
const allOps = ENDOWMENTS.flatMap(({ ops }) => ops);
const CONTEXT = { cwd: "/srv/secret-place/plugin" };

interface Bed {
  readonly steps: string[];
  readonly denials: Denial[];
  readonly answer: (text: string, op?: number) => Promise<Record<string, unknown>>;
}

/** A broker over the ops; every audited decision and every act is one step. */
function bed(ops: readonly OpDefinition[], permissions: PermissionRequest, options: {
  readonly write?: (event: AuditEvent) => void;
  readonly sealed?: readonly string[];
  readonly signal?: AbortSignal;
} = {}): Bed {
  const steps: string[] = [];
  const denials: Denial[] = [];
  const write = options.write ?? ((event) => {
    steps.push(`audit ${event.kind} ${event.value} ${event.decision}`);
  });
  const broker = new Broker({
    ops: ops.map((op) => ({
      ...op,
      act: (args, tools) => (steps.push(`act ${op.name}`), op.act(args, tools)),
    })),
    audit: { write, close: () => {} },
    powers: {} as Powers, // the ops of these tests bring their own acts
    sealed: () => options.sealed ?? [],
  });
  const principal = {
    tenant: "t",
    plugin: "p",
    title: 'Plugin "p"',
    fingerprint: "sha256:0",
    confinement: "strong",
    grant: grantOf(layerOf("manifest", permissions, CONTEXT)),
    context: CONTEXT,
    bundle: null,
    denialPrefix: "dTEST-",
  };
  const scope = {
    id: "call-1",
    signal: options.signal ?? new AbortController().signal,
    deny: (denial: Denial) => void denials.push(denial),
  };
  return {
    steps,
    denials,
    answer: async (text, op = 1) =>
      JSON.parse(await broker.dispatch({ principal, scope, op, text })) as Record<string, unknown>,
  };
}

const args = z.tuple([z.string()]);
const move = defineOp<[string]>({
  name: "move",
  args,
  requires: (
    [name],
  ) => [{ kind: "read", value: "/a" }, { kind: "env", value: name }, { kind: "write", value: "/b" }],
  act: () => Promise.resolve("moved"),
});

describe("what an op needs", () => {
  test("[T25] an op that says neither what it requires nor why it is free cannot be defined, nor one that says both", () => {
    const act = () => Promise.resolve(null);
    expect(() => defineOp({ name: "x", args, act })).toThrow(/either what it requires or why it is free/);
    expect(() =>
      defineOp({ name: "x", args, act, free: "why", requires: () => [{ kind: "env", value: "A" }] })
    )
      .toThrow(TypeError);
    expect(defineOp({ name: "x", args, act, free: "it tells nothing" }).name).toBe("x");
    expect(() => bed([move, move], {})).toThrow(/two ops have one name/);
  });

  test("[T32] a request that is larger or deeper than the platform lets through is not read", async () => {
    const { steps, answer } = bed([move], { read: true, env: true, write: true });
    const deep = (depth: number) => `["move",${"[".repeat(depth)}${"]".repeat(depth)}]`;
    const long = (bytes: number) => `["move",["A"]${" ".repeat(bytes - 14)}]`;
    const { opBytesMax, opDepthMax } = RUNTIME_LIMITS;
    const tooDeep = { error: { message: "The request is nested too deeply" } };
    expect(await answer(deep(opDepthMax))).toMatchObject(tooDeep);
    expect(await answer(deep(3_000_000))).toMatchObject(tooDeep);
    expect(await answer(deep(opDepthMax - 1))).not.toMatchObject(tooDeep);
    const many = (count: number) => `["move",[${"1,".repeat(count - 3)}1]]`;
    const { opNodesMax } = RUNTIME_LIMITS;
    expect(await answer(many(opNodesMax + 10))).toMatchObject({ error: { code: "ERR_LIMIT_SIZE" } });
    expect(await answer(many(opNodesMax - 10))).toMatchObject({ error: { code: "ERR_OP_INVALID" } });
    expect(await answer(long(opBytesMax + 1))).toMatchObject({ error: { code: "ERR_LIMIT_SIZE" } });
    expect(steps).toEqual([]);
    expect(await answer(long(opBytesMax))).toMatchObject({ ok: true });
  });

  test("[T25] the ops that need nothing are these", () => {
    const free = allOps.filter((op) => op.free !== undefined).map(({ name, free }) => `${name}: ${free}`);
    expect(free).toMatchInlineSnapshot(`
      [
        "fetch_abort: it only ends what the same guest has begun",
        "dlopen: it does nothing but tell of a refusal",
        "permission_query: it has no effect, and tells a guest about its own grant only what trying would tell",
        "permission_request: it asks the operator, who decides; each answer is logged",
        "permission_revoke: it only takes from the guest that asks for it",
        "stream_push: it is the call's own result",
        "stream_left: it tells when nobody wants the call's own result any more",
        "body_read: it is the call's own input",
        "progress: it is told to whoever made the call, and to nobody else",
      ]
    `);
  });

  test("[T25] all that it requires is decided and written down, in order, before it acts", async () => {
    const { steps, answer } = bed([move], { read: true, env: ["A"], write: true });
    expect(await answer('["move",["A"]]')).toEqual({ ok: true, value: "moved" });
    expect(steps).toEqual([
      "audit read /a granted",
      "audit env A granted",
      "audit write /b granted",
      "act move",
    ]);
  });

  test("[T25] one requirement that is refused is written down, and nothing is done", async () => {
    const { steps, answer, denials } = bed([move], { read: true, env: ["A"], write: true });
    expect(await answer('["move",["B"]]', 7)).toMatchObject({
      ok: false,
      error: { code: "ERR_NOT_CAPABLE" },
    });
    expect(steps).toEqual(["audit read /a granted", "audit env B denied"]);
    expect(denials).toMatchObject([{ id: "dTEST-7", decision: { kind: "env", value: "B" } }]);
  });

  test("[T25] what is known only while acting is decided through the broker, and that gives the only proof", async () => {
    const late = defineOp<[string]>({
      name: "late",
      args,
      free: "it asks while it acts",
      act: ([path], tools) => Promise.resolve(tools.authorize("read", path).path),
    });
    const { steps, answer } = bed([late], { read: ["/srv/open"] });
    expect(await answer('["late",["/srv/open/../open/x"]]')).toEqual({ ok: true, value: "/srv/open/x" });
    expect(await answer('["late",["/srv/closed"]]')).toMatchObject({
      ok: false,
      error: { name: "NotCapable" },
    });
    expect(await answer('["late",["open/relative"]]')).toMatchObject({
      ok: false,
      error: { name: "NotCapable" },
    });
    expect(steps).toEqual([
      "act late",
      "audit read /srv/open/x granted",
      "act late",
      "audit read /srv/closed denied",
      "act late",
      "audit read open/relative denied",
    ]);
  });

  test("[T25] only the broker makes proofs", () => {
    const files = ["runtime", "src", "permissions"].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".ts"))
        .map((name) => join(folder, name))
    );
    const makers = files.filter((file) => /\.fromDecision\(/.test(readFileSync(join(ROOT, file), "utf8")));
    expect(makers).toEqual(["runtime/broker.ts"]);
    expect(() => new (CheckedPath as unknown as new () => CheckedPath)()).not.toThrow(); // why the types matter
    expect(() => CheckedPath.fromDecision({ state: "denied", value: "/x", kind: "read" } as never)).toThrow(
      TypeError,
    );
    expect(() => CheckedPath.fromDecision({ state: "granted", value: null, kind: "read" } as never)).toThrow(
      TypeError,
    );
  });
});

describe("what a broker answers", () => {
  test("malformed requests are errors by name, not failures", async () => {
    const { answer, steps } = bed(allOps, { read: true });
    for (
      const text of [
        "",
        "{",
        "null",
        "1",
        '"stat"',
        "[]",
        '["nothing",[]]',
        '["constructor",[]]',
        '[["stat"],["/x"]]',
        '["stat"]',
        '["stat",[]]',
        '["stat",[1]]',
        '["stat",["/x","/y"]]',
        '["stat",[""]]',
        '["stat",{"0":"/x"}]',
        `["stat",["${"x".repeat(5_000)}"]]`,
        `${"[".repeat(100_000)}`,
        '["__proto__",[]]',
      ]
    ) {
      expect(await answer(text), text.slice(0, 40)).toMatchObject({
        ok: false,
        error: { name: "TypeError" },
      });
    }
    expect(steps).toEqual([]);
  });

  test("[T25] an audit that cannot be written stops the op, and the guest learns nothing of it", async () => {
    const { answer, steps } = bed([move], { read: true, env: true, write: true }, {
      write: () => {
        throw new Error("ENOSPC: no space left on device, write /var/lib/sallyport/audit.jsonl");
      },
    });
    expect(await answer('["move",["A"]]')).toEqual({
      ok: false,
      error: { name: "Error", code: "ERR_AUDIT_FAILED", message: "The host could not do this" },
    });
    expect(steps).toEqual([]);
  });

  test("an op of a call that has ended is not done, and one of a call under way is", async () => {
    const ended = bed([move], { read: true, env: true, write: true }, { signal: AbortSignal.abort() });
    expect(await ended.answer('["move",["A"]]')).toMatchObject({ error: { code: "ERR_CALL_ENDED" } });
    expect(ended.steps).not.toContain("act move");
  });

  test("[T18] whatever an act throws becomes an answer that tells nothing of the host", async () => {
    const thrown: readonly unknown[] = [
      new Error("ENOENT: open '/srv/secret-place/x'"),
      Object.assign(new Error("no"), { code: "/srv/secret-place", denial: undefined }),
      null,
      undefined,
      "a text about /srv/secret-place",
      { toString: () => "/srv/secret-place" },
      10n,
    ];
    for (const value of thrown) {
      const fails = defineOp<[]>({
        name: "fails",
        args: z.tuple([]),
        free: "x",
        act: () => Promise.reject(value),
      });
      const text = JSON.stringify(await bed([fails], {}).answer('["fails",[]]'));
      expect(text).toContain("The host could not do this");
      expect(text).not.toContain("secret-place");
    }
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    for (const value of [10n, cyclic, () => 1, undefined]) {
      const odd = defineOp<[]>({
        name: "odd",
        args: z.tuple([]),
        free: "x",
        act: () => Promise.resolve(value),
      });
      expect(await bed([odd], {}).answer('["odd",[]]')).toHaveProperty("ok");
    }
  });
});

describe("what a guest is told", () => {
  test("[T18] of every error that there is: no path of the host, no policy, no stack", () => {
    const poison =
      "/srv/secret-place manifest permissions.read.deny[0] --allow-read at Broker (file:///x.ts:1:1)";
    for (const code of Object.keys(ERRORS) as ErrorCode[]) {
      const error = new SallyportError(code, poison, {
        details: { rule: poison, path: poison },
        cause: new Error(poison),
      });
      expect(toGuest(error)).toEqual({ name: "Error", code, message: "The host could not do this" });
    }
    expect(toGuest(new HostError("ERR_STORE", poison)).message).not.toContain("secret-place");
    expect(toGuest(new PowerError("NotFound", "ENOENT", "No such file or directory"))).toEqual({
      name: "NotFound",
      code: "ENOENT",
      message: "No such file or directory",
    });
  });

  test("[T18] of a refusal: the kind, and the value as the guest wrote it; the caller is told the rest", async () => {
    const { answer, denials } = bed(allOps, { read: { allow: ["./data"], deny: ["./data/secret"] } });
    const { error } = await answer('["stat",["./data/../data/secret/key"]]', 3);
    expect(error).toEqual({
      name: "NotCapable",
      code: "ERR_NOT_CAPABLE",
      message: 'Requires read access to "./data/../data/secret/key"',
      kind: "read",
      value: "./data/../data/secret/key",
      denial: "dTEST-3",
    });
    expect(JSON.stringify(error)).not.toMatch(/secret-place|deny\[|manifest|plugin\.yaml/);
    const failure = { name: "NotCapable", message: "", stack: "", isInvalid: false, denial: "dTEST-3" };
    const told = failureToError(failure, denials, { title: 'Plugin "p"', plugin: "p", stack: "" });
    expect(told).toMatchObject({
      code: "ERR_NOT_CAPABLE",
      details: { rule: expect.stringContaining("deny[0]") },
    });
    expect(told.details).toMatchObject({ value: "/srv/secret-place/plugin/data/secret/key" });
  });

  test("[T12] a long value is cut in the audit, and the rest is told by its hash", async () => {
    const audit = memoryAudit();
    const { answer } = bed(allOps, { read: true }, { write: (event) => audit.write(event) });
    await answer(`["stat",["/dev/${"x".repeat(3_000)}"]]`);
    expect(audit.events[0]?.value).toMatch(/^\/dev\/x+… sha256:[0-9a-f]{64}$/);
    expect(audit.events[0]!.value!.length).toBeLessThan(1_200);
  });
});

describe("Sallyport's own state", () => {
  const sealed = ["/srv/state", "/srv/plugins/other"];
  const reads = (path: string) =>
    bed(
      [defineOp<[string]>({
        name: "late",
        args,
        free: "x",
        act: ([value], tools) => Promise.resolve(tools.authorize("read", value).path),
      })],
      { read: true },
      { sealed },
    ).answer(JSON.stringify(["late", [path]]));

  test("[T03] no grant reaches it, below, at or around a detour; what lies beside it is reached", async () => {
    for (
      const path of ["/srv/state", "/srv/state/key", "/srv/x/../state/key", "/srv/plugins/other/plugin.yaml"]
    ) {
      expect(await reads(path), path).toMatchObject({ ok: false, error: { code: "ERR_NOT_CAPABLE" } });
    }
    for (const path of ["/srv/state2", "/srv/stat", "/srv/plugins", "/srv/plugins/otherwise"]) {
      expect(await reads(path), path).toEqual({ ok: true, value: path });
    }
  });
});

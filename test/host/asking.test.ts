/** Asking, explaining and discovering as an embedder does them: no terminal, the same rules. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Answered, memoryAudit, type Question } from "../../src/mod.ts";
import { readUses } from "../../src/audit/uses.ts";
import { approved, failureOf, hosted, pluginOf, temporary } from "./support.ts";

const READER = `export const go = async ({ paths = [], env = [] }) => [
  ...await Promise.all(paths.map((path) => Deno.readTextFile(path).catch(({ name }) => name))),
  ...env.map((name) => Deno.env.get(name))];`;

function reader(head: string): { readonly directory: string; readonly outside: string } {
  const outside = temporary();
  writeFileSync(join(outside, "a"), "A");
  writeFileSync(join(outside, "b"), "B");
  return {
    directory: pluginOf("reader", { go: READER }, {
      head: head.replaceAll("OUT", outside),
      files: { "data/x": "X" },
    }),
    outside,
  };
}

test("an embedder's asker is asked about what was cut, its answer holds for the isolate, and a record is never widened by it", async () => {
  const asked: Question[] = [];
  const answers: Answered[] = [];
  const { directory, outside } = reader("permissions: { read: [OUT] }\n");
  const host = await hosted({
    asker: {
      name: "grace",
      ask: async (question) => (asked.push(question), "yes"),
      onAnswer: (answer) => void answers.push(answer),
    },
  });
  const tenant = host.tenant("asking", {
    plugins: [directory],
    policy: { permissions: { read: [outside] } },
  });
  const { hash } = await tenant.fingerprint("reader");
  const grants = { read: [join(outside, "a")] };
  await tenant.trust("reader", { fingerprint: hash, approver: "test", grants, expose: ["go"] });
  const paths = [join(outside, "a"), join(outside, "b"), join(outside, "b"), "/etc/hostname"];
  expect(await tenant.call("go", { paths })).toEqual(["A", "B", "B", "NotCapable"]);
  expect(asked.map(({ title, entry, isUnlimited }) => [title, entry, isUnlimited])).toEqual([
    ['Plugin "reader"', join(outside, "b"), false],
  ]);
  const error = await failureOf(tenant.saveAnswers("reader", answers, "grace"));
  expect(error.code).toBe("ERR_TRUST_UNKNOWN");
});

test("explain tells of an untrusted plugin what would be granted after trust, of a trusted one what is, and of state nothing", async () => {
  const audit = memoryAudit();
  const home = join(temporary(), "home");
  const host = await hosted({ home, audit: () => audit });
  const { directory, outside } = reader("permissions: { read: [OUT, ./data] }\n");
  const tenant = host.tenant("explaining", { plugins: [directory], policy: { permissions: { read: true } } });
  const inside = { kind: "read", value: join(outside, "a") };
  expect(await tenant.explain("reader", inside)).toMatchObject({
    isAfterTrust: true,
    decision: { state: "granted" },
  });
  const { hash } = await tenant.fingerprint("reader");
  await tenant.trust("reader", { fingerprint: hash, approver: "test", grants: { read: ["./data"] } });
  const before = audit.events.length;
  expect(await tenant.explain("reader", inside)).toMatchObject({
    isAfterTrust: false,
    decision: { state: "denied", layer: "record", rule: "no entry of record permissions.read covers it" },
  });
  expect(await tenant.explain("reader", { kind: "read", value: "./data/x" })).toMatchObject({
    decision: { state: "granted" },
  });
  const script = host.script("script", join(directory, "tools/go.ts"), {
    permissions: { read: true },
    cwd: outside,
    environment: {},
    limits: {},
  });
  expect(script.explain({ kind: "read", value: "./a" }).state).toBe("granted");
  expect(script.explain({ kind: "read", value: join(home, "settings.yaml") })).toMatchObject({
    state: "denied",
    rule: expect.stringContaining("built-in deny"),
  });
  expect(audit.events).toHaveLength(before);
});

test("[T37] discover records every use, names the smallest request, and has no ceiling for run, secrets, state or the policy's", async () => {
  const audit = memoryAudit();
  const home = join(temporary(), "home");
  const host = await hosted({ home, audit: () => audit });
  const { directory, outside } = reader("permissions: { read: [./tools], env: [A, B] }\n");
  mkdirSync(join(outside, "below"));
  const tenant = await approved(host, "discovering", {
    plugins: [directory],
    policy: {
      permissions: { read: [directory, outside], env: true },
      environment: { A: "1", B: "2", C: "3" },
    },
  });
  const input = { paths: [join(outside, "a"), join(outside, "b"), "/etc/hostname"], env: ["B", "C"] };
  const ceiling = { permissions: { read: true, env: ["C"] } as const, cwd: "/" };
  const found = await tenant.discover("go", input, ceiling);
  expect(found.outcome).toEqual({ value: ["A", "B", "NotCapable", "2", "3"] });
  expect(found.request).toEqual({ read: [join(outside, "a"), join(outside, "b")], env: ["B", "C"] });
  expect(found.unrequested).toEqual([
    { kind: "read", entry: join(outside, "a") },
    { kind: "read", entry: join(outside, "b") },
    { kind: "env", entry: "C" },
  ]);
  expect(found.unused).toEqual([{ kind: "read", entry: "./tools" }, { kind: "env", entry: "A" }]);
  expect(found.refused).toMatchObject([{ value: "/etc/hostname", layer: "policy" }]);
  expect(audit.events.find(({ details }) => details?.ceiling !== undefined)).toMatchObject({ type: "grant" });
  // What was discovered once holds for nothing else.
  expect(await tenant.call("go", { paths: [join(outside, "a")] })).toEqual(["NotCapable"]);
  for (
    const permissions of [{ run: true }, { secrets: true }, { read: [home] }, { read: [join(home, "x")] }, {
      import: true,
    }] as const
  ) {
    const error = await failureOf(tenant.discover("go", input, { permissions, cwd: "/" }));
    expect(error.code, JSON.stringify(permissions)).toBe("ERR_USAGE");
  }
});

test("what was used is read from the newest segments, of these bytes alone, and a broken line tells nothing", () => {
  const directory = temporary();
  mkdirSync(join(directory, "t"));
  const event = (facts: object) =>
    JSON.stringify({
      type: "op",
      plugin: "p",
      fingerprint: "sha256:1",
      decision: "granted",
      kind: "read",
      value: "/a",
      time: "2026-01-01T00:00:00.000Z",
      ...facts,
    });
  const lines = [
    event({}),
    event({ time: "2026-01-03T00:00:00.000Z" }),
    event({ value: "/denied", decision: "denied" }),
    event({ value: "/other", plugin: "other" }),
    event({ value: "/old", fingerprint: "sha256:0" }),
    event({ type: "grant", op: "env_push", kind: "env", value: "A" }),
    event({ type: "grant", op: "read_text_file", value: "/answered" }),
    '{"decision":"granted", half a line',
  ];
  writeFileSync(join(directory, "t/2026-01-02.jsonl"), lines.join("\n"));
  writeFileSync(join(directory, "t/2026-01-01.jsonl"), event({ kind: "storage", value: null }));
  const of = (fingerprint: string | null) => readUses(directory, { tenant: "t", plugin: "p", fingerprint });
  expect(of("sha256:1")).toEqual([
    { kind: "env", value: "A", count: 1, last: "2026-01-01T00:00:00.000Z" },
    { kind: "read", value: "/a", count: 2, last: "2026-01-03T00:00:00.000Z" },
    { kind: "storage", value: null, count: 1, last: "2026-01-01T00:00:00.000Z" },
  ]);
  expect(of(null)).toHaveLength(4);
  expect(readUses(directory, { tenant: "nobody", plugin: "p", fingerprint: null })).toEqual([]);
});

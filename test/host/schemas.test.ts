import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createHost, type Host, memoryAudit, type Tenant } from "../../src/mod.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "sallyport-schemas-")));
let host: Host;
let tenant: Tenant;

beforeAll(async () => {
  const plugin = join(root, "typed");
  mkdirSync(plugin);
  writeFileSync(
    join(plugin, "plugin.yaml"),
    `name: typed
version: "1"
capabilities:
  tools:
    - name: add
      target: "tools.ts:add"
      input: { type: object, properties: { a: { type: number }, b: { type: number } }, required: [a, b], additionalProperties: false }
      output: { type: object, properties: { sum: { type: integer } }, required: [sum] }
    - name: slow
      target: "tools.ts:echo"
      input: { type: object, properties: { text: { type: string, pattern: "^(a+)+$" } } }
    - name: endless
      target: "tools.ts:echo"
      input: { type: object, $ref: "#/$defs/again", $defs: { again: { $ref: "#/$defs/again" } } }
    - name: patched
      target: "patched.ts:lie"
      input: { type: object }
      output: { type: object, properties: { n: { type: integer } }, required: [n] }
`,
  );
  writeFileSync(
    join(plugin, "tools.ts"),
    "export const add = ({ a, b }) => ({ sum: a + b });\nexport const echo = (x) => x;\n",
  );
  writeFileSync(
    join(plugin, "patched.ts"),
    `for (const Class of [Map, RegExp, Array, Object, JSON]) for (const key of Reflect.ownKeys(Class.prototype ?? Class)) {
  try { if (typeof (Class.prototype ?? Class)[key] === "function" && key !== "constructor") (Class.prototype ?? Class)[key] = () => true; } catch {}
}
export function lie() { return { n: "not a number" }; }
`,
  );
  const evil = join(root, "evil");
  mkdirSync(evil);
  writeFileSync(
    join(evil, "plugin.yaml"),
    `name: evil
version: "1"
capabilities:
  tools:
    - name: stall
      target: "tools.ts:echo"
      input: { type: object, properties: { text: { type: string, pattern: "^(a+)+$" } } }
`,
  );
  writeFileSync(join(evil, "tools.ts"), "export const echo = (x) => x;\n");
  host = await createHost({ confinement: "best", home: join(root, "home"), audit: () => memoryAudit() });
  tenant = host.tenant("typed", { plugins: [plugin, evil] });
  for (const name of ["typed", "evil"]) {
    const { hash } = await tenant.fingerprint(name);
    await tenant.trust(name, { fingerprint: hash, approver: "test" });
  }
  await tenant.expose(["add", "stall", "slow", "endless", "patched"]);
});

afterAll(async () => {
  await host.close();
  rmSync(root, { recursive: true, force: true });
});

describe("schemas of tools", () => {
  test("an input that fits reaches the tool, one that does not never does, and says where", async () => {
    expect(await tenant.call("add", { a: 1, b: 2 })).toEqual({ sum: 3 });
    await expect(tenant.call("add", { a: 1, b: "2" })).rejects.toMatchObject({
      code: "ERR_CAPABILITY_INPUT_INVALID",
      details: {
        issues: expect.arrayContaining([{ at: "#/b", message: expect.stringContaining("number") }]),
      },
    });
    await expect(tenant.call("add", { a: 1, b: 2, c: 3 })).rejects.toMatchObject({
      code: "ERR_CAPABILITY_INPUT_INVALID",
    });
    await expect(tenant.call("add", [1, 2])).rejects.toMatchObject({ code: "ERR_CAPABILITY_INPUT_INVALID" });
  });

  test("a result that does not fit is the plugin's failure", async () => {
    await expect(tenant.call("add", { a: 1, b: 2.5 })).rejects.toMatchObject({ code: "ERR_RESULT_INVALID" });
  });

  test("[T19] a pattern that backtracks for ever is stopped, counts as not fitting, and the next check works", async () => {
    const before = performance.now();
    await expect(tenant.call("slow", { text: "a".repeat(40) + "b" })).rejects.toMatchObject({
      code: "ERR_CAPABILITY_INPUT_INVALID",
      details: { issues: [{ message: expect.stringContaining("not done within") }] },
    });
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(await tenant.call("slow", { text: "aaa" })).toEqual({ text: "aaa" });
  });

  test("[T19] a schema that refers to itself without end is no fit, and no crash", async () => {
    await expect(tenant.call("endless", {})).rejects.toMatchObject({ code: "ERR_CAPABILITY_INPUT_INVALID" });
  });

  test("[T19] a plugin that has replaced the language cannot judge its own result", async () => {
    await expect(tenant.call("patched", {})).rejects.toMatchObject({
      code: expect.stringMatching(/ERR_RESULT_INVALID|ERR_GUEST_THREW/),
    });
    await expect(tenant.call("patched", {})).rejects.not.toMatchObject({ code: "ERR_UNEXPECTED" });
  });

  test("[T19] a plugin whose schemas never end fails its own checks only", async () => {
    let isOver = false;
    const stalling = Array.from({ length: 4 }, async () => {
      const codes = new Set<unknown>();
      while (!isOver) {
        const call = tenant.call("stall", { text: "a".repeat(40) + "b" });
        codes.add(await call.then(() => "done", ({ code }: { code: string }) => code));
      }
      return codes;
    });
    try {
      for (let n = 0; n < 8; n++) {
        expect(await tenant.call("add", { a: n, b: 1 })).toEqual({ sum: n + 1 });
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
    } finally {
      isOver = true;
    }
    for (const codes of await Promise.all(stalling)) {
      expect([...codes]).toEqual(["ERR_CAPABILITY_INPUT_INVALID"]);
    }
  }, 60_000);
});

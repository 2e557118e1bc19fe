/** WebAssembly through the host: it is written down when it is given, and who has it shares a worker with no one else. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { memoryAudit } from "../../src/mod.ts";
import { ADDS, GROWS } from "../runtime/wasm_modules.ts";
import { approved, failureOf, hosted, temporary, write } from "./support.ts";

const CODE = `
const start = (bytes) => new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes))).exports;
export const adds = ({ n }) => start([${ADDS}]).run(n);
export const grows = () => start([${GROWS}]).run();
export const waits = ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms, typeof WebAssembly));
`;

/** Three tools of one plugin; the last gives up the permission. */
function mixed(): string {
  const directory = join(temporary(), "mixed");
  write(directory, {
    "plugin.yaml": `name: mixed
version: "1"
permissions: { wasm: true }
capabilities:
  tools:
    - { name: adds, target: "code.ts:adds", input: { type: object } }
    - { name: grows, target: "code.ts:grows", input: { type: object } }
    - { name: waits, target: "code.ts:waits", input: { type: object }, permissions: {} }
`,
    "code.ts": CODE,
  });
  return directory;
}

test("each isolate that is given it is written down, and the tool without it has none", async () => {
  const audit = memoryAudit();
  const host = await hosted({ audit: () => audit });
  const tenant = await approved(host, "acme", {
    plugins: [mixed()],
    policy: { permissions: { wasm: true } },
  });
  expect(await tenant.call("waits", { ms: 0 })).toBe("undefined");
  const given = () => audit.events.filter(({ op }) => op === "wasm");
  expect(given()).toEqual([]);
  expect([await tenant.call("adds", { n: 41 }), await tenant.call("adds", { n: 1 })]).toEqual([42, 2]);
  expect(given()).toMatchObject([
    { type: "grant", plugin: "mixed", kind: "wasm", value: null, decision: "granted" },
  ]);
});

test("a policy without it takes it from every plugin", async () => {
  const host = await hosted();
  const tenant = await approved(host, "acme", { plugins: [mixed()], policy: { permissions: {} } });
  const error = await failureOf(tenant.call("adds", { n: 41 }));
  expect(error).toMatchObject({ code: "ERR_NOT_CAPABLE", details: { kind: "wasm" } });
  expect(error.details.rule).toContain("policy");
});

test("memory beyond its bound ends the call alone: a neighbour of the same plugin lives on in another worker", async () => {
  const host = await hosted();
  const tenant = await approved(host, "acme", {
    plugins: [mixed()],
    policy: { permissions: { wasm: true } },
  });
  expect(await tenant.call("waits", { ms: 0 })).toBe("undefined");
  const [neighbours] = await host.workerPids();
  const waiting = tenant.call("waits", { ms: 2_000 });
  const error = await failureOf(tenant.call("grows", {}));
  expect(error).toMatchObject({ code: "ERR_LIMIT_MEMORY", details: { memoryMb: 64 } });
  expect(await waiting).toBe("undefined");
  expect(await tenant.call("adds", { n: 41 })).toBe(42);
  expect(await host.workerPids()).toContain(neighbours);
});

test("what was found out is found out again by the same isolate", async () => {
  const host = await hosted();
  const tenant = await approved(host, "acme", {
    plugins: [mixed()],
    policy: { permissions: { wasm: true } },
  });
  const ceiling = { permissions: { wasm: true }, cwd: "/" } as const;
  for (let run = 0; run < 2; run++) {
    const found = await tenant.discover("adds", { n: 41 }, ceiling);
    expect(found).toMatchObject({ outcome: { value: 42 }, request: { wasm: true }, unused: [] });
  }
  // A question whether it is there is a use as well: the answer would be another without it.
  const found = await tenant.discover("waits", { ms: 0 }, ceiling);
  expect(found).toMatchObject({ outcome: { value: "object" }, request: { wasm: true } });
});

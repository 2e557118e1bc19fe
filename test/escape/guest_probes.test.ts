/** Hostile guest code from test/cases/guest_probes.jsonl, each probe a tool of one plugin, with a neighbour to steal from. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createHost,
  type Host,
  LimitError,
  memoryAudit,
  SallyportError,
  type Tenant,
} from "../../src/mod.ts";

interface Probe {
  readonly id: string;
  readonly class: string;
  readonly code: string;
  readonly safe: string;
  readonly needs: readonly string[];
}

/** Verbs that no guest API has yet. */
const NOT_YET: Readonly<Record<string, string>> = {
  emit: "events come with the surfaces",
  call: "calls between plugins come with the surfaces",
};
const PROBES = readFileSync(new URL("../cases/guest_probes.jsonl", import.meta.url), "utf8").trim().split(
  "\n",
)
  .map((line) => JSON.parse(line) as Probe);
const CANARY = randomBytes(12).toString("hex");
const NEIGHBOUR_CANARY = randomBytes(12).toString("hex");
const WALL_MS = 1_500;
const LATE_MS_MAX = 1_500;

const root = realpathSync(mkdtempSync(join(tmpdir(), "sallyport-probes-")));
const demo = join(root, "demo");
const neighbour = join(root, "neighbour");
const rejections: unknown[] = [];
const onRejection = (reason: unknown): void => void rejections.push(reason);
const prototypes = [
  Object.prototype,
  Array.prototype,
  Function.prototype,
  Promise.prototype,
  Error.prototype,
];
const keysBefore = prototypes.map((prototype) => Reflect.ownKeys(prototype));
let host: Host;
let tenant: Tenant;
let worstLatenessMs = 0;
let heartbeat: NodeJS.Timeout;

beforeAll(async () => {
  process.on("unhandledRejection", onRejection);
  process.env.HOLDOUT_CANARY = CANARY;
  Object.assign(globalThis, { HOLDOUT_CANARY: CANARY });
  writePlugins();
  host = await createHost({ confinement: "best", home: join(root, "home"), audit: () => memoryAudit() });
  tenant = host.tenant("probes", {
    plugins: [demo, neighbour],
    policy: { permissions: { read: true, write: true, storage: true, net: ["api.example.com:443"] } },
  });
  for (const name of ["demo", "neighbour"]) {
    const { hash } = await tenant.fingerprint(name);
    await tenant.trust(name, { fingerprint: hash, approver: "test" });
  }
  const rows = await tenant.list();
  await tenant.expose(rows.flatMap(({ capabilities }) => capabilities.map(({ id }) => id)));
  await tenant.call("plugin__neighbour__keep", { key: "secret", value: "OUTSIDE-NBR" });
  let last = performance.now();
  heartbeat = setInterval(() => {
    worstLatenessMs = Math.max(worstLatenessMs, performance.now() - last - 50);
    last = performance.now();
  }, 50);
}, 120_000);

afterAll(async () => {
  clearInterval(heartbeat);
  await host.close();
  process.off("unhandledRejection", onRejection);
  rmSync(root, { recursive: true, force: true });
  console.log(`probes: ${PROBES.length}, worst lateness of the host ${Math.round(worstLatenessMs)} ms`);
});

describe("hostile guest code", () => {
  for (const probe of PROBES) {
    const missing = probe.needs.find((verb) => verb in NOT_YET);
    const title = `${probe.id} ${probe.class}: ${probe.safe}`;
    test.skipIf(missing !== undefined)(
      missing === undefined ? title : `${title} (skipped: ${NOT_YET[missing]})`,
      async () => {
        const lines: string[] = [];
        const outcome = await attempt(probe.id, lines);
        const told = JSON.stringify([outcome, lines]);
        for (const secret of [CANARY, NEIGHBOUR_CANARY, "OUTSIDE", root, process.execPath]) {
          expect(told, `${probe.id} told ${secret}`).not.toContain(secret);
        }
        expect(probe.safe.split(" | "), JSON.stringify(outcome)).toContain(
          outcome.kind === "returned" && probe.safe.includes("no-secret") ? "no-secret" : wordOf(outcome),
        );
        expect(prototypes.map((prototype) => Reflect.ownKeys(prototype))).toEqual(keysBefore);
        expect(await tenant.call("plugin__neighbour__greet", { text: probe.id })).toBe(`hello ${probe.id}`);
        expect(rejections).toEqual([]);
        expect(worstLatenessMs).toBeLessThan(LATE_MS_MAX);
      },
    );
  }
});

type Outcome =
  | { readonly kind: "returned"; readonly value: unknown }
  | {
    readonly kind: "threw" | "ended";
    readonly code: string;
    readonly message: string;
    readonly details: unknown;
  };

function wordOf(outcome: Outcome): string {
  if (outcome.kind === "returned") return `returns ${String(outcome.value)}`;
  return outcome.kind === "threw" ? "throws" : "terminated";
}

async function attempt(id: string, lines: string[]): Promise<Outcome> {
  const input = { text: "hi", list: [1, 2, 3], nested: { a: 1 } };
  try {
    const value = await tenant.call(`plugin__demo__${id.replace("-", "_")}`, input, {
      onLine: ({ text }) => lines.push(text),
    });
    return { kind: "returned", value };
  } catch (error) {
    // Only a named error is an answer; anything else is a mistake of the host's and fails the test.
    if (!(error instanceof SallyportError)) throw error;
    const { code, message, details } = error;
    expect(code).not.toBe("ERR_UNEXPECTED");
    return { kind: error instanceof LimitError ? "ended" : "threw", code, message, details };
  }
}

function writePlugins(): void {
  mkdirSync(join(demo, "data"), { recursive: true });
  mkdirSync(join(neighbour, "data"), { recursive: true });
  writeFileSync(join(root, "outside.txt"), "OUTSIDE");
  writeFileSync(join(neighbour, "data/secret.txt"), "OUTSIDE-NBR");
  writeFileSync(join(demo, "data/a.txt"), "A");
  writeFileSync(join(demo, "data/b.txt"), "B");
  for (const { id, code } of PROBES) writeFileSync(join(demo, `${id}.js`), probeModule(code));
  const tools = PROBES.map(({ id }) =>
    `    - { name: ${id.replace("-", "_")}, target: "${id}.js:probe", input: { type: object } }`
  );
  writeFileSync(
    join(demo, "plugin.yaml"),
    `name: demo
version: "1"
permissions:
  read: ["./data"]
  write: ["$data"]
  storage: true
  net: ["api.example.com:443"]
limits: { wallMs: ${WALL_MS} }
capabilities:
  tools:
${tools.join("\n")}
`,
  );
  writeFileSync(
    join(neighbour, "plugin.yaml"),
    `name: neighbour
version: "1"
permissions: { storage: true }
capabilities:
  tools:
    - { name: greet, target: "greet.js:greet", input: { type: object } }
    - { name: keep, target: "greet.js:keep", input: { type: object } }
`,
  );
  writeFileSync(
    join(neighbour, "greet.js"),
    `globalThis.NBR_CANARY = "${NEIGHBOUR_CANARY}";
export const greet = ({ text }) => "hello " + text;
export const keep = ({ key, value }, { storage }) => storage.set(key, value);
`,
  );
}

/** The probe is the body of a function of the real guest API, the roots that a plugin is handed, and the input. */
function probeModule(code: string): string {
  return `export async function probe(input, context) {
  const H = {
    get: (key) => context.storage.get(key),
    set: (key, value) => context.storage.set(key, value),
    log: (...all) => console.log(...all),
    fetch: (url, init) => fetch(url, init),
    read: (path) => Deno.readTextFile(path),
    res: (path) => Deno.readTextFile(path),
    write: (path, text) => Deno.writeTextFile(path, text),
    env: (name) => Deno.env.get(name),
  };
  const S = { context, Deno, console, fetch, crypto, performance, input, H };
  return await (async function (H, S, input) {
${code}
  }).call(undefined, H, S, input);
}
`;
}

/** All that can be reached from a guest to which everything was granted. */
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineOp, memoryAudit } from "../../src/mod.ts";
import { composePlatform, enginePath, planConfinement, WorkerProcess } from "../../runtime/mod.ts";
import { approved, hosted, temporary } from "../host/support.ts";
import { Bench } from "../runtime/harness.ts";

interface Walked {
  readonly names: readonly string[];
  readonly deno: readonly string[];
  readonly context: readonly string[];
  readonly notFrozen: readonly string[];
  readonly problems: readonly string[];
  readonly counts: { readonly objects: number; readonly functions: number; readonly getters: number };
}

/** Sections of names: what the platform must give, and what the language may. */
const NAMES = Object.fromEntries(
  readFileSync(new URL("globals.txt", import.meta.url), "utf8").trim().split("\n").map((line) => {
    const [section, names] = line.split(": ");
    return [section!, names!.split(" ")];
  }),
);
const fixtures = join(import.meta.dirname, "fixtures");
const ops = [
  defineOp({
    name: "echo",
    args: z.array(z.unknown()),
    free: "it tells what it is told",
    act: async (args) => args,
  }),
  defineOp({
    name: "fails",
    args: z.array(z.unknown()),
    free: "it only fails",
    act: () => Promise.reject(new Error(`at ${import.meta.dirname}`)),
  }),
];

describe.each([["walk", false], ["walk-code", true]])("a guest with everything (%s)", (name, mayMakeCode) => {
  let walked: Walked;
  beforeAll(async () => {
    const directory = join(temporary(), name);
    cpSync(join(fixtures, "walk"), directory, { recursive: true });
    cpSync(join(fixtures, name.replace("-", "_")), directory, { recursive: true });
    const host = await hosted({ audit: () => memoryAudit(), ops });
    const tenant = await approved(host, "t", {
      plugins: [directory],
      policy: {
        permissions: {
          read: true,
          write: true,
          net: true,
          env: true,
          sys: true,
          run: true,
          storage: true,
          dynamicCode: true,
        },
        environment: { GRANTED_A: "a" },
      },
    });
    const body = (async function* () {
      yield "text";
      yield new Uint8Array(2);
      throw new Error(`at ${import.meta.dirname}`);
    })();
    walked = await tenant.call(`plugin__${name}__walk`, { mayMakeCode }, { body }) as Walked;
  }, 60_000);
  afterAll(() => console.log(`walked: ${JSON.stringify(walked.counts)}`));

  test("[T20] nothing is reached that is an engine's, the host's, or of another realm", () => {
    expect(walked.problems).toEqual([]);
    expect(walked.counts.objects).toBeGreaterThan(1_500);
    expect(walked.counts.getters).toBeGreaterThan(200);
  });

  test("what is promised to be frozen is", () => {
    expect(walked.notFrozen).toEqual([]);
  });

  test("the globals are those that are listed, and no other", () => {
    const { platform, language, deno, context } = NAMES;
    expect(walked.names.filter((global) => !platform!.includes(global) && !language!.includes(global)))
      .toEqual([]);
    expect(platform!.filter((global) => !walked.names.includes(global))).toEqual([]);
    expect(walked.deno).toEqual(deno);
    expect(walked.context).toEqual(context);
  });
});

test.each([
  ["the way to the worker", "later", /native function named/],
  ["the way to the worker that is heard at once", "now", /native function named/],
  ["a place of the host's", JSON.stringify(import.meta.filename), /tells/],
])("the walk notices when the platform leaks %s", async (_what, leak, complaint) => {
  const platform = composePlatform().replace(
    "function limitError(",
    () =>
      `ObjectDefineProperty(global, "leak", { __proto__: null, value: [${leak}] });\nfunction limitError(`,
  );
  const worker = await WorkerProcess.start({
    plan: planConfinement("best"),
    platform,
    engine: enginePath(),
  });
  try {
    await using bench = new Bench({ worker });
    const code = readFileSync(join(fixtures, "walk/walk.js"), "utf8").replace("export async", "async")
      .replaceAll("import.meta", "{}");
    const guest = await bench.load(`${code}\n__sallyport_register__(walk);`);
    const { value } = await guest.call({});
    const { names, problems } = value as Walked;
    expect(names).toContain("leak");
    expect(problems.filter((problem) => problem.startsWith("globalThis.leak."))).toEqual([
      expect.stringMatching(complaint),
    ]);
  } finally {
    await worker.close();
  }
});

import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type ConfinementPlan,
  encodeFrame,
  FrameDecoder,
  planConfinement,
  splitParts,
  startConfined,
} from "../../runtime/mod.ts";
import { FROM_BUNDLER, TO_BUNDLER } from "../../src/bundler/protocol.ts";
import { bundle, bundler, plugin, run } from "./support.ts";

const ROOT = join(import.meta.dirname, "../..");
const PLANS: readonly (readonly [string, ConfinementPlan])[] = [
  ["as well as this machine can", planConfinement("best")],
  ["without bubblewrap", planConfinement("best", ["bubblewrap"])],
  ["with Node's permission model alone", planConfinement("best", ["bubblewrap", "uid"])],
];

describe.each(PLANS)("confined %s", (_, plan) => {
  test("[T05] a bundler process builds", async () => {
    const by = bundler({ plan });
    expect(await run(await bundle(by, plugin({ "main.ts": `export const run = () => 1;` })))).toBe(1);
  });

  test("[T01] [T05] code that takes over a bundler process finds nothing to take", async () => {
    const report = await probe(plan);
    expect(report).toMatchObject({
      kill: "undefined",
      dlopen: "undefined",
      binding: "undefined",
      builtin: "undefined",
      debug: "undefined",
      env: [],
      has: [],
    });
    // Node 24 has no gate for the network; what bubblewrap leaves of one there is a loopback of the process's own.
    const network = process.version.startsWith("v24.") ? [] : ["listen"];
    for (const name of ["early", "read", "readSelf", "list", "write", "spawn", "worker", ...network]) {
      expect([name, report[name]]).toEqual([name, "ERR_ACCESS_DENIED"]);
    }
    expect(report["sqlite"]).not.toBe("allowed");
  });
});

/** Starts the real entry of a bundler process with an engine that reports what it can reach. */
async function probe(plan: ConfinementPlan): Promise<Record<string, unknown>> {
  const engine = { file: join(import.meta.dirname, "fixtures/probe_engine.cjs") };
  const wasm = { file: createRequire(import.meta.url).resolve("esbuild-wasm/esbuild.wasm") };
  const child = await startConfined({
    plan,
    entry: join(ROOT, "src/bundler/child.ts"),
    readable: [
      ...["src/bundler/protocol.ts", "runtime/wire.ts", "runtime/worker/confine_self.ts"].map((path) =>
        join(ROOT, path)
      ),
      engine.file,
      wasm.file,
    ],
    args: [engine, wasm],
  });
  try {
    const decoder = new FrameDecoder(1_048_576);
    for (;;) {
      const [chunk] = await Promise.race([
        once(child.pipe, "data"),
        child.exited.then(() => Promise.reject(new Error(child.stderrTail()))),
      ]);
      for (const frame of decoder.push(chunk)) {
        if (frame.type === FROM_BUNDLER.ready) {
          child.pipe.write(encodeFrame(TO_BUNDLER.build, 0, 0, `{"entry":""}`));
        } else return JSON.parse(splitParts(frame.payload).body.toString());
      }
    }
  } finally {
    child.kill();
    await child.exited;
  }
}

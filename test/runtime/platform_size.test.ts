import { transform } from "esbuild";
import { expect, test } from "vitest";
import { composePlatform, enginePath, planConfinement, WorkerProcess } from "../../runtime/mod.ts";
import { Bench } from "./harness.ts";

const BYTES_MAX = 65_536;

test("[T31] the whole guest platform is at most 64 KB minified", async () => {
  // A lone function expression would be dropped as unused, so it is minified as the value of a name.
  const { code } = await transform(`x=${composePlatform()}`, {
    minify: true,
    target: "es2024",
    charset: "utf8",
  });
  const bytes = Buffer.byteLength(code);
  console.info(`guest platform: ${bytes} bytes minified (limit ${BYTES_MAX})`);
  expect(bytes).toBeGreaterThan(20_000);
  expect(bytes).toBeLessThanOrEqual(BYTES_MAX);

  // Minified it still works: the platform of a published package is this text.
  const worker = await WorkerProcess.start({
    plan: planConfinement("best"),
    platform: code.slice("x=".length).replace(/;\s*$/, ""),
    engine: enginePath(),
  });
  try {
    await using bench = new Bench({ worker });
    const handler =
      "async (n) => [n + 1, await Deno.stat('/x').catch(({ name }) => name), new URL('http://h/a/../b').href]";
    expect(await bench.once(handler, { input: 1 })).toMatchObject({ value: [2, "NotCapable", "http://h/b"] });
  } finally {
    await worker.close();
  }
});

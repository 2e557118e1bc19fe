import { transform } from "esbuild";
import { expect, test } from "vitest";
import { composeParts, createRealm } from "./realm.ts";

const BYTES_MAX = 45_000;

test("[T31] the pure parts stay small when minified, and minified they still work", async () => {
  const { code } = await transform(`globalThis.parts = ${composeParts()}`, {
    minify: true,
    target: "es2024",
    charset: "utf8",
  });
  const bytes = Buffer.byteLength(code);
  console.info(`guest platform, pure parts: ${bytes} bytes minified (limit ${BYTES_MAX})`);
  expect(bytes).toBeLessThanOrEqual(BYTES_MAX);
  const realm = createRealm("", `(${code.trim().replace(/;$/, "")})`);
  expect(
    realm.run(
      `return [URL.name, new URL("http://h/a/../b").href, AbortSignal.abort().reason.name, btoa("a"), structuredClone({ a: 1 }).a,
    Object.prototype.toString.call(new TextDecoder()), console.log({ a: [1] })]`,
    ),
  )
    .toEqual(["URL", "http://h/b", "AbortError", "YQ==", 1, "[object TextDecoder]", null]);
  expect(realm.lines.at(-1)?.text).toBe("{ a: [ 1 ] }");
  realm.dispose();
});

/** [T29] Stacks of guests, read against the map of their bundle: at most once, and only where it is not too large. */
import { SourceMap } from "node:module";
import { afterEach, expect, test, vi } from "vitest";
import type { BundleMap } from "../../src/bundler/mod.ts";
import { entriesOf, shownStack } from "../../src/frames.ts";
import { RUNTIME_LIMITS } from "../../runtime/mod.ts";

afterEach(() => vi.restoreAllMocks());

/** Line 1 comes from Sallyport's own text, line 2 from line 1 of `a.ts`. */
const MAP: BundleMap = { version: 3, sources: ["", "a.ts"], names: [], mappings: "AAAA;ACAA" };
const at = (line: number): string => `    at go (plugin:p/a.ts:${line}:1)`;
const shown = (map: BundleMap, stack: string, find = entriesOf(map)): string =>
  shownStack(stack, { plugin: "p", path: "a.ts", find });

test("a frame is told by the plugin's own file; one in Sallyport's own text, or the bundler's, is left out", () => {
  const unmapped = { ...MAP, mappings: ";AAAA;ACAA" };
  expect(shown(unmapped, [at(1), at(2), at(3)].join("\n"))).toBe("at go (a.ts:1:1)");
  expect(shown(MAP, [at(1), at(2), "    at elsewhere (file:///x.js:1:1)"].join("\n"))).toBe(
    "at go (a.ts:1:1)",
  );
});

test("the map is read at the first frame, and only once", () => {
  const parse = vi.spyOn(SourceMap.prototype, "findEntry");
  let reads = 0;
  const map = {
    ...MAP,
    get names() {
      reads += 1;
      return [];
    },
  };
  const find = entriesOf(map);
  expect(shown(map, "no frame at all", find)).toBe("");
  expect(reads).toBe(0);
  for (let n = 0; n < 5; n++) expect(shown(map, at(2), find)).toBe("at go (a.ts:1:1)");
  expect(reads).toBe(1);
  expect(parse).toHaveBeenCalledTimes(5);
});

test("[T32] a map that is too large is not read: the place in the bundle is told instead", () => {
  const filled = (bytes: number): BundleMap => ({ ...MAP, mappings: MAP.mappings.padEnd(bytes, ";") });
  expect(shown(filled(RUNTIME_LIMITS.stackMapBytesMax), at(2))).toBe("at go (a.ts:1:1)");
  expect(shown(filled(RUNTIME_LIMITS.stackMapBytesMax + 1), at(2))).toBe("at go (<p>:2:1)");
});

/** Hostile plugins that attack before they are approved: what bundles their source is confined, bounded and expendable. */
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { memoryAudit } from "../../src/mod.ts";
import { BUNDLE_LIMITS } from "../../src/bundler/mod.ts";
import { approve, failureOf, hosted, pluginOf, temporary } from "../host/support.ts";

const LATE_MS_MAX = 1_500;
const tool = (code: string) => ({ go: code });
/** More than one build may have, and no more than that: they are real files. */
const MODULES = BUNDLE_LIMITS.bundleModulesMax + 100;
const folding = `enum E { M0 = "0123456789abcdef", ${
  Array.from({ length: 60 }, (_, i) => `M${i + 1} = M${i} + M${i}`).join(", ")
} }; export const go = () => E.M60;`;
const SOURCES: Readonly<Record<string, { readonly code: string; readonly files?: Record<string, string> }>> =
  {
    "brackets": { code: `export const go = ${"[".repeat(400_000)}${"]".repeat(400_000)}` },
    "prefixes": { code: `export const go = ${"!".repeat(400_000)}1` },
    "folding": { code: folding },
    "large": { code: `export const go = () => 1; //${"x".repeat(30_000_000)}` },
    "many": {
      code: `${
        Array.from({ length: MODULES }, (_, i) => `import "../many/m${i}.ts";`).join("\n")
      }\nexport const go = () => 1;`,
      files: Object.fromEntries(
        Array.from({ length: MODULES }, (_, i) => [`many/m${i}.ts`, `export const x = ${i};`]),
      ),
    },
    "outside": { code: `import x from "../../../outside.json"; export const go = () => x;` },
    "url": { code: `import "data:text/javascript,globalThis.x=1"; export const go = () => 1;` },
    "builtin": {
      code: `import fs from "node:fs"; export const go = () => fs.readFileSync("/etc/passwd", "utf8");`,
    },
  };

const root = temporary();
const host = await hosted({ audit: () => memoryAudit() });
const neighbours = Object.keys(SOURCES).map((name) =>
  pluginOf(`after-${name}`, tool(`export const go = ({ text }) => "hello " + text;`), { under: root })
);
const hostile = Object.entries(SOURCES).map(([name, { code, files = {} }]) =>
  pluginOf(name, tool(code), { under: root, files })
);
const tenant = host.tenant("sources", { plugins: [...hostile, ...neighbours] });
let last = performance.now();
let lateMs = 0;
const heartbeat = setInterval(() => {
  lateMs = Math.max(lateMs, performance.now() - last - 50);
  last = performance.now();
}, 50);
afterAll(() => clearInterval(heartbeat));

test.each(Object.keys(SOURCES))(
  "[T05] a source of %s ends its own build, and the next plugin's is made",
  async (name) => {
    await tenant.list();
    last = performance.now();
    lateMs = 0;
    const error = await failureOf(tenant.fingerprint(name));
    expect(["ERR_BUNDLE_FAILED", "ERR_IMPORT_REFUSED"]).toContain(error.code);
    expect(error.message).not.toContain(join(root, ".."));
    await approve(tenant, `after-${name}`);
    expect(await tenant.call(`plugin__after-${name}__go`, { text: name })).toBe(`hello ${name}`);
    expect(lateMs).toBeLessThan(LATE_MS_MAX);
  },
  120_000,
);

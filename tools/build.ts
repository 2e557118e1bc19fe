/**
 * Builds the published package: JavaScript and types, one file each for the worker, the bundler and the guest platform, and
 * the command line in few files.
 */
import { build, transform } from "esbuild";
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { composePlatform } from "../runtime/mod.ts";
import { wrapLibrary } from "../src/validator/mod.ts";
import { buildCli } from "./build_cli.ts";
import { buildWorker, CHILD } from "./build_children.ts";

const ROOT = join(import.meta.dirname, "..");
const DIST = join(ROOT, "dist");
rmSync(DIST, { recursive: true, force: true });
execFileSync(process.execPath, [
  join(ROOT, "node_modules/typescript/bin/tsc"),
  "-p",
  join(ROOT, "tsconfig.build.json"),
], {
  stdio: "inherit",
});
await buildWorker(ROOT, DIST);
await build({ ...CHILD, entryPoints: [join(ROOT, "src/bundler/child.ts")], outdir: DIST, outbase: ROOT });
await buildCli(ROOT, join(DIST, "cli"));
// A lone function expression would be dropped as unused, so it is minified as the value of a name.
const NAME = "platform=";
const { code } = await transform(NAME + composePlatform(), {
  minify: true,
  charset: "utf8",
  target: "es2024",
});
writeFileSync(join(DIST, "runtime/platform.guest.min.js"), code.slice(NAME.length).replace(/;\s*$/, ""));
const library = await build({
  stdin: {
    contents: 'import { Validator } from "@cfworker/json-schema"; __sallyport_register__(Validator);',
    resolveDir: ROOT,
  },
  write: false,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2024",
  legalComments: "none",
  charset: "utf8",
});
writeFileSync(join(DIST, "src/validator/validator.min.js"), wrapLibrary(library.outputFiles[0]!.text));
console.log(`built dist/, guest platform ${Buffer.byteLength(code)} bytes`);

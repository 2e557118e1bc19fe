/** The fixtures as the peers take them: classic scripts that put two functions into their world. */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { BuildOptions } from "esbuild";
import type { Fixture } from "./peers/peer.ts";
import { BENCH, WORK } from "./places.ts";

interface Builder {
  build(
    options: BuildOptions,
  ): Promise<{ readonly outputFiles?: readonly { readonly text: string }[] }>;
  stop(): Promise<void>;
}

const FIXTURES = join(BENCH, "fixtures");
const BUNDLES = join(WORK, "bundles");
const OPTIONS: BuildOptions = {
  bundle: true,
  write: false,
  target: "es2022",
  platform: "neutral",
  mainFields: ["module", "main"],
  charset: "utf8",
  logLevel: "error",
};
/** Names are kept, as an author does who wants to read stacks. */
const LOOKS: Readonly<Record<Fixture, BuildOptions>> = {
  small: {},
  large: { minifyWhitespace: true },
  cpu: { minify: true },
};

/** Builds all fixtures. */
export async function buildFixtures(): Promise<void> {
  mkdirSync(BUNDLES, { recursive: true });
  for (const fixture of Object.keys(LOOKS) as Fixture[]) {
    writeFileSync(join(BUNDLES, `${fixture}.js`), await buildFile(fixture));
    const module = await build({
      entryPoints: [sourceOf(fixture)],
      format: "esm",
      ...LOOKS[fixture],
    });
    writeFileSync(join(BUNDLES, `${fixture}.mjs`), module);
  }
  await esbuild().stop();
}

/** A fixture's bundle for the peers. */
export function bundleOf(fixture: Fixture): string {
  return readFileSync(join(BUNDLES, `${fixture}.js`), "utf8");
}

/** A fixture as one module with its exports: what an author publishes who bundles. */
export function moduleOf(fixture: Fixture): string {
  return readFileSync(join(BUNDLES, `${fixture}.mjs`), "utf8");
}

/** Path of a fixture's source. */
export function sourceOf(fixture: Fixture): string {
  return join(FIXTURES, `${fixture}.ts`);
}

/** Bundles a fixture from its sources; cold, with the bundler's process yet to be started. */
export async function buildFile(
  fixture: Fixture,
  { isCold = false } = {},
): Promise<string> {
  if (isCold) await esbuild().stop();
  const stdin = { contents: entryFor(sourceOf(fixture)), resolveDir: FIXTURES };
  return await build({ stdin, format: "iife", ...LOOKS[fixture] });
}

/** Writes a TypeScript file that nobody has seen. */
export function writeSource(text: string): string {
  const file = join(mkdtempSync(join(WORK, "source-")), "source.ts");
  writeFileSync(file, text);
  return file;
}

/** Bundles one TypeScript file. */
export async function buildSource(file: string): Promise<string> {
  return await build({
    stdin: { contents: entryFor(file), resolveDir: FIXTURES },
    format: "iife",
  });
}

function entryFor(path: string): string {
  return `import * as tools from ${JSON.stringify(path)};
    import { install } from ${JSON.stringify(join(FIXTURES, "abi.ts"))};
    install(tools);`;
}

async function build(options: BuildOptions): Promise<string> {
  const { outputFiles } = await esbuild().build({ ...OPTIONS, ...options });
  return outputFiles![0]!.text;
}

/** The bench's own, loaded where it is needed: Deno's process has no use for it. */
function esbuild(): Builder {
  return createRequire(import.meta.url)("esbuild") as Builder;
}

/**
 * The command line in few files: loading hundreds of modules one by one takes longer than a plugin runs. What starts the
 * worker is a file of its own, the rest is loaded beside the worker's start, and what few commands need when they need it.
 */
import { build, type BuildOptions, type Metafile, type Plugin } from "esbuild";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { lazyBuiltIns } from "./lazy_built_ins.ts";

/** Builds `src/main.ts` into `OUT/main.js`, and what it needs into files beside it; `root` is the repository. */
export async function buildCli(root: string, out: string): Promise<void> {
  const shared: BuildOptions = {
    outdir: out,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    external: ["isolated-vm", "esbuild-wasm"],
    legalComments: "none",
    // Names stay: stacks and the names of errors are read by people.
    minifyWhitespace: true,
    minifySyntax: true,
    metafile: true,
    logLevel: "warning",
    plugins: [
      ownSources(root, out),
      lazyBuiltIns((name) => `process.getBuiltinModule(${JSON.stringify(name)})`),
    ],
  };
  const start = await build({ ...shared, entryPoints: [join(root, "src/main.ts")] });
  const rest = await build({
    ...shared,
    entryPoints: [join(root, "src/cli/mod.ts")],
    splitting: true,
    banner: { js: REQUIRE },
  });
  writeFileSync(join(out, "LICENSES.txt"), licensesOf(root, [start.metafile!, rest.metafile!]));
}

/** Packages that are CommonJS ask for Node's built-in modules by `require`, which a module does not have. */
const REQUIRE =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

function ownSources(root: string, out: string): Plugin {
  return {
    name: "own sources",
    setup(builder) {
      builder.onResolve(
        { filter: /^\.\/cli\/mod\.ts$/ },
        ({ importer }) => importer.endsWith("main.ts") ? { path: "./mod.js", external: true } : undefined,
      );
      builder.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (path.includes(`${sep}node_modules${sep}`)) return undefined;
        // Files that are found from where a module lies are found from where it would lie in dist.
        const place = relative(out, join(root, "dist", relative(root, path))).replace(/\.ts$/, ".js");
        const url = `new URL(${JSON.stringify(place.replaceAll(sep, "/"))}, import.meta.url)`;
        const contents = readFileSync(path, "utf8")
          .replaceAll("import.meta.filename", `import.meta.dirname + ${JSON.stringify(`/${place}`)}`)
          .replaceAll("import.meta.url", `${url}.href`)
          // As a namespace, what of it is not used can be left out.
          .replaceAll('import { z } from "zod"', 'import * as z from "zod"');
        return { contents, loader: "ts" };
      });
    },
  };
}

/** The licences of what was copied into the files, which say that they are to be copied as well. */
function licensesOf(root: string, metafiles: readonly Metafile[]): string {
  const inputs = metafiles.flatMap(({ inputs }) => Object.keys(inputs));
  const folders = inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  const names = [...new Set(folders.filter((folder) => folder !== undefined))].sort();
  return names.map((folder) => {
    const at = join(root, folder);
    const { name, version } = JSON.parse(readFileSync(join(at, "package.json"), "utf8"));
    const file = readdirSync(at).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no licence file to copy`);
    return `${name} ${version}\n\n${readFileSync(join(at, file), "utf8").trim()}\n`;
  }).join(`\n${"-".repeat(80)}\n\n`);
}

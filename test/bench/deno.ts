/** Deno's own binary, without the script that npm starts it by. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";

/** Absolute path of the binary; inside Deno, the one that runs. Throws when it is not installed. */
export function denoPath(): string {
  if ("Deno" in globalThis) return process.execPath;
  const require = createRequire(import.meta.url);
  const manifest = require.resolve("deno/package.json");
  const { optionalDependencies } = require(manifest) as {
    readonly optionalDependencies: Readonly<Record<string, string>>;
  };
  const beside = createRequire(manifest);
  for (const name of Object.keys(optionalDependencies)) {
    for (const file of ["deno", "deno.exe"]) {
      try {
        const path = join(
          dirname(beside.resolve(`${name}/package.json`)),
          file,
        );
        if (existsSync(path)) return path;
      } catch {
        // That of another platform.
      }
    }
  }
  throw new Error("deno has no binary for this platform");
}

/** Finds the engine's native binary for this Node, without loading it: only a worker ever does. */
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { HostError } from "../permissions/mod.ts";

/** Absolute path of isolated-vm's binary. Throws `ERR_ENGINE` where there is none for this Node and system. */
export function enginePath(): string {
  const require = createRequire(import.meta.url);
  try {
    const { path } = require("node-gyp-build") as { path(directory: string): string }; // its only export used here
    return path(dirname(require.resolve("isolated-vm/package.json")));
  } catch (cause) {
    throw new HostError(
      "ERR_ENGINE",
      `Cannot load the isolate engine on Node ${process.version} for ${process.platform}-${process.arch}: ` +
        "there is no binary for it. Use Node 24 or 26 on Linux, macOS (arm64) or Windows (x64)",
      { cause },
    );
  }
}

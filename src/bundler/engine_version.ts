/** Which esbuild this is, found out without loading one. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** The version of every engine. */
export function engineVersion(): string {
  return versionOf(createRequire(import.meta.url).resolve("esbuild-wasm/package.json"));
}

/** The version in a package.json. */
export function versionOf(file: string): string {
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

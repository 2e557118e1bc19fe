/** What `check --fix` puts right in a manifest: as little as possible, with comments and order kept. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HostError, type KindTable } from "../permissions/mod.ts";
import { misspelledKeys, parseManifest } from "./manifest/mod.ts";
import { editYaml, type YamlChange, type YamlRename } from "./yaml.ts";

/** Gives misspelled keys the one name that they can have been meant as; gives what was done, in words. */
export function fixKeys(directory: string, kinds: KindTable): readonly string[] {
  const file = join(directory, "plugin.yaml");
  const bytes = readIfThere(file);
  const keys = bytes === null ? [] : misspelledKeys(bytes, kinds);
  if (bytes === null || keys.length === 0) return [];
  write(file, editYaml(bytes, keys.map(({ path, meant }): YamlRename => ({ path, rename: meant }))));
  return keys.map(({ path, meant }) => `renamed the key "${String(path.at(-1))}" to "${meant}"`);
}

/** Takes back requests for these kinds; gives what was done, in words. Changes nothing that would no longer be a manifest. */
export function dropKinds(directory: string, unused: readonly string[], kinds: KindTable): readonly string[] {
  const file = join(directory, "plugin.yaml");
  const bytes = readIfThere(file);
  if (bytes === null || unused.length === 0) return [];
  const text = editYaml(
    bytes,
    unused.map((kind): YamlChange => ({ path: ["permissions", kind], value: undefined })),
  );
  parseManifest(Buffer.from(text), { file, kinds });
  write(file, text);
  return unused.map((kind) => `removed permissions.${kind}`);
}

function readIfThere(file: string): Uint8Array | null {
  try {
    return readFileSync(file);
  } catch {
    return null; // the check itself says what is wrong with it
  }
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HostError("ERR_STORE", `Cannot write "${file}": ${why}`, { cause });
  }
}

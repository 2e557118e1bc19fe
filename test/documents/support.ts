/** Plugins that hold nothing but documents, and tenants in which they are trusted. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Tenant } from "../../src/mod.ts";
import { type Files, temporary, write } from "../host/support.ts";

/** Writes a plugin `name` whose `capabilities:` is given as YAML in braces. */
export function documentsOf(name: string, capabilities: string, files: Files): string {
  const directory = join(temporary(), name);
  mkdirSync(directory, { recursive: true });
  write(directory, {
    "plugin.yaml": `name: ${name}\nversion: "1"\ncapabilities: ${capabilities}\n`,
    ...files,
  });
  return directory;
}

/** Approves a plugin and exposes all that it offers, or these ids. */
export async function trusted(tenant: Tenant, name: string, expose?: readonly string[]): Promise<void> {
  const { hash } = await tenant.fingerprint(name);
  const { capabilities } = await tenant.facts(name);
  const all = capabilities.map(({ fullId }) => fullId);
  await tenant.trust(name, { fingerprint: hash, approver: "test", expose: expose ?? all });
}

/** The smallest image that there is. */
export const PNG: Uint8Array = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

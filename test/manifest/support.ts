/** What the tests of manifests share. */
import { ManifestError } from "../../permissions/mod.ts";
import { type Manifest, type ManifestIssue, parseManifest } from "../../src/manifest/mod.ts";

/** The two lines that every manifest needs. */
export const HEAD = 'name: demo\nversion: "1"\n';

/** Parses YAML text after the head. */
export function accept(text: string): Manifest {
  return parseManifest(new TextEncoder().encode(text), { file: "plugin.yaml" });
}

/** The issues of a text that must be refused. */
export function refuse(text: string | Uint8Array): readonly ManifestIssue[] {
  return refusal(text).details["issues"] as readonly ManifestIssue[];
}

/** The error of a text that must be refused. */
export function refusal(text: string | Uint8Array, file = "plugin.yaml"): ManifestError {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  try {
    parseManifest(bytes, { file });
  } catch (error) {
    if (error instanceof ManifestError) return error;
    throw error;
  }
  throw new Error(`accepted: ${JSON.stringify(text)}`);
}

/** The fields that a refusal names, in order. */
export function fields(text: string): readonly string[] {
  return refuse(text).map((issue) => issue.path);
}

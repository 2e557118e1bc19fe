/** The door of the manifest: reading one, and what it declares. */
export { capabilitiesOf, declaredFiles } from "./declared.ts";
export { fieldName, type FieldPath } from "./finding.ts";
export type { JsonSchema } from "./json_schema.ts";
export { misspelledKeys, parseManifest } from "./parse.ts";
export { type Parsed, parseReference, parseTarget, type Target } from "./reference.ts";
export type { ManifestIssue } from "./report.ts";
export { type Capabilities, type Lifecycle, type LimitRequest, type Manifest } from "./schema.ts";

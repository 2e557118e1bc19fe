/** `sallyport:` must be a semver range. Whether this host is inside it is asked when the plugin is discovered. */
import semver from "semver";
import { MANIFEST_LIMITS as LIMITS } from "../limits.ts";
import { type Finding, valueAt } from "../finding.ts";

/** Finds a range that cannot be read. */
export function hostRange(manifest: unknown): readonly Finding[] {
  const range = valueAt(manifest, ["sallyport"]);
  // Other types, and text that is empty or too long, are the schema's to report.
  if (typeof range !== "string" || range === "" || range.length > LIMITS.rangeCharsMax) return [];
  if (range.trim() !== "" && semver.validRange(range) !== null) return [];
  return [{ path: ["sallyport"], message: "must be a semver range", hint: 'for example ">=0.1 <1"' }];
}

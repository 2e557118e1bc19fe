/** What has no target must be registered by `lifecycle.activate`; where there is none, nothing could ever run. */
import { tools } from "../../surfaces/tools.ts";
import { type Finding, valueAt } from "../finding.ts";

/** Finds tools that no code is behind. */
export function missingTargets(manifest: unknown): readonly Finding[] {
  if (valueAt(manifest, ["lifecycle", "activate"]) !== undefined) return [];
  const base = ["capabilities", tools.name];
  const section = valueAt(manifest, base);
  if (!Array.isArray(section)) return [];
  return section.flatMap((_entry, index): Finding[] => {
    const isMissing = isEntry(valueAt(section, [index])) && valueAt(section, [index, "target"]) === undefined;
    return isMissing ? [{ path: [...base, index, "target"], message: "is required" }] : [];
  });
}

/** Anything else is the schema's to report. */
function isEntry(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Interceptors: code around a call, ordered by priority. They have no names; their place in the list tells them apart. */
import { z } from "zod";
import { descriptionText, targetText, wholeNumber } from "../manifest/fields.ts";
import { keyed } from "../manifest/keyed.ts";
import { MANIFEST_LIMITS as LIMITS } from "../manifest/limits.ts";
import { slashId, type Surface, targetOf } from "./surface.ts";

/** One interceptor of a manifest. */
export interface InterceptorEntry {
  /** Where it stands: `tool.call`. */
  readonly point: string;
  /** The code, `path:export`. */
  readonly target: string;
  /** Lower ones come first. */
  readonly priority?: number;
  /** What it does, for people. */
  readonly description?: string;
}

const entry: z.ZodType<InterceptorEntry> = keyed({
  point: z.string().regex(/^[a-z]{1,32}\.[a-z]{1,32}$/, { error: "must be a point such as tool.call" }),
  target: targetText,
  priority: wholeNumber(-LIMITS.priorityMax, LIMITS.priorityMax).exactOptional(),
  description: descriptionText.exactOptional(),
});

/** The surface of interceptors. */
export const interceptors: Surface<readonly InterceptorEntry[]> = {
  name: "interceptors",
  doc: "Code around a call, ordered by priority.",
  live: false,
  standsAlone: true,
  section: z.array(entry).max(LIMITS.entriesMax),
  capabilities: (section, plugin) =>
    section.map((raw, index) => {
      const target = targetOf(raw.target);
      const name = `${raw.point}/${index}`;
      return {
        surface: "interceptors",
        name,
        fullId: slashId(plugin, name),
        aliases: [],
        target,
        files: [target.path],
        ...(raw.description === undefined ? {} : { description: raw.description }),
        raw,
        at: [index],
      };
    }),
  files: (section) =>
    section.map((raw, index) => ({
      path: targetOf(raw.target).path,
      role: "target",
      at: [index, "target"],
    })),
  names: () => [],
};

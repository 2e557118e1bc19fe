/** Interceptors: code around a call, ordered by priority. They have no names; their place in the list tells them apart. */
import { z } from "zod";
import { descriptionText, targetText, wholeNumber } from "../manifest/fields.ts";
import { keyed } from "../manifest/keyed.ts";
import { MANIFEST_LIMITS as LIMITS } from "../manifest/limits.ts";
import { verdictSchema } from "../points/verdict.ts";
import { callPoints, type Station, TURNS } from "./stations.ts";
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

/** The one thing that there is to stand around. */
const POINT = "tool.call";
const TOOL = callPoints("tool");

const entry: z.ZodType<InterceptorEntry> = keyed({
  point: z.literal(POINT, { error: `must be ${POINT}` }),
  target: targetText,
  priority: wholeNumber(-LIMITS.priorityMax, LIMITS.priorityMax).exactOptional(),
  description: descriptionText.exactOptional(),
});

/** The surface of interceptors. */
export const interceptors: Surface<readonly InterceptorEntry[]> = {
  name: "interceptors",
  doc: "Code around a call, ordered by priority.",
  live: true,
  code: { isCallable: false, answer: verdictSchema },
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
        stations: stationsOf(raw),
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

/** The outermost is asked first on the way in and last on the way out. */
function stationsOf({ point: name, priority = 0 }: InterceptorEntry): readonly Station[] {
  const both = { name, isTargeted: true, decides: true, priority };
  return [
    { ...both, point: TOOL.input, phase: "before", turn: TURNS.interceptorsIn },
    { ...both, point: TOOL.output, phase: "after", turn: TURNS.interceptorsOut, isReversed: true },
  ];
}

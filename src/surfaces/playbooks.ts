/** Playbooks: YAML descriptions of work in several steps. Who does a step is named; nothing here does it. */
import { z } from "zod";
import { COMMON, lineValue, titleText, wordingText } from "../documents/fields.ts";
import type { FrontMatter } from "../documents/format.ts";
import { DOCUMENT_LIMITS as LIMITS } from "../documents/limits.ts";
import type { Finding } from "../manifest/finding.ts";
import { keyed } from "../manifest/keyed.ts";
import { documentSurface, memberOf, type Surface } from "./surface.ts";

/** One step of a playbook. */
export interface PlaybookStep {
  /** Its name in the playbook. */
  readonly name: string;
  /** What it is for. */
  readonly description?: string;
  /** The agent that does it: a full id or a bare name. */
  readonly agent?: string;
  /** The prompt that it begins with: a full id or a bare name. */
  readonly prompt?: string;
  /** What is to be done, in words. */
  readonly instructions?: string;
  /** The tool that it calls: a full id or a bare name. */
  readonly tool?: string;
  /** Names of steps that come before it. */
  readonly needs?: readonly string[];
}

const step: z.ZodType<PlaybookStep> = keyed({
  name: titleText,
  description: COMMON.description,
  agent: lineValue.exactOptional(),
  prompt: lineValue.exactOptional(),
  instructions: wordingText(LIMITS.wordingCharsMax).exactOptional(),
  tool: lineValue.exactOptional(),
  needs: z.array(titleText).max(LIMITS.entriesMax).exactOptional(),
});

/** The surface of playbooks. */
export const playbooks: Surface<readonly string[]> = documentSurface({
  name: "playbooks",
  doc: "Work in several steps.",
  live: true,
  extensions: [".playbook.yaml", ".playbook.yml", ".yaml", ".yml"],
  isLocal: true,
  format: {
    form: "yaml",
    schema: keyed({
      ...COMMON,
      steps: z.array(step).min(1, { error: "must hold at least one step" }).max(LIMITS.stepsMax),
    }),
    check: stepFindings,
    references: (data) =>
      stepsOf(data).flatMap((each, place) =>
        (["agent", "prompt", "tool"] as const).flatMap((key) => {
          const ref = each[key];
          return ref === undefined ? [] : [{ at: ["steps", place, key], surface: `${key}s`, ref }];
        })
      ),
  },
});

/** Names that are taken, steps that are not there or wait for one another, and steps that say nothing. */
function stepFindings(data: unknown): readonly Finding[] {
  const steps = stepsOf(data);
  const names = steps.map(({ name }) => name);
  const findings = steps.flatMap((each, place): Finding[] => [
    ...(names.indexOf(each.name) === place
      ? []
      : [{ path: ["steps", place, "name"], message: `the name "${each.name}" is taken by another step` }]),
    ...(each.agent ?? each.prompt ?? each.instructions ?? each.tool) === undefined
      ? [{
        path: ["steps", place],
        message: "must say what is done",
        hint: "give it instructions, a prompt, a tool or an agent",
      }]
      : [],
    ...needsOf(each).flatMap((need, at): Finding[] =>
      names.includes(need)
        ? []
        : [{ path: ["steps", place, "needs", at], message: `there is no step "${need}"` }]
    ),
  ]);
  return findings.length > 0 ? findings : circles(steps);
}

/** Takes away what waits for nothing, until nothing is left or all that is left waits for one another. */
function circles(steps: readonly PlaybookStep[]): readonly Finding[] {
  let left = steps.map((each, place) => ({ each, place }));
  for (let before = -1; before !== left.length;) {
    before = left.length;
    const waiting = new Set(left.map(({ each }) => each.name));
    left = left.filter(({ each }) => needsOf(each).some((need) => waiting.has(need)));
  }
  return left.slice(0, 1).map(({ place, each }) => ({
    path: ["steps", place, "needs"],
    message: `the step "${each.name}" would wait for itself`,
  }));
}

function stepsOf(data: FrontMatter | unknown): readonly PlaybookStep[] {
  const steps = memberOf(data, "steps");
  // The cast holds for what the schema accepted; of what it refuses, only what has a name is looked at.
  return Array.isArray(steps)
    ? steps.filter((each): each is PlaybookStep => typeof memberOf(each, "name") === "string")
    : [];
}

function needsOf({ needs }: PlaybookStep): readonly string[] {
  return Array.isArray(needs) ? needs.filter((need) => typeof need === "string") : [];
}

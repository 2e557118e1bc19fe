/** What the arguments of a prompt are, of what was given for them. Pure. */
import { UsageError } from "../../permissions/mod.ts";
import { didYouMean } from "../did_you_mean.ts";
import { display } from "../display.ts";
import type { PromptArgument } from "../surfaces/prompts.ts";
import { DOCUMENT_LIMITS as LIMITS } from "./limits.ts";
import type { Substitutes } from "./substitute.ts";
import type { PromptArguments } from "./types.ts";

/** Throws UsageError for arguments that are missing, unknown or no texts; `id` is the prompt's. */
export function fillArguments(
  id: string,
  declared: readonly PromptArgument[],
  { values = {}, words = [] }: PromptArguments,
): Substitutes {
  const names = declared.map(({ name }) => name);
  for (const [name, value] of Object.entries(values)) {
    if (!names.includes(name)) throw usage(id, unknownText(name, names));
    if (typeof value !== "string") throw usage(id, `the argument "${display(name)}" is no text`);
  }
  if (words.length > LIMITS.wordsMax) {
    throw usage(id, `it was given ${words.length} words; at most ${LIMITS.wordsMax} are taken (wordsMax)`);
  }
  const filled = new Map<string, string>();
  const left = [...words];
  const open = declared.filter(({ name }) => !Object.hasOwn(values, name));
  for (const { name } of declared) {
    if (Object.hasOwn(values, name)) {
      filled.set(name, values[name]!);
      continue;
    }
    const isLast = name === open.at(-1)?.name;
    const taken = left.splice(0, isLast ? left.length : 1);
    if (taken.length > 0) filled.set(name, taken.join(" "));
  }
  const missing = declared.filter(({ name, required }) => required === true && !filled.has(name));
  if (missing.length > 0) throw usage(id, missingText(missing));
  const texts = new Map(names.map((name) => [name, filled.get(name) ?? ""]));
  // Whoever gives arguments by name means them by their place as well.
  return { words: words.length > 0 ? words : [...texts.values()], values: texts };
}

function missingText(missing: readonly PromptArgument[]): string {
  const [only] = missing;
  const each = missing.map(({ name, description }) =>
    `"${display(name)}"${description === undefined ? "" : ` (${display(description, { max: 120 })})`}`
  );
  return `${each.join(" and ")} ${missing.length === 1 ? "is" : "are"} missing. Write ${
    missing.length === 1 ? `--arg ${only!.name}=…` : "--arg name=… for each"
  }, or words behind the id`;
}

function unknownText(name: string, names: readonly string[]): string {
  const near = didYouMean(name, names);
  const there = names.length === 0 ? "it declares none" : `it has ${names.join(", ")}`;
  return `it has no argument "${display(name)}": ${there}${near === null ? "" : `. Did you mean "${near}"?`}`;
}

function usage(id: string, why: string): UsageError {
  return new UsageError("ERR_USAGE", `Cannot use prompt "${display(id)}": ${why}`);
}

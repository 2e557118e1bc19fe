/** Prompts: Markdown with front matter that a person may ask for by typing `/<plugin>:<name>`. */
import { z } from "zod";
import { COMMON, lineValue, namesList } from "../documents/fields.ts";
import { DOCUMENT_LIMITS as LIMITS } from "../documents/limits.ts";
import { ARGUMENT_NAME } from "../documents/substitute.ts";
import { keyed } from "../manifest/keyed.ts";
import { documentSurface, memberOf, type Surface } from "./surface.ts";

/** One argument that a prompt declares. */
export interface PromptArgument {
  /** `{{name}}` stands for it. */
  readonly name: string;
  /** What it is, for people. */
  readonly description?: string;
  /** Whether the prompt cannot be had without it. */
  readonly required?: boolean;
}

const argument: z.ZodType<PromptArgument> = keyed({
  name: z.string().regex(ARGUMENT_NAME, {
    error: "must be 1 to 64 letters, digits, dashes and underscores, and must start with a letter",
  }),
  title: COMMON.title,
  description: COMMON.description,
  required: z.boolean().exactOptional(),
}, { hints: { require: 'did you mean "required"?' } });

/** The surface of prompts. */
export const prompts: Surface<readonly string[]> = documentSurface({
  name: "prompts",
  doc: "Texts that a person asks for by name.",
  live: true,
  extensions: [".md"],
  isLocal: true,
  typedAs: "prompt",
  format: {
    form: "markdown",
    schema: keyed({
      ...COMMON,
      arguments: z.array(argument).max(LIMITS.argumentsMax).exactOptional(),
      "argument-hint": namesList.exactOptional(),
      "allowed-tools": namesList.exactOptional(),
      model: lineValue.exactOptional(),
    }),
    usage: (data) => {
      const hint = memberOf(data, "argument-hint") as string | readonly string[] | undefined; // the schema accepted it
      const named = argumentsOf(data).map(({ name, required }) =>
        required === true ? `<${name}>` : `[${name}]`
      );
      const words = hint === undefined ? named : [hint].flat();
      return words.length === 0 ? undefined : words.join(" ");
    },
    check: (data) => {
      const names = argumentsOf(data).map(({ name }) => name);
      return names.flatMap((name, place) =>
        names.indexOf(name) === place
          ? []
          : [{ path: ["arguments", place, "name"], message: `the argument "${name}" is there twice` }]
      );
    },
  },
});

/** The arguments that front matter declares; of what is wrong with them, what can be read. */
export function argumentsOf(frontMatter: unknown): readonly PromptArgument[] {
  const declared = memberOf(frontMatter, "arguments");
  // The cast holds for what the schema accepted; of the rest only names are looked at, which are texts.
  return Array.isArray(declared)
    ? declared.filter((each): each is PromptArgument => typeof memberOf(each, "name") === "string")
    : [];
}

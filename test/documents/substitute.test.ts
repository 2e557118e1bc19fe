import { describe, expect, test } from "vitest";
import { LimitError, UsageError } from "../../permissions/mod.ts";
import { DOCUMENT_LIMITS as LIMITS } from "../../src/documents/limits.ts";
import { fillArguments } from "../../src/documents/prompt_arguments.ts";
import { substitute, undeclaredNames } from "../../src/documents/substitute.ts";

const DECLARED = [{ name: "topic", required: true }, { name: "tone" }] as const;

function filled(
  text: string,
  args: Parameters<typeof fillArguments>[2],
  declared: Parameters<typeof fillArguments>[1] = DECLARED,
) {
  return substitute(text, fillArguments("p/brief", declared, args));
}

test("placeholders stand for words, all words and declared arguments", () => {
  expect(filled("$1|$2|$3|$ARGUMENTS|{{topic}}|{{ tone }}", { words: ["bees", "dry", "and", "short"] })).toBe(
    "bees|dry|and|bees dry and short|bees|dry and short",
  );
  expect(filled("$1|$2|$ARGUMENTS", { values: { topic: "bees", tone: "dry" } })).toBe("bees|dry|bees dry");
  expect(filled("{{topic}}, {{tone}}", { values: { tone: "dry" }, words: ["busy", "bees"] })).toBe(
    "busy bees, dry",
  );
  expect(filled("$1 $ARGUMENTS", { words: ["a", "b"] }, [])).toBe("a a b");
});

test("what is no placeholder is the author's text", () => {
  const text = "$0 $ $x $ARGUMENTS2 {{other}} {topic} {{ to pic }} $$ cost";
  expect(filled(text, { words: ["bees"] })).toBe(text);
  expect(filled("\\$1 \\{{topic}} \\$ARGUMENTS costs \\$5", { words: ["bees"] })).toBe(
    "$1 {{topic}} $ARGUMENTS costs $5",
  );
});

describe("what an argument says is never looked at again", () => {
  const hostile = ["$1", "$2", "$ARGUMENTS", "{{tone}}", "{{topic}}", "$&", "$$", "$`", "\\$1"];
  test.each(hostile)("%s", (value) => {
    expect(filled("<{{topic}}> <$1> <$ARGUMENTS> <{{tone}}>", { values: { topic: value, tone: "dry" } }))
      .toBe(
        `<${value}> <${value}> <${value} dry> <dry>`,
      );
  });
});

test("a required argument that is missing, and one that was not declared, are errors that name it", () => {
  const refused = (args: Parameters<typeof fillArguments>[2]): string => {
    try {
      filled("", args);
    } catch (error) {
      expect(error).toBeInstanceOf(UsageError);
      return (error as Error).message;
    }
    throw new Error("nothing was refused");
  };
  expect(refused({})).toMatch(/"p\/brief".*"topic" is missing.*--arg topic=/);
  expect(refused({ values: { tone: "dry" } })).toContain('"topic" is missing');
  expect(refused({ values: { topic: "a", tonne: "dry" } })).toContain('Did you mean "tone"?');
  expect(refused({ values: { topic: "a", ["__proto__"]: "x" } })).toContain('"__proto__"');
  expect(refused({ values: { topic: 5 as unknown as string } })).toContain("no text");
  expect(refused({ words: Array(LIMITS.wordsMax + 1).fill("a") })).toContain("wordsMax");
  expect(filled("{{topic}}", { values: { topic: "" } })).toBe("");
});

test("a prompt that repeats an argument ends at a bound, before it is built", () => {
  const half = "a".repeat(LIMITS.promptCharsMax / 2);
  expect(filled("{{topic}}{{topic}}", { values: { topic: half } })).toHaveLength(LIMITS.promptCharsMax);
  expect(() => filled("{{topic}}{{topic}}.", { values: { topic: half } })).toThrow(LimitError);
  expect(() => filled("$ARGUMENTS".repeat(100_000), { words: [half] })).toThrow("promptCharsMax");
});

test("names in double braces that nobody declared are found", () => {
  expect(undeclaredNames("{{topic}} {{topik}} {{topik}} \\{{code}} $1", ["topic"])).toEqual(["topik"]);
});

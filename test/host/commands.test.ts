import { beforeAll, describe, expect, test } from "vitest";
import type { Tenant } from "../../src/mod.ts";
import { splitWords } from "../../src/typed/words.ts";
import { approve, failureOf, hosted, temporary, write } from "./support.ts";

const MANIFEST = `name: desk
version: "1.0.0"
capabilities:
  commands:
    - { name: echo, target: "desk.js:echo", description: Says it again, usage: "<words>" }
    - { name: shout, target: "desk.js:shout" }
    - { name: broken, target: "desk.js:broken" }
    - { name: hidden, target: "desk.js:echo" }
  panels:
    - { name: status, target: "desk.js:status" }
`;

const CODE = `
export const echo = (input) => input;
export const shout = ({ args }) => args.toUpperCase();
export const broken = () => { throw new Error("out of paper"); };
export const status = ({ argv = [] }) => ({ type: "text", text: "all is well " + argv.join("+") });
`;

let tenant: Tenant;

beforeAll(async () => {
  const directory = temporary();
  write(directory, { "plugin.yaml": MANIFEST, "desk.js": CODE });
  tenant = (await hosted()).tenant("acme", { plugins: [directory] });
  await approve(tenant, "desk");
  await tenant.hide(["desk/hidden"]);
});

test("a command is called with what was typed, as it was typed and as words", async () => {
  expect(await tenant.commands.run("/desk:echo", `one 'two words'  "three" it's`)).toEqual({
    args: `one 'two words'  "three" it's`,
    argv: ["one", "two words", "three", "it's"],
  });
  expect(await tenant.commands.run("/desk:echo", ["one", "two words"])).toEqual({
    args: "one two words",
    argv: ["one", "two words"],
  });
  expect(await tenant.commands.run("/desk:echo")).toEqual({ args: "", argv: [] });
  expect(await tenant.commands.run("/desk:shout", "hello")).toBe("HELLO");
});

test("it is called by its id as well, with nothing but what a command is called with", async () => {
  const input = { args: "a b", argv: ["a", "b"] };
  expect(await tenant.call("desk/echo", input)).toEqual(input);
  expect(await tenant.call("/desk:echo", input)).toEqual(input);
  for (
    const wrong of [{}, { args: 1, argv: [] }, { ...input, more: 1 }, { ...input, values: { "a b": 1 } }]
  ) {
    expect((await failureOf(tenant.call("desk/echo", wrong))).code).toBe("ERR_CAPABILITY_INPUT_INVALID");
  }
});

test("one catalog has all that is offered and can be typed, and nothing that is not", async () => {
  const list = await tenant.commands.list();
  expect(list.map(({ typed, kind }) => `${kind} ${typed}`)).toEqual([
    "command /desk:echo",
    "command /desk:shout",
    "command /desk:broken",
    "panel /desk:status",
  ]);
  expect(list[0]).toEqual({
    typed: "/desk:echo",
    kind: "command",
    id: "desk/echo",
    plugin: "desk",
    description: "Says it again",
    usage: "<words>",
  });
  for (const { typed } of list) {
    const run = tenant.commands.run(typed, "x");
    if (typed === "/desk:broken") expect((await failureOf(run)).code).toBe("ERR_GUEST_THREW");
    else await run;
  }
});

test("[R12] prompts are found with commands, and typed with words that stand for their arguments", async () => {
  const directory = temporary();
  write(directory, {
    "plugin.yaml": `name: words
version: "1"
capabilities:
  commands: [{ name: count, target: "x.js:count", usage: "<words>" }]
  prompts: [prompts/brief.md]
`,
    "x.js": "export const count = ({ argv }) => argv.length;",
    "prompts/brief.md": `---
description: Writes a brief
arguments:
  - { name: topic, required: true }
  - { name: tone }
---
Write about {{topic}}, {{tone}}. All of it: $ARGUMENTS
`,
  });
  const words = (await hosted()).tenant("words", { plugins: [directory] });
  await approve(words, "words");
  expect(await words.commands.list()).toEqual([
    {
      typed: "/words:count",
      kind: "command",
      id: "words/count",
      plugin: "words",
      description: null,
      usage: "<words>",
    },
    {
      typed: "/words:brief",
      kind: "prompt",
      id: "words/brief",
      plugin: "words",
      description: "Writes a brief",
      usage: "<topic> [tone]",
    },
  ]);
  const text = await words.commands.run("/words:brief", `"the sea" calm and {{topic}}`);
  expect(text).toBe("Write about the sea, calm and {{topic}}. All of it: the sea calm and {{topic}}\n");
  expect(await words.commands.run("/words:count", `"the sea" calm`)).toBe(2);
  expect((await failureOf(words.commands.run("/words:brief"))).message).toContain("topic");
  expect((await failureOf(words.commands.run("/words:briefs", ""))).message).toContain(
    'Did you mean "/words:brief"?',
  );
});

test("[R47] a panel that is typed gives its text", async () => {
  expect(await tenant.commands.run("/desk:status")).toBe("all is well");
  expect(await tenant.commands.run("/desk:status", "a 'b c'")).toBe("all is well a+b c");
});

test("a name that is not there lists what is, and which may have been meant; one that is hidden says so", async () => {
  const unknown = await failureOf(tenant.commands.run("/desk:ecco", "x"));
  expect(unknown).toMatchObject({
    code: "ERR_CAPABILITY_UNKNOWN",
    details: { meant: "/desk:echo", available: expect.arrayContaining(["/desk:shout", "/desk:status"]) },
  });
  expect(unknown.message).toContain('Did you mean "/desk:echo"?');
  const strange = await failureOf(tenant.commands.run("/other:things"));
  expect(strange.message).toContain("there are /desk:echo, ");
  expect(strange.message).not.toContain("Did you mean");
  expect((await failureOf(tenant.commands.run("/desk:hidden"))).code).toBe("ERR_CAPABILITY_NOT_EXPOSED");
  const empty = (await hosted()).tenant("empty", { plugins: [] });
  expect((await failureOf(empty.commands.run("/desk:echo"))).message).toContain("nothing can be typed here");
});

test("a command's own failure is told as that", async () => {
  expect(await failureOf(tenant.commands.run("/desk:broken"))).toMatchObject({
    name: "GuestError",
    code: "ERR_GUEST_THREW",
    message: 'Plugin "desk" failed: Error: out of paper',
  });
});

test("what is run or typed has one owner of its id in a plugin; documents may share one", async () => {
  const directory = temporary();
  const head = 'name: twins\nversion: "1"\ncapabilities:\n';
  const typed = `${head}  commands: [{ name: a, target: "x.js:a" }]\n`;
  const files = {
    "x.js": "export const a = () => 'the command';",
    "skills/a/SKILL.md": "---\nname: a\ndescription: Words\n---\nWords\n",
  };
  write(directory, { ...files, "plugin.yaml": `${typed}  panels: [{ name: a, target: "x.js:a" }]\n` });
  const tenantOf = async (id: string) => (await hosted()).tenant(id, { plugins: [directory] });
  const refused = await (await tenantOf("one")).list();
  expect(refused).toMatchObject([{ state: "invalid" }]);
  expect(refused[0]!.reason).toContain('the name "a" is taken by $.capabilities.commands[0].name');
  write(directory, { "plugin.yaml": `${typed}  skills: [skills/a/SKILL.md]\n` });
  const two = await tenantOf("two");
  await approve(two, "twins");
  expect(await two.commands.run("/twins:a")).toBe("the command");
});

describe("words", () => {
  test.each([
    ["", []],
    ["   ", []],
    ["a b\tc\nd", ["a", "b", "c", "d"]],
    [`'a b' "c d" e\\ f`, ["a b", "c d", "e f"]],
    [`x'y'"z"`, ["xyz"]],
    [`'' ""`, ["", ""]],
    [`"a \\" b" 'c \\ d'`, [`a " b`, "c \\ d"]],
    ["$HOME *.ts ~ `ls` $(ls) a|b; c>d", ["$HOME", "*.ts", "~", "`ls`", "$(ls)", "a|b;", "c>d"]],
    [`it's fine`, ["it's", "fine"]],
    [`say "hello`, ["say", `"hello`]],
    ["end\\", ["end\\"]],
  ])("%j", (text, words) => {
    expect(splitWords(text)).toEqual(words);
  });
});

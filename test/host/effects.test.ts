/**
 * One use of each surface through the whole assembly, from a directory to what comes of it. `npm run mutate:surfaces` takes
 * the surfaces out of their table one by one, and wants the test of each to fail.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Tenant } from "../../src/mod.ts";
import { approved, failureOf, type Files, hosted, ROOT, temporary, write } from "./support.ts";

const ECHO = "  tools: [{ name: echo, target: 'code.ts:echo', input: { type: object } }]\n";
const CODE = "export const echo = (input) => input;\n";

/** A tenant of one plugin, trusted and exposed as an embedder does it. */
async function assembled(capabilities: string, files: Files): Promise<Tenant> {
  const directory = join(temporary(), "effect");
  write(directory, {
    "plugin.yaml": `name: effect\nversion: "1"\ncapabilities:\n${capabilities}`,
    ...files,
  });
  return await approved(await hosted(), "acme", { plugins: [directory] });
}

describe("the whole assembly", { timeout: 60_000 }, () => {
  test("[R11] tools: a call gives what the tool makes of its input", async () => {
    const tenant = await assembled(
      "  tools: [{ name: twice, target: 'code.ts:twice', input: { type: object } }]\n",
      {
        "code.ts": "export const twice = ({ n }) => n * 2;\n",
      },
    );
    expect(await tenant.call("plugin__effect__twice", { n: 21 })).toBe(42);
  });

  test("[R11] commands: what is typed is answered", async () => {
    const tenant = await assembled("  commands: [{ name: greet, target: 'code.ts:greet' }]\n", {
      "code.ts": "export const greet = ({ args }) => `Hello, ${args}!`;\n",
    });
    expect(await tenant.commands.run("/effect:greet", "Ada")).toBe("Hello, Ada!");
  });

  test("[R11] hooks: a call is stopped by the hook before it", async () => {
    const hook = "  hooks: { PreToolUse: [{ hooks: [{ type: module, target: 'code.ts:before' }] }] }\n";
    const tenant = await assembled(ECHO + hook, {
      "code.ts":
        `${CODE}export const before = ({ input }) => input.stop ? { decision: "block", reason: "asked to" } : null;\n`,
    });
    expect(await tenant.call("echo", { n: 1 })).toEqual({ n: 1 });
    expect((await failureOf(tenant.call("echo", { stop: true }))).details).toMatchObject({
      by: "effect/PreToolUse/0/0",
      reason: "asked to",
    });
  });

  test("[R11] prompts: a prompt comes with its argument in it", async () => {
    const tenant = await assembled("  prompts: [prompts/ask.md]\n", {
      "prompts/ask.md": "---\narguments: [{ name: topic, required: true }]\n---\nAsk about {{topic}}.\n",
    });
    expect(await tenant.documents.prompt("/effect:ask", { words: ["bees"] })).toBe("Ask about bees.\n");
  });

  test("[R11] skills: a skill is read", async () => {
    const tenant = await assembled("  skills: [skills/knots/SKILL.md]\n", {
      "skills/knots/SKILL.md": "---\nname: knots\ndescription: How to tie\n---\nPull.\n",
    });
    expect(await tenant.documents.read("effect/knots")).toMatchObject({
      surface: "skills",
      frontMatter: { description: "How to tie" },
      text: "Pull.\n",
    });
  });

  test("[R11] agents: a profile is read", async () => {
    const tenant = await assembled("  agents: [agents/cook.md]\n", {
      "agents/cook.md": "---\ndescription: Cooks\n---\nYou cook.\n",
    });
    expect(await tenant.documents.read("effect/cook")).toMatchObject({
      surface: "agents",
      text: "You cook.\n",
    });
  });

  test("[R11] playbooks: the steps are read", async () => {
    const tenant = await assembled("  playbooks: [playbooks/bake.yaml]\n", {
      "playbooks/bake.yaml": "steps: [{ name: knead, instructions: Knead it }]\n",
    });
    expect(await tenant.documents.read("effect/bake")).toMatchObject({
      surface: "playbooks",
      frontMatter: { steps: [{ name: "knead", instructions: "Knead it" }] },
    });
  });

  test("[R11] packs: a role is shown as the pack says", async () => {
    const tenant = await assembled("  agents: [agents/cook.md]\n  packs: [packs/grand.yaml]\n", {
      "agents/cook.md": "---\ndescription: Cooks\n---\nYou cook.\n",
      "packs/grand.yaml": "roles: { effect/cook: { title: The chef } }\n",
    });
    expect((await tenant.documents.read("effect/cook")).style).toMatchObject({
      title: "The chef",
      packs: ["effect/grand"],
    });
  });

  test("[R11] themes: a theme comes with its image", async () => {
    const png = readFileSync(join(ROOT, "examples/dusk/themes/dusk/sky.png"));
    const tenant = await assembled("  themes: [themes/dusk/theme.json]\n", {
      "themes/dusk/theme.json": '{ "colors": { "text": "#eeeeee" }, "images": { "sky": "sky.png" } }\n',
      "themes/dusk/sky.png": png,
    });
    const { colors, images } = await tenant.documents.theme("plugin:effect:dusk");
    expect(colors).toEqual({ text: "#eeeeee" });
    expect(Buffer.from(images["sky"]!.bytes).equals(png)).toBe(true);
  });

  test("[R11] providers: who is found by name answers piece by piece", async () => {
    const tenant = await assembled("  providers: [{ name: count, target: 'code.ts:count' }]\n", {
      "code.ts": "export async function* count({ to }) { for (let n = 1; n <= to; n++) yield n; }\n",
    });
    const { ref } = await tenant.providers.match("count");
    expect(await Array.fromAsync(tenant.providers.stream(ref, { to: 3 }))).toEqual([1, 2, 3]);
  });

  test("[R11] guardrails: what a tool gives is stopped", async () => {
    const guard = "  guardrails: [{ name: quiet, on: [tool.output], target: 'code.ts:quiet' }]\n";
    const tenant = await assembled(ECHO + guard, {
      "code.ts":
        `${CODE}export const quiet = ({ output }) => output.loud ? { decision: "block", reason: "too loud" } : null;\n`,
    });
    expect(await tenant.call("echo", { loud: false })).toEqual({ loud: false });
    expect((await failureOf(tenant.call("echo", { loud: true }))).details).toMatchObject({
      by: "effect/quiet",
      reason: "too loud",
    });
  });

  test("[R11] interceptors: a call goes on with what they put in its place, and so does its result", async () => {
    const around = "  interceptors: [{ point: tool.call, target: 'code.ts:around' }]\n";
    const tenant = await assembled(ECHO + around, {
      "code.ts":
        `${CODE}export const around = ({ phase, input, output }) => ({ decision: "replace", value: { ...(output ?? input), [phase]: true } });\n`,
    });
    expect(await tenant.call("echo", {})).toEqual({ before: true, after: true });
  });

  test("[R11] panels: a panel is drawn", async () => {
    const tenant = await assembled("  panels: [{ name: sign, target: 'code.ts:sign' }]\n", {
      "code.ts": 'export const sign = () => ({ type: "text", text: "Open" });\n',
    });
    expect((await tenant.panels.render("effect/sign")).text).toBe("Open");
  });
});

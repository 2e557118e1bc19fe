/** A hook: looks at calls before they are made, and may stop them. */
import { manifestHead, packageJson, type Template, testFile } from "./template.ts";

/** Keeps notes, and stops those that look like a credential. */
export const hook: Template = {
  doc: "code that looks at calls, and may stop them",
  files: (plugin) => ({
    "plugin.yaml": `${manifestHead(plugin, "Repeats notes, but for what looks like a password")}  tools:
    - name: note
      target: tools/note.ts:note
      description: Repeats a note
      input:
        type: object
        properties:
          text: { type: string }
        required: [text]
  hooks:
    # Calls of other plugins' tools are seen with the permission observe, such as observe: ["tool.input notes"].
    PreToolUse:
      - matcher: note
        hooks: [{ type: module, target: "hooks/guard.ts:guard" }]
`,
    "tools/note.ts": `import type { ToolHandler } from "sallyport/plugin";

/** Repeats a note. */
export const note: ToolHandler<{ readonly text: string }> = ({ text }) => ({ text });
`,
    "hooks/guard.ts": `import type { HookHandler } from "sallyport/plugin";

/** Stops what looks like a password. */
export const guard: HookHandler = ({ input }) => {
  const { text = "" } = input as { readonly text?: string };
  if (/password/i.test(text)) return { decision: "block", reason: "it looks like a password" };
  return { decision: "continue" };
};
`,
    "test/guard.test.ts": testFile(
      "lets notes pass, and stops what looks like a password",
      `assert.deepEqual(await plugin.call("note", { text: "buy milk" }), { text: "buy milk" });
await assert.rejects(plugin.call("note", { text: "my password is x" }), /it looks like a password/);`,
    ),
    "package.json": packageJson(plugin),
  }),
  tryIt: (where) =>
    ["buy milk", "my password is x"].map((text) =>
      `run ${where} note --yes --input '${JSON.stringify({ text })}'`
    ),
};

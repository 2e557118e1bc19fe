/** A skill: a text that a model reads when it needs it. */
import { manifestHead, packageJson, type Template, testFile } from "./template.ts";

/** How to write a change log. */
export const skill: Template = {
  doc: "a text that a model reads when it needs it",
  files: (plugin) => ({
    "plugin.yaml": `${manifestHead(plugin, "How to write a change log")}  skills:
    - skills/changelog/SKILL.md
`,
    "skills/changelog/SKILL.md": `---
name: changelog
description: How to write a change log that people read
---

Write for whoever upgrades. Say what they will notice, in their words, the most important first.
`,
    "test/changelog.test.ts": testFile(
      "says when it is needed, and what to do then",
      `const { frontMatter, text } = await plugin.document("changelog");
assert.equal(frontMatter.description, "How to write a change log that people read");
assert.match(text, /whoever upgrades/);`,
    ),
    "package.json": packageJson(plugin),
  }),
  tryIt: (where, plugin) => [`trust ${where}`, `show ${plugin}/changelog --in ${where}`],
};

/** A command: what a person starts by typing its name. */
import { manifestHead, packageJson, type Template, testFile } from "./template.ts";

/** Says how many words it was given. */
export const command: Template = {
  doc: "what a person starts by typing /<plugin>:<name>",
  files: (plugin) => ({
    "plugin.yaml": `${manifestHead(plugin, "Counts words")}  commands:
    - name: count
      target: commands/count.ts:count
      description: Counts the words behind its name
      usage: "<words>"
`,
    "commands/count.ts": `import type { CommandHandler } from "sallyport/plugin";

/** Counts the words behind its name. */
export const count: CommandHandler = ({ argv }) => \`\${argv.length} words\`;
`,
    "test/count.test.ts": testFile(
      "counts words as a shell splits them",
      `assert.equal(await plugin.command("count", "one 'two of them'"), "2 words");`,
    ),
    "package.json": packageJson(plugin),
  }),
  tryIt: (where) => [`run ${where} count one two three --yes`],
};

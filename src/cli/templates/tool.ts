/** A tool: a function that a model or a program calls. */
import { manifestHead, packageJson, type Template, testFile } from "./template.ts";

/** Greets people. */
export const tool: Template = {
  doc: "a function that a model or a program calls",
  files: (plugin) => ({
    "plugin.yaml": `${manifestHead(plugin, "Greets people")}  tools:
    - name: greet
      target: tools/greet.ts:greet
      description: Greets somebody by name
      input:
        type: object
        properties:
          name: { type: string }
        required: [name]
`,
    "tools/greet.ts": `import type { ToolHandler } from "sallyport/plugin";

interface Input {
  readonly name: string;
}

/** Greets somebody by name. */
export const greet: ToolHandler<Input> = ({ name }) => ({ greeting: \`Hello, \${name}!\` });
`,
    "test/greet.test.ts": testFile(
      "greets by name",
      `assert.deepEqual(await plugin.call("greet", { name: "you" }), { greeting: "Hello, you!" });`,
    ),
    "package.json": packageJson(plugin),
  }),
  tryIt: (where) => [`run ${where} greet --yes --input '{"name":"you"}'`],
};

/** A panel: a view for a person, and the command that its form is sent to. */
import { manifestHead, packageJson, type Template, testFile } from "./template.ts";

/** Shows a form, and takes what it was filled in with. */
export const panel: Template = {
  doc: "a view that is drawn for a person, with a form",
  files: (plugin) => ({
    "plugin.yaml": `${manifestHead(plugin, "Shows a form")}  panels:
    - name: desk
      target: panels/desk.ts:desk
      description: A greeting, and a form to change it
  commands:
    - name: greet
      target: commands/greet.ts:greet
      description: Greets whoever the form names
      usage: name=<name>
`,
    "panels/desk.ts": `import type { PanelHandler } from "sallyport/plugin";

/** A greeting, and a form to change it. */
export const desk: PanelHandler = () => [
  { type: "text", text: "Whom shall I greet?", style: "heading" },
  { type: "form", action: "greet", label: "Greet", fields: [{ name: "name", value: "you", required: true }] },
];
`,
    "commands/greet.ts": `import type { CommandHandler } from "sallyport/plugin";

/** Greets whoever the form names, or whoever is typed as name=…. */
export const greet: CommandHandler = ({ argv, values }) => {
  const typed = argv.find((word) => word.startsWith("name="))?.slice("name=".length);
  return \`Hello, \${values?.["name"] ?? typed ?? "stranger"}!\`;
};
`,
    "test/desk.test.ts": testFile(
      "shows a form, and does what it is for",
      `const { text } = await plugin.panel("desk");
assert.match(text, /name \\[you\\]/);
assert.equal(await plugin.tenant.panels.submit(\`\${plugin.name}/desk\`, "greet", { name: "Ada" }), "Hello, Ada!");
assert.equal(await plugin.command("greet", "name=Ada"), "Hello, Ada!");`,
    ),
    "package.json": packageJson(plugin),
  }),
  tryIt: (where) => [`run ${where} desk --yes`],
};

/** A provider: answers piece by piece. */
import { manifestHead, packageJson, type Template, testFile } from "./template.ts";

/** Says a text word by word. */
export const provider: Template = {
  doc: "a service that a host matches by name, and that answers piece by piece",
  files: (plugin) => ({
    "plugin.yaml": `${manifestHead(plugin, "Says a text word by word")}  providers:
    - name: echo
      target: providers/echo.ts:echo
      description: Says the prompt again, word by word
`,
    "providers/echo.ts": `import type { ProviderHandler } from "sallyport/plugin";

interface Input {
  readonly prompt: string;
}

/** Says the prompt again, word by word. */
export const echo: ProviderHandler<Input, string> = async function* ({ prompt }) {
  for (const word of prompt.split(" ")) yield \`\${word} \`;
};
`,
    "test/echo.test.ts": testFile(
      "answers word by word",
      `const words = await Array.fromAsync(plugin.stream("echo", { prompt: "one two" }));
assert.deepEqual(words, ["one ", "two "]);`,
    ),
    "package.json": packageJson(plugin),
  }),
  tryIt: (where) => [`run ${where} echo --yes --input '{"prompt":"one two three"}'`],
};

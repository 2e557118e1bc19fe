/** What a starter is made of. */
import { VERSION } from "../../version.ts";

/** One kind of plugin to start from. */
export interface Template {
  /** What it makes, for the help. */
  readonly doc: string;
  /** Its files by path. */
  files(plugin: string): Readonly<Record<string, string>>;
  /** What is typed behind `sallyport` to see it work; `where` is its directory, quoted. */
  tryIt(where: string, plugin: string): readonly string[];
}

/** What every starter has besides: how its own test is run, and the package that the test needs. */
export function packageJson(plugin: string): string {
  const manifest = {
    name: plugin,
    private: true,
    type: "module",
    scripts: { test: "node --test" },
    devDependencies: { sallyport: `^${VERSION}` },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** The head of a manifest. */
export function manifestHead(plugin: string, description: string): string {
  return `name: "${plugin}"
version: "0.1.0"
description: ${description}
# What it may do is asked for here, such as net: ["api.example.com:443"]. This one asks for nothing.
capabilities:
`;
}

/** A test of one case, with \`plugin\` in hand. */
export function testFile(title: string, body: string): string {
  return `import assert from "node:assert/strict";
import { test } from "node:test";
import { testPlugin } from "sallyport/testing";

test("${title}", async () => {
  await using plugin = await testPlugin(\`\${import.meta.dirname}/..\`);
${body.split("\n").map((line) => line === "" ? "" : `  ${line}`).join("\n")}
});
`;
}

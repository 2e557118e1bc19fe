/**
 * What the README shows is run: `sh` blocks by a shell in a copy of what they name, with `npx sallyport` and `sallyport`
 * being this repository's own, and `ts` blocks by Node. A block marked `sh norun` or `ts norun` is left alone; a line may say
 * `# exit 4` when it is to fail. What `npm` is asked for must be a script of package.json.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { temporary } from "./bundler/support.ts";
import { program, programs, ROOT, shell } from "./cli/support.ts";

interface Block {
  readonly language: string;
  readonly line: number;
  readonly text: string;
}

const readme = readFileSync(join(ROOT, "README.md"), "utf8");
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};

/** The blocks of a page in the languages that are run. */
function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```(sh|ts)[ \t]*(\S*)[ \t]*\n([^]*?)^```[ \t]*$/gm)].filter(([, , mark]) =>
    mark !== "norun"
  )
    .map(({ 1: language, 3: text, index }) => ({
      language: language!,
      line: page.slice(0, index).split("\n").length,
      text: text!,
    }));
}

/** A shell text in which each line must end as it says. */
function scriptOf({ text }: Block): string {
  const lines = text.replaceAll(/\\\n\s*/g, " ").split("\n").map((line) => line.replace(/^\$ /, ""));
  const checked = lines.map((line) => {
    const exit = /#.*\bexit (\d+)/.exec(line)?.[1];
    return exit === undefined ? line : `( ${line.replace(/\s+#.*$/, "")} ) && false || [ $? -eq ${exit} ]`;
  });
  return `set -e\n${checked.join("\n")}\n`;
}

/** Where the commands of a page run: the examples, and the programs that they call. */
function playground() {
  const cwd = join(temporary(), "work");
  mkdirSync(cwd);
  for (const name of ["examples", "README.md", "package.json"]) {
    cpSync(join(ROOT, name), join(cwd, name), { recursive: true });
  }
  const path = programs();
  const known = Object.keys(scripts).join("|");
  program(
    path,
    "npm",
    `case "$1" in
  ci | install) exit 0 ;;
  test) set -- run test ;;
esac
[ "$1" = run ] || { echo "npm $*: not known here" >&2; exit 9; }
case "$2" in ${known}) exit 0 ;; esac
echo "package.json has no script $2" >&2
exit 9\n`,
  );
  return { cwd, path, home: temporary() };
}

/** Files behind what is imported. */
const DOORS: Readonly<Record<string, string>> = {
  "": "src/mod.ts",
  "/permissions": "permissions/mod.ts",
  "/testing": "src/testing/mod.ts",
};

async function runShell(block: Block): Promise<void> {
  const { exit, stdout, stderr } = await shell(scriptOf(block), playground());
  expect({ exit, stdout, stderr }).toMatchObject({ exit: 0 });
}

function runModule(block: Block): void {
  const { cwd, home } = playground();
  const source = block.text.replaceAll(
    /from "sallyport(\/(?:permissions|testing))?"/g,
    (_match, door: string = "") => {
      const file = DOORS[door]!;
      return `from ${JSON.stringify(pathToFileURL(join(ROOT, file)).href)}`;
    },
  );
  writeFileSync(
    join(cwd, "example.ts"),
    source.replaceAll('from "zod"', `from ${JSON.stringify(import.meta.resolve("zod"))}`),
  );
  const { status, stdout, stderr } = spawnSync(process.execPath, ["example.ts"], {
    cwd,
    encoding: "utf8",
    env: { PATH: process.env.PATH, HOME: home },
  });
  expect({ status, stdout, stderr }).toMatchObject({ status: 0 });
}

describe("README", () => {
  const blocks = blocksOf(readme);
  test.each(blocks.filter(({ language }) => language === "sh"))(
    "[R15] the commands at line $line do what they say",
    { timeout: 120_000 },
    runShell,
  );
  test.each(blocks.filter(({ language }) => language === "ts"))(
    "[R15] the example at line $line runs",
    { timeout: 60_000 },
    runModule,
  );

  test("[R15] it shows commands and a library example, and names no script that is not there", () => {
    expect(blocks.some(({ language, text }) => language === "sh" && text.includes("sallyport run"))).toBe(
      true,
    );
    expect(blocks.some(({ language, text }) => language === "ts" && text.includes("createHost"))).toBe(true);
    for (const [, name] of readme.matchAll(/\bnpm run ([\w:-]+)/g)) {
      expect(Object.keys(scripts)).toContain(name);
    }
  });
});

describe("the test of the page", () => {
  const page = (text: string) => blocksOf(text)[0]!;

  test("[R15] a wrong flag, an unknown script and a wrong exit code fail; a block marked norun is left alone", async () => {
    for (
      const line of [
        "sallyport list --no-such-flag",
        "npx sallyport list --no-such-flag",
        "npm run no-such-script",
        "npm ci && npm run no-such-script",
        "sallyport list # exit 4",
        "sallyport list --no-such-flag # exit 4",
      ]
    ) {
      await expect(runShell(page(`\`\`\`sh\n${line}\nsallyport list\n\`\`\`\n`)), line).rejects.toThrow();
    }
    expect(() => runModule(page('```ts\nimport { noSuchExport } from "sallyport";\nnoSuchExport();\n```\n')))
      .toThrow();
    expect(blocksOf("```sh norun\nfalse\n```\n```yaml\na: 1\n```\n")).toEqual([]);
  });

  test("[R15] the twins pass", async () => {
    for (
      const line of [
        "$ npx sallyport list",
        "npm ci && npm test",
        "sallyport list \\\n  --json",
        "sallyport list --no-such-flag # exit 2",
      ]
    ) {
      await runShell(page(`\`\`\`sh\n${line}\n\`\`\`\n`));
    }
    runModule(
      page('```ts\nimport { VERSION } from "sallyport";\nif (VERSION === "") throw new Error();\n```\n'),
    );
  });
});

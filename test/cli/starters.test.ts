/** Each starter as its author gets it: made by `init`, checked, run as `init` says, typed and tested by its own test. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { beforeAll, expect, test } from "vitest";
import { TEMPLATES } from "../../src/cli/templates/mod.ts";
import { write } from "../bundler/support.ts";
import { temporary } from "../host/support.ts";
import { type Outcome, programs, ROOT, shell } from "./support.ts";

/** What the lines that `init` prints as the next ones must say. */
const SAYS: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  tool: ["Hello, you!"],
  command: ["3 words"],
  hook: ["buy milk", /ERR_BLOCKED.*it looks like a password/],
  provider: ["one two three "],
  panel: [/name \[you\]\n {2}> Greet: \/a-panel:greet name=…/],
  skill: [/a-skill\/changelog/, "Write for whoever upgrades."],
};

const path = programs();
let place: string;

beforeAll(() => {
  place = temporary();
  mkdirSync(join(place, "work"));
  // The package as it would be installed, with the sources in the place of what is built of them.
  write(join(place, "work/node_modules/sallyport"), {
    "package.json": JSON.stringify({
      name: "sallyport",
      type: "module",
      exports: { "./testing": "./testing.js" },
    }),
    "testing.js": `export * from ${JSON.stringify(join(ROOT, "src/testing/mod.ts"))};`,
  });
});

function run(text: string): Promise<Outcome> {
  return shell(text, { cwd: join(place, "work"), home: join(place, "home"), path });
}

test.each(Object.keys(TEMPLATES))(
  "[R26] the starter for a %s is made, checked, built, run and tested",
  { timeout: 120_000 },
  async (name) => {
    const made = await run(`sallyport init ./a-${name} --template ${name}`);
    expect(made).toMatchObject({ exit: 0, stderr: "" });
    const [check, ...next] = [...made.stdout.matchAll(/^(?:Next: | {6})(sallyport .*)$/gm)].map(([, line]) =>
      line!
    );
    const checked = await run(`${check} --json`);
    expect(checked).toMatchObject({ exit: 0 });

    expect(next.length).toBe(SAYS[name]!.length);
    for (const [at, line] of next.entries()) {
      const hash = /sha256:[0-9a-f]{64}/.exec(checked.stdout)![0];
      const { stdout, stderr } = await run(
        line.startsWith("sallyport trust") ? `${line} --yes --fingerprint ${hash}` : line,
      );
      const said = SAYS[name]![at]!;
      if (typeof said === "string") expect(stdout + stderr).toContain(said);
      else expect(stdout + stderr).toMatch(said);
    }

    const directory = join(place, "work", `a-${name}`);
    const { scripts } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as {
      scripts: { test: string };
    };
    expect(scripts.test).toBe("node --test");
    const tested = await run(`cd a-${name} && '${process.execPath}' --test`);
    expect(tested, tested.stdout).toMatchObject({ exit: 0 });
    expect(tested.stdout).toMatch(/^. tests 1$/m);
    expect(tested.stdout).toMatch(/^. pass 1$/m);
  },
);

test(
  "[R10] the author types serve a starter from one definition: its handlers are typed by them, and run as they are",
  { timeout: 60_000 },
  async () => {
    const starters = join(place, "typed");
    for (const [name, { files }] of Object.entries(TEMPLATES)) write(join(starters, name), files(name));
    const code = Object.keys(TEMPLATES).flatMap((name) =>
      readdirSync(join(starters, name), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".ts") && !file.startsWith("test"))
        .map((file) => join(starters, name, file))
    );
    expect(code.length).toBeGreaterThanOrEqual(6);
    for (const file of code) {
      expect(readFileSync(file, "utf8")).toMatch(/import type \{ \w+Handler \} from "sallyport\/plugin"/);
    }
    typeCheck(starters, code);
    // Types that nothing is held to would let anything pass.
    write(starters, {
      "wrong.ts": `import type { PanelHandler } from "sallyport/plugin";
export const wrong: PanelHandler = () => ({ type: "html", html: "x" });
`,
    });
    expect(() => typeCheck(starters, [join(starters, "wrong.ts")])).toThrow();
    const { stdout } = await run(`sallyport run ../typed/tool greet --yes --json --input '{"name":"you"}'`);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, value: { greeting: "Hello, you!" } });
  },
);

function typeCheck(directory: string, files: readonly string[]): void {
  write(directory, {
    "tsconfig.json": JSON.stringify({
      extends: join(ROOT, "tsconfig.json"),
      compilerOptions: { types: [], paths: { "sallyport/plugin": [join(ROOT, "src/plugin_types.ts")] } },
      files,
      include: [],
      exclude: [],
    }),
  });
  execFileSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", directory], {
    stdio: "pipe",
  });
}

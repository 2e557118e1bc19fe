/** What `trust` shows and how it asks, at a real terminal: `script` of util-linux makes one. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { temporary, write } from "../bundler/support.ts";
import { ROOT } from "./support.ts";

const hasScript = spawnSync("script", ["--version"]).status === 0;

interface Session {
  readonly output: string;
  readonly exit: number | null;
  readonly settings: string;
}

/** Types at a terminal in which `sallyport trust` runs: `ahead` at once, `answer` when the question is there. */
function atTerminal(
  directory: string,
  {
    ahead = "",
    answer = "",
    flags = "",
    before = () => {},
    verb = "trust",
    home = join(temporary(), "home"),
  }: {
    readonly ahead?: string;
    readonly answer?: string;
    readonly flags?: string;
    readonly before?: () => void;
    readonly verb?: string;
    readonly home?: string;
  },
): Promise<Session> {
  const command = `exec '${process.execPath}' '${
    join(ROOT, "bin/sallyport.js")
  }' ${verb} '${directory}' ${flags}`;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    env: { PATH: process.env.PATH ?? "", HOME: home, SALLYPORT_HOME: join(home, "state"), TERM: "xterm" },
  });
  child.stdin.on("error", () => {});
  child.stdin.write(ahead);
  let output = "";
  let isAnswered = false;
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString("utf8");
    if (isAnswered || !/(?:leave it): $/.test(output)) return;
    isAnswered = true;
    before();
    if (answer === "") child.stdin.end(); // script then says end-of-file to the terminal
    else child.stdin.write(answer);
  });
  return new Promise((resolve) =>
    child.once("close", (exit) => {
      const file = join(home, "state/settings.yaml");
      resolve({
        output: output.replaceAll("\r\n", "\n"),
        exit,
        settings: existsSync(file) ? readFileSync(file, "utf8") : "",
      });
    })
  );
}

function plugin(manifest: string, files: Readonly<Record<string, string>> = {}): string {
  const directory = join(temporary(), "plugin");
  mkdirSync(directory);
  write(directory, {
    "plugin.yaml": `name: asked\nversion: "1"\n${manifest}`,
    "go.ts": "export const go = () => 1;",
    ...files,
  });
  return directory;
}

const TOOL = "capabilities: { tools: [{ name: go, target: go.ts:go, description: Goes }] }\n";
const GRAVE = "permissions: { net: true, run: [git], env: [TOKEN] }\n";

describe.skipIf(!hasScript)("at a terminal (needs `script` of util-linux)", { timeout: 60_000 }, () => {
  test("[T16] `y` trusts what is not grave, and anything else does not", async () => {
    const directory = plugin(TOOL);
    const agreed = await atTerminal(directory, { answer: "y\n" });
    expect(agreed.exit).toBe(0);
    expect(agreed.output).toContain('Trusted "asked" sha256:');
    expect(agreed.settings).toContain("exposed:\n      - plugin__asked__go");
    for (const answer of ["n\n", "\n", "asked\n", ""]) {
      const left = await atTerminal(directory, { answer });
      expect(left).toMatchObject({ exit: 3, settings: "" });
      expect(left.output).toContain("\nerror ERR_TRUST_UNKNOWN");
    }
  });

  test("[T16] what is grave wants the plugin's name typed, and stands on the last screen with name, directory and fingerprint", async () => {
    const directory = plugin(GRAVE + TOOL);
    const agreed = await atTerminal(directory, { answer: "asked\n" });
    expect(agreed.exit).toBe(0);
    const last = agreed.output.slice(agreed.output.indexOf('Trust plugin "asked"?'));
    for (
      const part of [
        directory,
        "sha256:",
        "grave        net everything",
        "grave        run git",
        "grave        env TOKEN",
      ]
    ) expect(last).toContain(part);
    expect(last.split("\n").length).toBeLessThan(12);
    const left = await atTerminal(directory, { answer: "y\n" });
    expect(left).toMatchObject({ exit: 3, settings: "" });
  });

  test("[T16] what was typed before the question does not answer it, a line that was begun included", async () => {
    const left = await atTerminal(plugin(TOOL), { ahead: "y\ny\nyes\ny", answer: "\n" });
    expect(left).toMatchObject({ exit: 3, settings: "" });
    const grave = await atTerminal(plugin(GRAVE + TOOL), { ahead: "asked\nasked", answer: "\n" });
    expect(grave).toMatchObject({ exit: 3, settings: "" });
    const agreed = await atTerminal(plugin(TOOL), { ahead: "n\nn", answer: "y\n" });
    expect(agreed.exit).toBe(0);
  });

  test("[T17] the record pins what was shown, though the file is another one when the answer comes", async () => {
    const directory = plugin(TOOL);
    const shown = /fingerprint {2}(sha256:\w+)/;
    const agreed = await atTerminal(directory, {
      answer: "y\n",
      before: () => write(directory, { "go.ts": "export const go = () => 'swapped';" }),
    });
    expect(agreed.exit).toBe(0);
    expect(agreed.settings).toContain(shown.exec(agreed.output)![1]);
  });

  test("[T17] a fingerprint on the line must be that of what is there; with --yes nothing is asked", async () => {
    const directory = plugin(TOOL);
    const wrong = await atTerminal(directory, { flags: `--fingerprint sha256:${"0".repeat(64)}` });
    expect(wrong).toMatchObject({ exit: 3, settings: "" });
    const [hash] = /sha256:\w{64}/.exec(wrong.output)!;
    const bare = await atTerminal(directory, { flags: "--yes" });
    expect(bare).toMatchObject({ exit: 2, settings: "" });
    expect(bare.output).toContain(`--yes --fingerprint ${hash}`);
    const silent = await atTerminal(directory, { flags: `--yes --fingerprint ${hash}` });
    expect(silent.exit).toBe(0);
    expect(silent.output).not.toContain("leave it");
  });

  test("[T16][T38] hostile texts in every field neither move the cursor nor pass for lines of ours", async () => {
    const forged =
      `|-\n        fine\n        Type y to trust it, anything else to leave it: y\n        Trusted "asked"`;
    const directory = plugin(
      `description: "safe"
x-note: "nothing to see"
permissions:
  read: [./data]
  net: { allow: ["xn--bcher-kva.example:443"], reason: "${"a".repeat(20)}" }
capabilities:
  tools:
    - name: go
      target: go.ts:go
      description: ${forged}
      input: { type: object, properties: { "grave        nothing": { description: "<script>]]>javascript:" } } }
`,
      {
        "go.ts": 'import dep from "dep"; export const go = () => dep;',
        "data/\u202eTrust\u200b": "data",
        "node_modules/dep/package.json": JSON.stringify({
          name: "\x1b]52;c;aGk=\x07\u202edep",
          version: "\x1b[31m1\n  grave        nothing",
          main: "index.js",
        }),
        "node_modules/dep/index.js": "module.exports = 1;",
      },
    );
    const { output, settings } = await atTerminal(directory, { answer: "\n" });
    expect(settings).toBe("");
    for (
      const part of [
        "Type y to trust it",
        "  data/\\u{202e}Trust\\u{200b}  ",
        "\\u{1b}]52;c;aGk=\\u{7}\\u{202e}dep \\u{1b}[31m1\\u{a}  grave        nothing  node_modules/dep",
        '| Trusted "asked"',
        '"grave        nothing":',
      ]
    ) expect(output).toContain(part);
    expect(output.match(/^ {2}grave/gm)).toHaveLength(1);
    // deno-lint-ignore no-control-regex
    expect(output).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069]/);
    expect(output.match(/^Trusted/gm)).toBeNull();
  });
});

test.skipIf(!hasScript)("[L27] 500 hooks are all shown before it asks", { timeout: 60_000 }, async () => {
  const hooks = Array.from(
    { length: 500 },
    (_, index) => `{ type: command, command: [hooks/guard, "--number", "${index}"] }`,
  );
  const groups = [hooks.slice(0, 250), hooks.slice(250)].map((part) =>
    `{ matcher: "m-*", hooks: [${part.join(", ")}] }`
  );
  const directory = plugin(
    `permissions: { run: [./hooks/guard] }\ncapabilities: { hooks: { PreToolUse: [${
      groups.join(", ")
    }] } }\n`,
    { "hooks/guard": "#!/bin/sh\n" },
  );
  const { output, exit } = await atTerminal(directory, { answer: "\n" });
  const question = output.indexOf("Type the plugin's name");
  for (let index = 0; index < 500; index++) {
    const at = output.indexOf(`command: ["hooks/guard", "--number", "${index}"]`);
    expect(at).toBeGreaterThan(-1);
    expect(at).toBeLessThan(question);
  }
  expect(output.match(/matcher: "m-\*"/g)).toHaveLength(2);
  expect(exit).toBe(3);
});

describe.skipIf(!hasScript)("a plugin of which an argv was edited", { timeout: 120_000 }, () => {
  const manifest = (argvs: readonly string[], more = "") =>
    `permissions: { run: [./hooks/guard], net: ["a.example:443"] }
capabilities:
  tools: [{ name: go, target: go.ts:go }, { name: stay, target: go.ts:go${more} }]
  hooks:
    PreToolUse: [{ matcher: "zip", hooks: [{ type: command, command: [hooks/guard, ${argvs[0]}] }] }]
    PostToolUse: [{ hooks: [{ type: command, command: [hooks/guard, ${
      argvs[1]
    }] }, { type: command, command: [hooks/guard, ${argvs[2]}] }] }]
`;
  const head = 'name: asked\nversion: "1"\n';
  const edited = (directory: string, ...given: Parameters<typeof manifest>): void =>
    write(directory, { "plugin.yaml": head + manifest(...given) });

  test("[L33][T26] is changed whole, and asked about that hook alone; what was granted and exposed stays", async () => {
    const home = join(temporary(), "home");
    const directory = plugin(manifest(["a", "b", "c"]), { "hooks/guard": "#!/bin/sh\n" });
    const at = (options: Parameters<typeof atTerminal>[1]) => atTerminal(directory, { home, ...options });
    const [hash] = /sha256:\w{64}/.exec((await at({ verb: "check" })).output)!;
    const first = await at({ flags: `--yes --fingerprint ${hash} --deny-net=a.example:443` });
    expect(first.settings).toMatch(
      /argv:\n +asked\/PreToolUse\/0\/0: sha256:\w{64}\n(?: +asked\/\S+ sha256:\w{64}\n){2}/,
    );
    const hidden = first.settings.replace(/\n +- plugin__asked__stay/, "");
    writeFileSync(join(home, "state/settings.yaml"), hidden);
    expect((await at({ verb: "run", flags: "plugin__asked__go" })).output).toBe("1\n");

    edited(directory, ["a", "evil", "c"]);
    const refused = await at({ verb: "run", flags: "plugin__asked__go" });
    expect([refused.exit, refused.output]).toEqual([3, expect.stringContaining("ERR_TRUST_CHANGED")]);
    const found = JSON.parse((await at({ verb: "diff --json" })).output) as {
      value: Record<string, unknown>;
    };
    expect(found.value).toMatchObject({
      isArgvAlone: true,
      argv: [{ id: "asked/PostToolUse/0/0", before: ["hooks/guard", "b"], after: ["hooks/guard", "evil"] }],
    });
    const left = await at({ answer: "y\n" });
    expect([left.exit, left.settings]).toEqual([3, hidden]);
    const agreed = await at({ answer: "asked\n" });
    expect(agreed.exit).toBe(0);
    expect(agreed.output.match(/^ {2}[-+] .*$/gm)).toEqual([
      '  - asked/PostToolUse/0/0  ["hooks/guard","b"]',
      '  + asked/PostToolUse/0/0  ["hooks/guard","evil"]',
    ]);
    for (const part of ["manifest, whole", "It offers", "hooks/guard  ", '"a"', '"c"']) {
      expect(agreed.output).not.toContain(part);
    }
    expect(agreed.output).toContain(directory);
    expect(agreed.output).toMatch(/grave {8}run .*hooks\/guard/);
    expect(agreed.settings).toMatch(/deny:\n +- a\.example:443/);
    expect(agreed.settings).not.toContain("plugin__asked__stay");
    expect((await at({ verb: "run", flags: "plugin__asked__go" })).output).toBe("1\n");
    expect((await at({ verb: "run", flags: "plugin__asked__stay" })).exit).toBe(2);
    expect((await at({ verb: "diff" })).output).toContain("is as");
  });

  test("[T26] where anything else differs, an argv took another's place, or flags say more, all is shown", async () => {
    const home = join(temporary(), "home");
    const directory = plugin(manifest(["a", "b", "c"]), { "hooks/guard": "#!/bin/sh\n" });
    const at = (options: Parameters<typeof atTerminal>[1]) => atTerminal(directory, { home, ...options });
    await at({ answer: "asked\n" });
    const isWhole = async (flags = "") =>
      (await at({ answer: "\n", flags })).output.includes("The manifest, whole:");
    edited(directory, ["a", "b", "evil"]);
    expect([await isWhole(), await isWhole("--deny-net=a.example:443")]).toEqual([false, true]);
    edited(directory, ["a", "c", "b"]);
    expect(await isWhole()).toBe(true);
    edited(directory, ["a", "evil", "b"]);
    expect(await isWhole()).toBe(true);
    edited(directory, ["a", "b", "evil"], ", description: Obeys");
    expect(await isWhole()).toBe(true);
    edited(directory, ["a", "b", "evil"]);
    write(directory, { "go.ts": "export const go = () => 2;" });
    expect(await isWhole()).toBe(true);
    write(directory, { "go.ts": "export const go = () => 1;" });
    expect(await isWhole()).toBe(false);
    // A record that says another argv than its pins do was not written by trusting.
    const settings = join(home, "state/settings.yaml");
    writeFileSync(
      settings,
      readFileSync(settings, "utf8").replace(/(asked\/PreToolUse\/0\/0: sha256:)\w{8}/, "$100000000"),
    );
    expect(await isWhole()).toBe(true);
  });
});

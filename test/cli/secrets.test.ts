/** `sallyport secrets` as a person types it; the value comes by a pipe, or at a real terminal that must not show it. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli, type Terminal } from "../../src/cli/mod.ts";
import { temporary, write } from "../bundler/support.ts";
import { programs, ROOT, shell } from "./support.ts";

const hasScript = spawnSync("script", ["--version"]).status === 0;
const VALUE = "s3cr3t-of-the-person";
/** Several workers and processes one after the other, on a machine that may be busy. */
const SLOW_MS = 180_000;

let server: Server;
let host: string;
const seen: (string | undefined)[] = [];
let path: string;

beforeAll(async () => {
  path = programs();
  server = createServer((request, response) => {
    seen.push(request.headers["x-key"] as string | undefined); // one value, as the manifest's entry places it
    response.end(`you sent ${request.headers["x-key"] ?? "nothing"}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

function web(directory: string, name: string): string {
  const place = join(directory, name);
  mkdirSync(place, { recursive: true });
  write(place, {
    "plugin.yaml": `name: web
version: "1.0.0"
permissions:
  net: ["${host}"]
  secrets: [{ name: KEY, host: "${host}", header: x-key }]
capabilities:
  tools:
    - { name: go, target: "tools/go.ts:go", input: { type: object } }
`,
    "tools/go.ts": `export const go = async () => (await fetch("http://${host}/")).text();`,
  });
  return place;
}

/** A command line without a process of its own, and so without a standard input. */
async function inProcess(cwd: string, home: string, ...argv: readonly string[]) {
  const [stdout, stderr]: string[][] = [[], []];
  const terminal: Terminal = {
    out: (line) => void stdout!.push(line),
    err: (line) => void stderr!.push(line),
    json: (value) => void stdout!.push(JSON.stringify(value)),
    result: (text) => void stdout!.push(text),
    guest: (prefix, text) => void stderr!.push(`${prefix} | ${text}`),
  };
  const exit = await runCli(argv, {
    terminal,
    cwd: realpathSync(cwd),
    environment: { SALLYPORT_HOME: join(home, "state") },
    userHome: join(home, "user"),
  });
  return { exit, stdout: stdout!.join("\n"), stderr: stderr!.join("\n") };
}

test(
  "[T02] set from a pipe, listed without its value, used by run, refused to a namesake, removed",
  async () => {
    const [cwd, home] = [temporary(), temporary()];
    const plugin = web(cwd, "web");
    const namesake = web(cwd, "evil/web");
    const run = (...argv: string[]) => inProcess(cwd, home, ...argv);
    const checked = JSON.parse((await run("check", plugin, "--json")).stdout) as {
      value: { fingerprint: string };
    };
    for (const each of [plugin, namesake]) {
      const { exit } = await run("trust", each, "--yes", "--fingerprint", checked.value.fingerprint);
      expect(exit).toBe(0);
    }
    const refused = await run("run", plugin);
    expect(refused).toMatchObject({ exit: 4, stderr: expect.stringContaining("nobody has set it") });
    // The remedy, pasted back; by name it would be any plugin that comes along under it.
    const [, remedy] = /(sallyport secrets set .+?), or/.exec(refused.stderr) ?? [];
    expect(remedy).toBe(`sallyport secrets set KEY --host ${host} --plugin ${realpathSync(plugin)}`);
    const set = await shell(remedy!, { cwd, home, path, input: `${VALUE}\n` });
    expect(set).toMatchObject({ exit: 0, stdout: expect.stringContaining("Set KEY"), stderr: "" });
    const file = join(home, "state/secrets.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).toContain(VALUE);
    const lists = [await run("secrets", "list"), await run("secrets", "list", "--json")];
    expect(lists[0]!.stdout).toContain(`KEY  to ${host}  for ${realpathSync(plugin)}`);
    expect(JSON.parse(lists[1]!.stdout)).toMatchObject({
      ok: true,
      value: { secrets: [{ name: "KEY", hosts: [host] }] },
    });
    expect(await run("run", plugin)).toMatchObject({ exit: 0, stdout: "you sent [redacted]" });
    expect(seen).toEqual([VALUE]);
    expect(await run("run", namesake)).toMatchObject({
      exit: 4,
      stderr: expect.stringContaining("its owner has not bound it to this plugin"),
    });
    const denied = await run("run", plugin, "--deny-secrets=KEY");
    expect(denied).toMatchObject({ exit: 4, stderr: expect.stringContaining("denies") });
    expect(seen.length).toBe(1);
    expect((await run("secrets", "remove", "KEY")).exit).toBe(0);
    expect((await run("secrets", "remove", "KEY")).exit).toBe(2);
    expect((await run("run", plugin)).exit).toBe(4);
    expect(JSON.stringify([refused, set, lists, denied])).not.toContain("s3cr3t");
  },
  SLOW_MS,
);

test(
  "[T02] info and trust say of each secret that is asked for whether it is set, and to which hosts it is bound",
  async () => {
    const [cwd, home] = [temporary(), temporary()];
    const plugin = web(cwd, "web");
    const run = (...argv: string[]) => inProcess(cwd, home, ...argv);
    const info = async () => {
      const { value } = JSON.parse((await run("info", plugin, "--json")).stdout) as {
        readonly value: { readonly secrets: readonly unknown[] };
      };
      const line = /^ {2}secret +(.*)$/m.exec((await run("info", plugin)).stdout)?.[1];
      return [value.secrets, line];
    };
    const asked = `KEY ${host} as x-key`;
    expect(await info()).toEqual([[{ name: "KEY", asked, state: "unset", hosts: [] }], `${asked}: not set`]);
    const set = (host: string) =>
      shell(`sallyport secrets set KEY --host ${host} --plugin ./web`, { cwd, home, path, input: VALUE });
    expect((await set("elsewhere.example:443")).exit).toBe(0);
    expect(await info()).toEqual([
      [{ name: "KEY", asked, state: "unbound", hosts: [] }],
      `${asked}: set, and not bound to this plugin and host`,
    ]);
    expect((await set(host)).exit).toBe(0);
    expect(await info()).toEqual([
      [{ name: "KEY", asked, state: "bound", hosts: [host] }],
      `${asked}: bound, to ${host}`,
    ]);
    const { value } = JSON.parse((await run("check", plugin, "--json")).stdout) as {
      readonly value: { readonly fingerprint: string };
    };
    const trusted = await run("trust", plugin, "--yes", "--fingerprint", value.fingerprint);
    expect(trusted.stdout).toContain(`Secrets that it asks for:\n  ${asked}: bound, to ${host}`);
  },
  SLOW_MS,
);

test("[T02] a script uses what is bound to its own path", async () => {
  const [cwd, home] = [temporary(), temporary()];
  write(cwd, { "web.ts": `export default async () => (await fetch("http://${host}/")).text();` });
  const run = (...flags: string[]) => inProcess(cwd, home, "run", "web.ts", `--allow-net=${host}`, ...flags);
  const flag = `--allow-secrets=KEY ${host} as x-key`;
  expect((await run(flag)).exit).toBe(4);
  const set = `sallyport secrets set KEY --host ${host} --plugin web.ts`;
  expect((await shell(set, { cwd, home, path, input: VALUE })).exit).toBe(0);
  expect(await run(flag)).toMatchObject({ exit: 0, stdout: "you sent [redacted]" });
  expect(await run()).toMatchObject({ stdout: "you sent nothing" });
}, SLOW_MS);

test.each([
  [["set", "KEY", VALUE, "--host", "h:1", "--plugin", "./web"], "too many arguments"],
  [["set", "KEY", "--plugin", "./web"], "--host HOST:PORT"],
  [["set", "KEY", "--host", "h:1"], "--plugin"],
  [["set", "KEY", "--host", "h:1", "--plugin", "nowhere"], "no plugin and no directory"],
  [["set", "--host", "h:1", "--plugin", "./web"], "needs the secret's name"],
  [["list", "KEY"], "takes no name"],
  [["remove", "KEY", "--host", "h:1"], "belong to set"],
  [["show", "KEY"], 'no action "show"'],
])("secrets %j is told what is wrong, and keeps nothing", async (argv, why) => {
  const [cwd, home] = [temporary(), temporary()];
  web(cwd, "web");
  const { exit, stderr } = await inProcess(cwd, home, "secrets", ...argv);
  expect(exit).toBe(2);
  expect(stderr).toContain(why);
  expect(stderr).not.toContain(VALUE);
  expect(existsSync(join(home, "state/secrets.json"))).toBe(false);
});

test("[R23] a message for a terminal or a log repeats nothing of a credential's shape", async () => {
  const token = `ghp_${"a1B2".repeat(9)}`;
  const [cwd, home] = [temporary(), temporary()];
  for (const flags of [[], ["--json"]]) {
    const { stdout, stderr, exit } = await inProcess(cwd, home, "run", `./${token}/x`, ...flags);
    expect(exit).toBe(2);
    expect(stdout + stderr).toContain("[redacted]");
    expect(stdout + stderr).not.toContain(token);
  }
});

test.skipIf(!hasScript)("[T02] typed at a terminal it is not shown, and corrections work", async () => {
  const home = temporary();
  const directory = web(temporary(), "web");
  const command = `exec '${process.execPath}' '${join(ROOT, "bin/sallyport.js")}' ` +
    `secrets set KEY --host ${host} --plugin '${directory}'`;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    env: { PATH: process.env.PATH ?? "", HOME: home, SALLYPORT_HOME: join(home, "state"), TERM: "xterm" },
  });
  let output = "";
  let isTyped = false;
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString("utf8");
    if (isTyped || !output.includes("(not shown): ")) return;
    isTyped = true;
    child.stdin.write(`${VALUE}xx\x7f\x7f\r`);
  });
  const exit = await new Promise((resolve) => child.once("close", resolve));
  expect({ exit, output }).toMatchObject({ exit: 0, output: expect.stringContaining("Set KEY") });
  expect(output).not.toContain("s3cr3t");
  expect(readFileSync(join(home, "state/secrets.json"), "utf8")).toContain(JSON.stringify(VALUE));
}, SLOW_MS);

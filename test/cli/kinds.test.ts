/**
 * Each kind of permission by the command line: what is allowed works, its twin is refused, and what the refusal says to do,
 * pasted back, makes it work.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rememberedJail } from "../../runtime/mod.ts";
import { temporary, write } from "../bundler/support.ts";
import { ADDS } from "../runtime/wasm_modules.ts";
import { type Outcome, programs, shell } from "./support.ts";

const canRun = process.env.SALLYPORT_TEST_STRONG === "1" || typeof await rememberedJail()() !== "string";
const server = createServer((_request, response) => void response.end("served"));
const path = programs();

beforeAll(() => new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve)));
afterAll(() => server.close());

interface Case {
  /** Body of the function that uses the kind; PLACE, DATA and ORIGIN are replaced. */
  readonly use: string;
  readonly gives: string | number;
  /** What the refusal tells was asked for. */
  readonly value: string | null;
}

const CASES: Readonly<Record<string, Case>> = {
  read: { use: `return await Deno.readTextFile("PLACE/in.txt")`, gives: "read", value: "PLACE/in.txt" },
  write: {
    use: `await Deno.writeTextFile("DATA/out.txt", "written"); return "written"`,
    gives: "written",
    value: "DATA/out.txt",
  },
  net: { use: `return await (await fetch("ORIGIN/x")).text()`, gives: "served", value: "GET ORIGIN/x" },
  env: { use: `return Deno.env.get("WORD")`, gives: "a word", value: "WORD" },
  sys: { use: `return typeof Deno.osUptime()`, gives: "number", value: "osUptime" },
  run: {
    use: `const { stdout } = await new Deno.Command("echo", { args: ["-n", "ran"] }).output();
      return new TextDecoder().decode(stdout)`,
    gives: "ran",
    value: "/usr/bin/echo",
  },
  storage: {
    use: `await context.storage.set("k", "kept"); return await context.storage.get("k")`,
    gives: "kept",
    value: null,
  },
  dynamicCode: { use: `return eval("'made'")`, gives: "made", value: null },
  wasm: {
    use: `const module = new Uint8Array([${ADDS}]);
      return (await WebAssembly.instantiate(module)).instance.exports.run(41)`,
    gives: 42,
    value: null,
  },
};

interface Refusal {
  readonly code: string;
  readonly details: {
    readonly kind: string | null;
    readonly value: string | null;
    readonly reason: string;
    readonly rule: string;
    readonly remedy: string;
  };
}

function refusalOf({ stdout }: Outcome): Refusal {
  return (JSON.parse(stdout) as { readonly error: Refusal }).error;
}

function valueOf({ stdout }: Outcome): unknown {
  return (JSON.parse(stdout) as { readonly value: unknown }).value;
}

/** A folder with something to read, and how texts of a case are filled in for it. */
function place(data: string): { readonly cwd: string; readonly fill: (text: string) => string } {
  const cwd = temporary();
  writeFileSync(join(cwd, "in.txt"), "read");
  const { port } = server.address() as { readonly port: number };
  const fill = (text: string): string =>
    text.replaceAll("PLACE", cwd).replaceAll("DATA", data === "" ? cwd : data)
      .replaceAll("ORIGIN", `http://127.0.0.1:${port}`);
  return { cwd, fill };
}

function expectRefusal(refusal: Refusal, kind: string, value: string | null): void {
  expect(refusal).toMatchObject({ code: "ERR_NOT_CAPABLE", details: { kind } });
  const { details } = refusal;
  if (value === null || kind === "run") expect(details.value === null).toBe(value === null);
  else expect(details.value).toContain(value.replace(/^\$data\//, ""));
  for (const part of ["reason", "rule", "remedy"] as const) expect(details[part]).not.toBe("");
}

for (const [kind, { use, gives, value }] of Object.entries(CASES)) {
  describe.skipIf(kind === "run" && !canRun)(`the kind ${kind}`, { timeout: 60_000 }, () => {
    test("a script is refused, and the flag that the refusal names makes it work", async () => {
      const { cwd, fill } = place("");
      writeFileSync(
        join(cwd, "use.ts"),
        `export default async (_input: unknown, context: any) => { ${fill(use)}; };\n`,
      );
      const home = join(temporary(), "home");
      const run = (flags: string): Promise<Outcome> =>
        shell(`sallyport run use.ts --json ${flags}`, { cwd, home, path });
      const refused = await run("");
      expect(refused.exit).toBe(4);
      expectRefusal(refusalOf(refused), kind, value === null ? null : fill(value));
      const flag = /--allow-\S+(?:='[^']*')?(?=\.? *$)/.exec(refusalOf(refused).details.remedy)![0];
      const allowed = await run(flag.replace(/\.$/, ""));
      expect([allowed.exit, valueOf(allowed)]).toEqual([0, gives]);
    });

    test("a plugin is refused, and the line and the flags that the refusals name make it work", async () => {
      const { cwd, fill } = place("$data");
      const plugin = join(cwd, "user");
      mkdirSync(plugin);
      write(plugin, {
        "plugin.yaml": `name: user
version: "1"
permissions: {}
capabilities: { tools: [{ name: use, target: use.ts:use, input: { type: object } }] }
`,
        "use.ts": `export const use = async (_input: unknown, context: any) => { ${fill(use)}; };\n`,
      });
      const home = join(temporary(), "home");
      const run = (flags: string): Promise<Outcome> =>
        shell(`sallyport run ./user --yes --json ${flags}`, { cwd, home, path });
      const refused = await run("");
      expect(refused.exit).toBe(4);
      expectRefusal(refusalOf(refused), kind, value === null ? null : fill(value));
      const line = /adds the line (.+) under permissions/.exec(refusalOf(refused).details.remedy)![1]!;
      const manifest = join(plugin, "plugin.yaml");
      writeFileSync(
        manifest,
        readFileSync(manifest, "utf8").replace("permissions: {}", `permissions:\n  ${line}`),
      );
      let outcome = await run("");
      if (outcome.exit === 4) outcome = await run(refusalOf(outcome).details.remedy); // it is grave: --yes alone is not enough
      expect([outcome.exit, valueOf(outcome)]).toEqual([0, gives]);
    });
  });
}

describe("what is only ever refused", { timeout: 60_000 }, () => {
  test("ffi: a native library is loaded under no flag, and the refusal says that nothing allows it", async () => {
    const cwd = temporary();
    writeFileSync(join(cwd, "use.ts"), `export default () => (Deno as any).dlopen("/lib/x.so", {});\n`);
    for (const flags of ["", "--allow-ffi"]) {
      const refused = await shell(`sallyport run use.ts --json ${flags}`, {
        cwd,
        home: join(temporary(), "home"),
        path,
      });
      expect(refused.exit).toBe(4);
      expectRefusal(refusalOf(refused), "ffi", "/lib/x.so");
      expect(refusalOf(refused).details.remedy).toBe("Nothing can allow it.");
    }
  });

  test("import: code of other machines is loaded under no flag", async () => {
    const cwd = temporary();
    const { port } = server.address() as { readonly port: number };
    const url = `http://127.0.0.1:${port}/x.js`;
    write(cwd, {
      "static.ts": `import x from "${url}"; export default () => x;\n`,
      "dynamic.ts": `export default async () => (await import(["${url}"].join(""))).default;\n`,
    });
    for (const file of ["static.ts", "dynamic.ts"]) {
      for (const flags of ["", `--allow-import=127.0.0.1:${port} --allow-net`]) {
        const refused = await shell(`sallyport run ${file} --json ${flags}`, {
          cwd,
          home: join(temporary(), "home"),
          path,
        });
        expect([file, flags, refused.exit === 0]).toEqual([file, flags, false]);
      }
    }
  });
});

describe("the kind call", { timeout: 60_000 }, () => {
  test("a plugin is refused, and the line and the flags that the refusals name let it call one that lists it", async () => {
    const cwd = temporary();
    const home = join(temporary(), "home");
    const plugins = join(home, "state/plugins");
    const manifest = (name: string, more: string) =>
      `name: ${name}\nversion: "1"\npermissions: {}\n` +
      `capabilities: { tools: [{ name: go, target: go.ts:go, input: { type: object }${more} }] }\n`;
    mkdirSync(join(home, "state"), { recursive: true, mode: 0o700 });
    for (const name of ["user", "clock"]) mkdirSync(join(plugins, name), { recursive: true });
    write(join(plugins, "user"), {
      "plugin.yaml": manifest("user", ""),
      "go.ts": `export const go = (_input: unknown, context: any) => context.call("plugin__clock__go");\n`,
    });
    write(join(plugins, "clock"), {
      "plugin.yaml": manifest("clock", ", callers: [user]"),
      "go.ts": `export const go = (_input: unknown, context: any) => "ran for " + context.caller;\n`,
    });
    const run = (line: string): Promise<Outcome> => shell(`sallyport ${line} --json`, { cwd, home, path });
    const { details } =
      (JSON.parse((await run("trust clock --yes")).stdout) as { readonly error: Refusal }).error;
    const { command } = details as unknown as { readonly command: string }; // trust names the line that does it
    expect((await shell(command, { cwd, home, path })).exit).toBe(0);

    const refused = await run("run user --yes");
    expect(refused.exit).toBe(4);
    expectRefusal(refusalOf(refused), "call", "plugin__clock__go");
    const line = /adds the line (.+) under permissions/.exec(refusalOf(refused).details.remedy)![1]!;
    const file = join(plugins, "user/plugin.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace("permissions: {}", `permissions:\n  ${line}`));
    const grave = await run("run user --yes");
    expect(grave.exit).toBe(4);
    const allowed = await run(`run user --yes ${refusalOf(grave).details.remedy}`);
    expect([allowed.exit, valueOf(allowed)]).toEqual([0, "ran for plugin__user__go"]);
  });

  test("[R06] a deny in the person's settings refuses the run of that id, and the rule that the refusal names, taken out, lets it run", async () => {
    const cwd = temporary();
    const home = join(temporary(), "home");
    const [state, plugin] = [join(home, "state"), join(cwd, "x")];
    mkdirSync(state, { recursive: true, mode: 0o700 });
    mkdirSync(plugin);
    write(plugin, {
      "plugin.yaml": `name: x
version: "1"
capabilities: { tools: [{ name: echo, target: echo.ts:echo, input: { type: object } }] }
`,
      "echo.ts": `export const echo = () => "heard";\n`,
    });
    const settings = join(state, "settings.yaml");
    const policy = `policy: { permissions: { call: { deny: ["plugin__x__echo"] } } }\n`;
    writeFileSync(settings, policy, { mode: 0o600 });
    const run = () => shell("sallyport run ./x --yes --json", { cwd, home, path });
    const refused = await run();
    expect(refused.exit).toBe(4);
    expectRefusal(refusalOf(refused), "call", "plugin__x__echo");
    expect(refusalOf(refused).details.rule).toBe(`policy permissions.call.deny[0] "plugin__x__echo"`);
    writeFileSync(settings, policy.replace(`"plugin__x__echo"`, `"plugin__x__other"`));
    const allowed = await run();
    expect([allowed.exit, valueOf(allowed)]).toEqual([0, "heard"]);
    // What cannot be read may have denied it.
    writeFileSync(settings, policy.replace("deny:", "denny:"));
    const broken = await run();
    expect([broken.exit, refusalOf(broken).code]).toEqual([6, "ERR_STORE"]);
  });
});

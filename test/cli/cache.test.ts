/** A run finds what an earlier run has bundled: the must-show of a restarted host. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { temporary } from "../bundler/support.ts";
import { type Outcome, program, programs, ROOT, shell } from "./support.ts";

/** Writes down each program that the command line starts, before anything of it is loaded. */
const WITNESS = `
const children = require("node:child_process"), fs = require("node:fs");
for (const name of ["spawn", "spawnSync"]) {
  const real = children[name];
  children[name] = (file, args, ...rest) => {
    fs.appendFileSync(process.env.SEEN, [file, ...(args ?? [])].join(" ") + "\\n");
    return real(file, args, ...rest);
  };
}
require("node:module").syncBuiltinESMExports();
`;

interface Place {
  readonly cwd: string;
  readonly home: string;
  readonly cache: string;
  /** Runs the plugin, and tells whether that started a bundler and a worker. */
  go(
    home?: string,
    flags?: string,
  ): Promise<Outcome & { readonly bundlers: number; readonly workers: number }>;
}

/** A trusted plugin, and its home without what trusting it has bundled. */
async function place(): Promise<Place> {
  const root = temporary();
  const cwd = join(root, "work");
  const home = join(root, "home");
  const path = programs();
  const seen = join(root, "seen");
  mkdirSync(join(home, "user"), { recursive: true });
  writeFileSync(join(root, "witness.cjs"), WITNESS);
  program(
    path,
    "watched",
    `SEEN='${seen}' exec '${process.execPath}' --require '${join(root, "witness.cjs")}' '${
      join(ROOT, "bin/sallyport.js")
    }' "$@"\n`,
  );
  cpSync(join(ROOT, "examples/word-count"), join(cwd, "word-count"), { recursive: true });
  const trusted = await shell(
    `hash=$(sallyport check ./word-count --json | sed 's/.*"fingerprint":"\\([^"]*\\)".*/\\1/')
    sallyport trust ./word-count --yes --fingerprint "$hash"`,
    { cwd, home, path },
  );
  expect(trusted.stderr + trusted.exit).toBe("0");
  const cache = join(home, "state/cache");
  rmSync(cache, { recursive: true });
  return {
    cwd,
    home,
    cache,
    async go(at = home, flags = "") {
      writeFileSync(seen, "");
      const line = `watched run ./word-count count ${flags} --json --input '{"text":"a b a"}'`;
      const outcome = await shell(line, { cwd, home: at, path });
      const lines = readFileSync(seen, "utf8").split("\n");
      const count = (entry: RegExp): number => lines.filter((each) => entry.test(each)).length;
      return {
        ...outcome, // A slow machine sees the spare of the next build as well: whether any was started is what is asked.
        bundlers: Math.min(1, count(/bundler\/child\b|--service=/)),
        workers: count(/worker\/main\b/),
      };
    },
  };
}

const COUNTED = { exit: 0, stderr: "", stdout: expect.stringContaining('"words":3') };

/** Machines without bubblewrap say so, which is no part of it. */
function plain<Value extends Outcome>(outcome: Value): Value {
  return {
    ...outcome,
    stderr: outcome.stderr.replaceAll(/^sallyport: confinement of workers is .*\n/gm, ""),
  };
}

describe("a run of a trusted plugin by a fresh process", { timeout: 120_000 }, () => {
  test("bundles it once; the next process starts no bundler, has the same result, and refuses one changed byte", async () => {
    const { go, cwd, home } = await place();
    expect(plain(await go())).toMatchObject({ ...COUNTED, bundlers: 1, workers: 1 });
    expect(plain(await go())).toMatchObject({ ...COUNTED, bundlers: 0, workers: 1 });

    const file = join(cwd, "word-count/tools/count.ts");
    const text = readFileSync(file, "utf8");
    writeFileSync(file, `${text} `);
    const changed = await go();
    expect(changed).toMatchObject({ exit: 3, bundlers: 0 });
    expect(changed.stdout).toContain("ERR_TRUST_CHANGED");
    writeFileSync(file, text);
    expect(plain(await go())).toMatchObject({ ...COUNTED, bundlers: 0 });
    expect(existsSync(join(home, "user/.sallyport"))).toBe(false);
  });

  test("a flipped byte in each file of the cache is seen: it is bundled again, and never run", async () => {
    const { go, cache } = await place();
    await go();
    for (const name of readdirSync(cache)) {
      const path = join(cache, name);
      const bytes = readFileSync(path);
      bytes[bytes.byteLength >> 1]! ^= 1;
      writeFileSync(path, bytes);
      expect(plain(await go())).toMatchObject({ ...COUNTED, bundlers: 1 });
      expect(plain(await go())).toMatchObject({ ...COUNTED, bundlers: 0 });
    }
  });

  test("the cache of another home is not believed", async () => {
    const { go, home } = await place();
    await go();
    const other = join(home, "../other");
    mkdirSync(join(other, "user"), { recursive: true });
    cpSync(join(home, "state"), join(other, "state"), { recursive: true });
    rmSync(join(other, "state/cache.key"));
    expect(plain(await go(other))).toMatchObject({ ...COUNTED, bundlers: 1 });
    expect(plain(await go(other))).toMatchObject({ ...COUNTED, bundlers: 0 });
  });

  test("a run with --yes neither leaves nor finds anything there", async () => {
    const { go, cache } = await place();
    expect(plain(await go(undefined, "--yes"))).toMatchObject({ ...COUNTED, bundlers: 1 });
    expect(existsSync(cache)).toBe(false);
  });
});

import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { execFileSync, spawn } from "node:child_process";
import { describe, expect, test } from "vitest";
import { ResourceError, resourcePath, ResourceRoots, UsageError } from "../../src/mod.ts";
import { temporary } from "../bundler/support.ts";

interface Row {
  readonly id: string;
  readonly input: unknown;
  readonly expect: string;
  readonly why: string;
  readonly setup?: readonly string[];
}

const CASES = new URL("../cases/paths.jsonl", import.meta.url);
const rows = readFileSync(CASES, "utf8").trim().split("\n").map((line) => JSON.parse(line) as Row);

/** The tree that the cases speak of. */
function tree(): string {
  const top = temporary();
  const demo = join(top, "demo");
  for (const folder of ["demo/skills/weather", "demo/data/dir", "demo-evil", "neighbour"]) {
    mkdirSync(join(top, folder), { recursive: true });
  }
  const names = ["a.txt", "b.txt", "notes..md", ".hidden", "with space.txt", "a.b.c.tar.gz", "-dash.txt"];
  for (const name of [...names, "~tilde.txt", "résumé.md", "日本.txt", "console.txt", "com10.txt"]) {
    writeFileSync(join(demo, "data", name), `inside ${name}`);
  }
  writeFileSync(join(demo, "plugin.yaml"), "name: demo");
  writeFileSync(join(demo, "skills/weather/SKILL.md"), "inside");
  writeFileSync(join(top, "outside.txt"), "OUTSIDE");
  writeFileSync(join(top, "demo-evil/data.txt"), "OUTSIDE");
  writeFileSync(join(top, "neighbour/plugin.yaml"), "OUTSIDE");
  return demo;
}

const SETUPS: Readonly<Record<string, (demo: string, words: readonly string[]) => void>> = {
  symlink: (demo, [at, , to]) => symlinkSync(to!, join(demo, at!)),
  hardlink: (demo, [at, , to]) => linkSync(join(demo, "data", to!.replace("../", "../../")), join(demo, at!)),
  fifo: (demo, [at]) => execFileSync("mkfifo", [join(demo, at!)]),
  mode: (demo, [at, mode]) => chmodSync(join(demo, at!), Number.parseInt(mode!, 8)),
  "replace-root-with-symlink-after-load": (demo, [, to]) => {
    renameSync(demo, `${demo}-before`);
    symlinkSync(to!, demo);
  },
};

function answer(roots: ResourceRoots, input: unknown): string {
  try {
    const found = roots.read(input as string);
    return found === undefined ? "missing" : `normalize:${found.path}`;
  } catch (error) {
    expect(error).toBeInstanceOf(ResourceError);
    expect((error as Error).message).not.toContain("/tmp");
    expect((error as Error).message).not.toContain("OUTSIDE");
    return "reject";
  }
}

/** Rows whose reading is given in words: a hard link is read; the race has a test of its own. */
const READ_DIFFERENTLY: Readonly<Record<string, string>> = { "pc-201": "normalize:data/hard" };
const isRoot = process.getuid?.() === 0;

describe("[P04] [A30] every case of paths.jsonl", () => {
  for (const { id, input, expect: expected, why, setup = [] } of rows) {
    if (setup.some((line) => line.startsWith("swap-during-read"))) continue; // "[P07] a file that is swapped", below
    const isSkipped = isRoot && setup.some((line) => line.startsWith("mode"));
    const title = `${id} ${why}${isSkipped ? " (skipped: root reads every file)" : ""}`;
    test.skipIf(isSkipped)(title, () => {
      const demo = tree();
      const roots = ResourceRoots.capture([{ id: "demo", directory: demo }]);
      for (const line of setup) {
        const [verb = "", ...words] = line.split(" ");
        SETUPS[verb]!(demo, words);
      }
      expect(answer(roots, input)).toBe(READ_DIFFERENTLY[id] ?? expected);
    });
  }
});

test("[A30] three spellings are one path, and a parent segment is refused where it stays inside", () => {
  for (const spelling of ["data/a.txt", "/data/a.txt", "plugin:/data/a.txt"]) {
    expect(resourcePath(spelling)).toBe("data/a.txt");
  }
  expect(() => resourcePath("a/../b")).toThrow(ResourceError);
});

test("[P05] device names, streams, trailing dots and network paths are refused on every system", () => {
  const devices = ["CON", "PRN", "AUX", "NUL", "CLOCK$", "CONIN$", "CONOUT$", "COM1", "COM9", "LPT1", "LPT9"];
  const others = [
    "com¹",
    "lpt³.txt",
    "a/nul.tar.gz",
    "a.txt:stream",
    "a.",
    "a ",
    "//server/share",
    "\\\\?\\C:",
  ];
  for (const name of [...devices, ...others]) expect(() => resourcePath(name), name).toThrow(ResourceError);
  for (const name of ["console.txt", "com10", "lpt", "nulls"]) expect(resourcePath(name)).toBe(name);
});

test("[P01] no root, two of one id, an empty id and a relative place are refused; order is kept", () => {
  const directory = tree();
  for (const roots of [[], [{ id: "", directory }], [{ id: "a", directory }, { id: "a", directory }]]) {
    expect(() => ResourceRoots.capture(roots)).toThrow(UsageError);
  }
  expect(() => ResourceRoots.capture([{ id: "a", directory: "demo" }])).toThrow(UsageError);
  expect(() => ResourceRoots.capture([{ id: "a", directory: join(directory, "plugin.yaml") }])).toThrow(
    ResourceError,
  );
  const both = [{ id: "b", directory }, { id: "a", directory: join(directory, "data") }];
  expect(ResourceRoots.capture(both).ids).toEqual(["b", "a"]);
});

test("[P02] [P03] [A27] the earlier root wins, a missing file falls through, and the result names its root, frozen", () => {
  const [project, user] = [temporary(), temporary()];
  writeFileSync(join(project, "both.md"), "project's");
  writeFileSync(join(user, "both.md"), "user's");
  writeFileSync(join(user, "own.md"), "only the user's");
  const roots = ResourceRoots.capture([{ id: "project", directory: project }, {
    id: "user",
    directory: user,
  }]);
  const found = roots.read("/both.md");
  expect(found).toEqual({ rootId: "project", path: "both.md", text: "project's" });
  expect(Object.isFrozen(found)).toBe(true);
  expect(roots.read("own.md")?.rootId).toBe("user");
  expect(roots.read("neither.md")).toBeUndefined();
});

test("[A27] [A28] [A31] a strict read takes nothing from elsewhere, and its error names the path", () => {
  const [own, other] = [temporary(), temporary()];
  writeFileSync(join(other, "SKILL.md"), "borrowed");
  writeFileSync(join(own, "own.md"), "été");
  const roots = ResourceRoots.capture([{ id: "own", directory: own }, { id: "other", directory: other }]);
  expect(roots.read("SKILL.md")?.text).toBe("borrowed");
  expect(() => roots.readStrict("own", "SKILL.md")).toThrow(
    expect.objectContaining({ code: "ERR_RESOURCE_NOT_FOUND", message: expect.stringContaining("SKILL.md") }),
  );
  expect(roots.readStrict("own", "own.md").text).toBe("été");
});

test("a folder is listed, and bytes are read, by the rules of a strict read", () => {
  const directory = tree();
  const roots = ResourceRoots.capture([{ id: "demo", directory }, { id: "other", directory: tree() }]);
  mkdirSync(join(directory, "names/below"), { recursive: true });
  writeFileSync(join(directory, "names/b.bin"), Buffer.from([0xc3, 0x28]));
  writeFileSync(join(directory, "names/a.txt"), "a");
  expect(roots.list("demo", "names")).toEqual(["a.txt", "b.bin", "below/"]);
  expect(roots.list("other", "names")).toEqual([]);
  expect(roots.list("demo", "names/a.txt")).toEqual([]);
  expect([...roots.bytesStrict("demo", "names/b.bin")]).toEqual([0xc3, 0x28]);
  symlinkSync(tree(), join(directory, "out"));
  for (
    const [path, code] of [["names/none", "ERR_RESOURCE_NOT_FOUND"], [
      "out/data/a.txt",
      "ERR_RESOURCE_REFUSED",
    ]]
  ) {
    expect(() => roots.bytesStrict("demo", path!), path).toThrow(expect.objectContaining({ code }));
  }
  expect(() => roots.bytesStrict("other", "names/b.bin")).toThrow(ResourceError);
  expect(() => roots.list("demo", "out")).toThrow(ResourceError);
});

test("[A29] asking whether a file exists throws for nothing that may be asked", () => {
  const directory = tree();
  const roots = ResourceRoots.capture([{ id: "demo", directory }]);
  expect([roots.exists("data/a.txt"), roots.existsStrict("demo", "data/a.txt")]).toEqual([true, true]);
  for (const path of ["data/none.txt", "data/dir", "../outside.txt"]) {
    expect([roots.exists(path), roots.existsStrict("demo", path)]).toEqual([false, false]);
  }
});

test("[P06] a root that another directory took the place of is refused", () => {
  const directory = tree();
  const roots = ResourceRoots.capture([{ id: "demo", directory }]);
  expect(roots.read("data/a.txt")?.text).toBe("inside a.txt");
  renameSync(directory, `${directory}-before`);
  mkdirSync(join(directory, "data"), { recursive: true });
  writeFileSync(join(directory, "data/a.txt"), "OUTSIDE");
  expect(answer(roots, "data/a.txt")).toBe("reject");
  rmSync(directory, { recursive: true });
  renameSync(`${directory}-before`, directory);
  expect(roots.read("data/a.txt")?.text).toBe("inside a.txt");
});

test("[P07] a file that is swapped for a link while it is read gives its own bytes or a refusal", async () => {
  const directory = tree();
  const roots = ResourceRoots.capture([{ id: "demo", directory }]);
  const file = join(directory, "data/a.txt");
  const swapper = swapping(file, join(directory, "../outside.txt"));
  const seen = new Set<string>();
  for (let attempt = 0; attempt < 3_000; attempt++) {
    if (attempt % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    try {
      seen.add(roots.read("data/a.txt")?.text ?? "missing");
    } catch (error) {
      seen.add((error as ResourceError).code);
    }
  }
  swapper.kill();
  expect(seen).not.toContain("OUTSIDE");
  expect(seen).toContain("inside a.txt");
});

test("[P08] exactly 1,048,576 bytes are read, one more is not, and growth is seen", () => {
  const directory = temporary();
  const roots = ResourceRoots.capture([{ id: "a", directory }]);
  writeFileSync(join(directory, "big.txt"), "é".repeat(524_288));
  expect(roots.read("big.txt")?.text).toHaveLength(524_288);
  appendFileSync(join(directory, "big.txt"), "x");
  expect(() => roots.read("big.txt")).toThrow(/more than 1048576 bytes/);
});

test("[P09] text that is not UTF-8 is refused", () => {
  const directory = temporary();
  const roots = ResourceRoots.capture([{ id: "a", directory }]);
  writeFileSync(join(directory, "bad.txt"), Buffer.from([0xc3, 0x28]));
  writeFileSync(join(directory, "good.txt"), Buffer.from([0xc3, 0xa9]));
  expect(() => roots.read("bad.txt")).toThrow(/not UTF-8/);
  expect(roots.read("good.txt")?.text).toBe("é");
});

/** A process that swaps a file for a link to another one and back, until it is killed. */
function swapping(file: string, other: string): ReturnType<typeof spawn> {
  const script = `
    const fs = require("node:fs");
    const [file, other] = process.argv.slice(1);
    fs.copyFileSync(file, file + ".own");
    for (;;) {
      try { fs.symlinkSync(other, file + ".link"); fs.renameSync(file + ".link", file); } catch {}
      try { fs.copyFileSync(file + ".own", file + ".new"); fs.renameSync(file + ".new", file); } catch {}
    }`;
  return spawn(process.execPath, ["-e", script, file, other], { stdio: "ignore" });
}

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PluginSource } from "../src/source.ts";
import { SourceError } from "../src/source_file.ts";
import { plugin, temporary, write } from "./bundler/support.ts";

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
const sha256 = (content: string): string => createHash("sha256").update(content).digest("hex");

function reasonOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof SourceError) return error.reason;
    throw error;
  }
  return "nothing was refused";
}

describe("reading", () => {
  test("[T06] a file is read once: what changes on disk later is not seen", () => {
    const directory = plugin({ "a.ts": "one" });
    const source = PluginSource.open(directory);
    expect(text(source.bytes("a.ts"))).toBe("one");
    writeFileSync(join(directory, "a.ts"), "two");
    expect(text(source.bytes("/p/a.ts"))).toBe("one");
    expect(source.hash("a.ts")).toBe(sha256("one"));
    expect(text(PluginSource.open(directory).bytes("a.ts"))).toBe("two");
  });

  test("[T06] a negative answer is remembered, and so is a failure", () => {
    const directory = plugin({ "big.ts": "x".repeat(100) });
    const source = PluginSource.open(directory, { limits: { sourceBytesMax: 50 } });
    expect(source.kind("new.ts")).toBe("absent");
    expect(reasonOf(() => source.bytes("big.ts"))).toBe("too-large");
    write(directory, { "new.ts": "late", "big.ts": "small" });
    expect(source.kind("new.ts")).toBe("absent");
    expect(reasonOf(() => source.bytes("new.ts"))).toBe("absent");
    expect(reasonOf(() => source.bytes("big.ts"))).toBe("too-large");
  });

  test("opened() lists what was read, by relative path, with its hash and in order", () => {
    const source = PluginSource.open(plugin({ "b.ts": "b", "a/c.ts": "c", "never.ts": "" }));
    source.bytes("b.ts");
    source.bytes("a/../a//c.ts");
    expect([...source.opened()]).toEqual([["a/c.ts", sha256("c")], ["b.ts", sha256("b")]]);
  });

  test("a plugin directory may be reached by a link", () => {
    const directory = plugin({ "a.ts": "one" });
    const link = join(temporary(), "link");
    symlinkSync(directory, link);
    expect(text(PluginSource.open(link).bytes("a.ts"))).toBe("one");
  });

  test("no message names a path of the host", () => {
    const directory = plugin({ "out": { link: "/etc/passwd" }, "a.ts": "" });
    const source = PluginSource.open(directory, { limits: { sourceBytesMax: 0 } });
    for (const path of ["out", "none", "../x", "/etc/passwd", "a.ts/b", "."]) {
      let message = "";
      try {
        source.bytes(path);
      } catch (error) {
        message = (error as Error).message;
      }
      expect(message).not.toBe(path === "a.ts" ? "" : undefined);
      expect(message).not.toContain(directory);
    }
    expect(() => PluginSource.open(join(directory, "no"))).toThrow(
      /^(?!.*sallyport-test).*no such plugin directory/,
    );
    expect(reasonOf(() => PluginSource.open(join(directory, "a.ts")))).toBe("not-a-directory");
  });
});

describe("places", () => {
  test("[T06] what lies outside is refused: by dots, by an absolute path, by a link; the twin inside is read", () => {
    const directory = plugin({
      "in.ts": "inside",
      "near/to_in.ts": { link: "../in.ts" },
      "near/absolute.ts": { link: "WILL BE REPLACED" },
      "out.ts": { link: "../secret" },
      "out_absolute.ts": { link: "/etc/passwd" },
      "out_dir": { link: ".." },
      "near/deep_out.ts": { link: "../near/../../secret" },
      "alias": { link: "near" },
    });
    writeFileSync(join(directory, "../secret"), "secret");
    unlinkSync(join(directory, "near/absolute.ts"));
    symlinkSync(join(directory, "in.ts"), join(directory, "near/absolute.ts"));
    const source = PluginSource.open(directory);
    for (const path of ["near/to_in.ts", "near/absolute.ts", "alias/to_in.ts", "in.ts"]) {
      expect(text(source.bytes(path))).toBe("inside");
      expect(source.real(path)).toBe("/p/in.ts");
    }
    for (
      const path of [
        "../secret",
        "/etc/passwd",
        "../p/in.ts",
        "/pp/in.ts",
        "out.ts",
        "out_absolute.ts",
        "out_dir/secret",
        "near/deep_out.ts",
        "alias/deep_out.ts",
      ]
    ) expect([path, reasonOf(() => source.bytes(path))]).toEqual([path, "outside"]);
    expect([...source.opened().keys()]).toEqual(["in.ts"]);
  });

  test("a link whose target is literally named outside is a link like any other", () => {
    const source = PluginSource.open(plugin({ "outside": "fine", "a": { link: "outside" } }));
    expect(text(source.bytes("a"))).toBe("fine");
  });

  test("links in a circle, links to nothing and a file used as a directory are absent", () => {
    const source = PluginSource.open(
      plugin({ a: { link: "b" }, b: { link: "a" }, c: { link: "none" }, d: "file" }),
    );
    for (const path of ["a", "c", "d/e"]) expect(reasonOf(() => source.bytes(path))).toBe("absent");
    expect(source.kind("d")).toBe("file");
  });

  test("[T08] a named pipe, a device and a directory are no files, and opening them does not block", () => {
    const directory = plugin({ "sub/a.ts": "" });
    execFileSync("mkfifo", [join(directory, "pipe")]);
    const source = PluginSource.open(directory);
    expect(reasonOf(() => source.bytes("pipe"))).toBe("not-a-file");
    expect(reasonOf(() => source.bytes("sub"))).toBe("not-a-file");
    expect(source.kind("pipe")).toBe("other");
    expect(source.kind("sub")).toBe("directory");
  });

  test("[T08] a file swapped for a pipe after it was looked at does not block", () => {
    const directory = plugin({ "a.ts": "" });
    const source = PluginSource.open(directory);
    expect(source.kind("a.ts")).toBe("file");
    unlinkSync(join(directory, "a.ts"));
    execFileSync("mkfifo", [join(directory, "a.ts")]);
    expect(reasonOf(() => source.bytes("a.ts"))).toBe("not-a-file");
  });

  test("[T06] a file or a directory swapped for a link after it was looked at is not followed", () => {
    const directory = plugin({ "a.ts": "inside", "sub/b.ts": "inside" });
    const outside = temporary();
    write(outside, { "b.ts": "secret" });
    const source = PluginSource.open(directory);
    expect(source.kind("a.ts")).toBe("file");
    expect(source.kind("sub/b.ts")).toBe("file");
    unlinkSync(join(directory, "a.ts"));
    symlinkSync(join(outside, "b.ts"), join(directory, "a.ts"));
    renameSync(join(directory, "sub"), join(directory, "was"));
    symlinkSync(outside, join(directory, "sub"));
    expect(reasonOf(() => source.bytes("a.ts"))).toBe("moved");
    expect(reasonOf(() => source.bytes("sub/b.ts"))).toBe("moved");
  });

  test("paths that no plugin may have are refused by their spelling", () => {
    const source = PluginSource.open(plugin({ "a.ts": "" }));
    for (const path of ["a\0.ts", "a\n.ts", "a\\b.ts", "\ud800.ts", "x".repeat(2_000), "\u2028"]) {
      expect(reasonOf(() => source.kind(path))).toBe("malformed");
    }
  });
});

describe("bounds", () => {
  test("[T05] bytes of one file, bytes of all, number of files and of answers are bounded", () => {
    const directory = plugin({ "a": "12345", "b": "12345", "c": "1" });
    const open = (limits: Record<string, number>) => PluginSource.open(directory, { limits });
    expect(reasonOf(() => open({ sourceBytesMax: 4 }).bytes("a"))).toBe("too-large");
    expect(text(open({ sourceBytesMax: 5 }).bytes("a"))).toBe("12345");
    const total = open({ sourceTotalBytesMax: 9 });
    total.bytes("a");
    expect(reasonOf(() => total.bytes("b"))).toBe("too-large");
    const files = open({ sourceFilesMax: 2 });
    files.bytes("a");
    files.bytes("b");
    expect(reasonOf(() => files.bytes("c"))).toBe("too-many");
    expect(text(files.bytes("a"))).toBe("12345");
    const answers = open({ sourceAnswersMax: 2 });
    answers.kind("x");
    answers.kind("y");
    expect(reasonOf(() => answers.kind("z"))).toBe("too-many");
  });
});

describe("trees", () => {
  test("a tree lists every file below with its hash, and links by their target", () => {
    const source = PluginSource.open(plugin({
      "data/a.json": "{}",
      "data/deep/b.txt": "b",
      "data/.hidden": "h",
      "data/link": { link: "deep/b.txt" },
      "other": "not in it",
    }));
    expect([...source.tree("./data")]).toEqual([
      ["data/.hidden", sha256("h")],
      ["data/a.json", sha256("{}")],
      ["data/deep/b.txt", sha256("b")],
      ["data/link", "link:data/deep/b.txt"],
    ]);
    expect([...source.tree("data/a.json")]).toEqual([["data/a.json", sha256("{}")]]);
    expect(reasonOf(() => source.tree("none"))).toBe("absent");
  });

  test("a tree with a link that leaves, a pipe or too many files is refused", () => {
    expect(reasonOf(() => PluginSource.open(plugin({ "d/a": { link: "/etc" } })).tree("d"))).toBe("outside");
    const piped = plugin({ "d/a": "" });
    execFileSync("mkfifo", [join(piped, "d/pipe")]);
    expect(reasonOf(() => PluginSource.open(piped).tree("d"))).toBe("not-a-file");
    const many = PluginSource.open(plugin({ "d/a": "", "d/b": "", "d/c": "" }), {
      limits: { sourceFilesMax: 2 },
    });
    expect(reasonOf(() => many.tree("d"))).toBe("too-many");
  });
});

describe("changes", () => {
  test("changed() names files whose bytes differ, not files that were only touched or never opened", () => {
    const directory = plugin({
      "same.ts": "1",
      "touched.ts": "2",
      "edited.ts": "3",
      "gone.ts": "4",
      "unread.ts": "5",
    });
    const source = PluginSource.open(directory);
    for (const name of ["same", "touched", "edited", "gone"]) source.bytes(`${name}.ts`);
    expect(source.changed()).toEqual([]);
    const before = source.stats().get("touched.ts");
    utimesSync(join(directory, "touched.ts"), new Date(0), new Date(0));
    writeFileSync(join(directory, "edited.ts"), "x");
    writeFileSync(join(directory, "unread.ts"), "x");
    rmSync(join(directory, "gone.ts"));
    expect(source.changed()).toEqual(["edited.ts", "gone.ts"]);
    expect(source.stats().get("touched.ts")).not.toEqual(before);
    writeFileSync(join(directory, "edited.ts"), "3");
    expect(source.changed()).toEqual(["gone.ts"]);
  });

  test("an edit that keeps size and modification time is seen", () => {
    const directory = plugin({ "a.ts": "1" });
    const path = join(directory, "a.ts");
    utimesSync(path, new Date(1_000), new Date(1_000));
    const source = PluginSource.open(directory);
    source.bytes("a.ts");
    writeFileSync(path, "2");
    utimesSync(path, new Date(1_000), new Date(1_000));
    expect(source.changed()).toEqual(["a.ts"]);
  });
});

describe("a single script", () => {
  const files = {
    "script.ts": "1",
    "lib/code.ts": "2",
    "data.json": "3",
    "package.json": "{}",
    ".config/creds.json": "4",
    ".config/code.ts": "5",
    ".env.ts": "6",
    "node_modules/pkg/index.js": "7",
    "node_modules/pkg/package.json": "{}",
    "notes.txt": "8",
  };

  test("[T30] code below the script's directory and package.json files are read, nothing above is", () => {
    const directory = plugin(files);
    write(directory, { "../above.ts": "x" });
    const source = PluginSource.openScript(join(directory, "script.ts"));
    expect(source.script).toBe("script.ts");
    for (const path of ["script.ts", "lib/code.ts", "node_modules/pkg/index.js"]) source.bytes(path, "code");
    for (const path of ["package.json", "node_modules/pkg/package.json"]) source.bytes(path, "package");
    expect(reasonOf(() => source.bytes("../above.ts", "code"))).toBe("outside");
  });

  test("[T30] what is not code needs the grant to read that very path, by its real name", () => {
    const directory = plugin({
      ...files,
      "link.json": { link: "data.json" },
      "code.ts": { link: "notes.txt" },
    });
    const asked: string[] = [];
    const mayRead = (path: string) => {
      asked.push(path);
      return path === join(directory, "data.json");
    };
    const source = PluginSource.openScript(join(directory, "script.ts"), { mayRead });
    expect(text(source.bytes("data.json"))).toBe("3");
    expect(text(source.bytes("link.json"))).toBe("3");
    expect(reasonOf(() => source.bytes("notes.txt"))).toBe("not-granted");
    expect(reasonOf(() => source.bytes("code.ts", "code"))).toBe("not-granted");
    expect(reasonOf(() => source.bytes("notes.txt", "package"))).toBe("not-granted");
    expect(reasonOf(() => source.bytes("package.json"))).toBe("not-granted");
    expect(asked).toContain(join(directory, "notes.txt"));
    const ungranted = PluginSource.openScript(join(directory, "script.ts"));
    expect(reasonOf(() => ungranted.bytes("data.json"))).toBe("not-granted");
    expect(text(PluginSource.open(directory).bytes("notes.txt"))).toBe("8");
  });

  test("[T30] names that begin with a dot are never read, not even with a grant", () => {
    const directory = plugin({ ...files, "dot.ts": { link: ".env.ts" } });
    const source = PluginSource.openScript(join(directory, "script.ts"), { mayRead: () => true });
    for (const path of [".config/creds.json", ".config/code.ts", ".env.ts", "dot.ts", "lib/../.env.ts"]) {
      expect([path, reasonOf(() => source.bytes(path, "code"))]).toEqual([path, "hidden"]);
    }
    expect(text(PluginSource.open(directory).bytes(".env.ts"))).toBe("6");
  });

  test("[T30] a script given by a link has the directory of the file itself", () => {
    const directory = plugin(files);
    const elsewhere = temporary();
    mkdirSync(join(elsewhere, "bin"));
    symlinkSync(join(directory, "script.ts"), join(elsewhere, "bin/tool"));
    const source = PluginSource.openScript(join(elsewhere, "bin/tool"));
    expect(source.script).toBe("script.ts");
    expect(text(source.bytes("lib/code.ts", "code"))).toBe("2");
  });
});

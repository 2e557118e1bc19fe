import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PermissionRequest } from "../../../permissions/mod.ts";
import { Bench, temporaryFolder } from "../harness.ts";
import { writeWhileSwapping } from "../swapping.ts";

let bench: Bench;
beforeAll(() => {
  bench = new Bench();
});
afterAll(() => bench[Symbol.asyncDispose]());

/** Runs a body with `root` as the working directory; gives its value, or `NAME CODE` of what it threw. */
async function run(root: string, permissions: PermissionRequest, body: string): Promise<unknown> {
  const code = `async () => { try { ${body} } catch (e) { return e.name + " " + e.code; } }`;
  const { value, error } = await bench.once(code, { cwd: root, permissions, source: "flags" });
  if (error !== undefined) throw error;
  return value;
}

const DENIED = "NotCapable ERR_NOT_CAPABLE";

describe("writing files", () => {
  test("a text file is made, replaced and added to; bytes are written as they are", async () => {
    using folder = temporaryFolder();
    await run(
      folder.path,
      { write: ["."] },
      `await Deno.writeTextFile("a.txt", "a long first text");
       await Deno.writeTextFile("a.txt", "ü");
       await Deno.writeTextFile(new URL("file://${folder.path}/a.txt"), "!", { append: true });
       await Deno.writeFile("b.bin", new Uint8Array([0, 255, 128]));
       await Deno.writeFile("c.bin", new Uint8Array([1, 2, 3, 4]).subarray(1, 3), { createNew: true, mode: 0o777 });`,
    );
    expect(readFileSync(join(folder.path, "a.txt"), "utf8")).toBe("ü!");
    expect([...readFileSync(join(folder.path, "b.bin"))]).toEqual([0, 255, 128]);
    expect([...readFileSync(join(folder.path, "c.bin"))]).toEqual([2, 3]);
  });

  test("create: false and createNew say what is there", async () => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "old"), "old");
    const write = { write: ["."] };
    expect(await run(folder.path, write, `await Deno.writeTextFile("new", "x", { create: false })`)).toBe(
      "NotFound ENOENT",
    );
    expect(await run(folder.path, write, `await Deno.writeTextFile("old", "x", { createNew: true })`)).toBe(
      "AlreadyExists EEXIST",
    );
    expect(await run(folder.path, write, `await Deno.writeTextFile("none/new", "x")`)).toBe(
      "NotFound ENOENT",
    );
    expect(await run(folder.path, write, `await Deno.writeTextFile("old/new", "x")`)).toBe(
      "NotADirectory ENOTDIR",
    );
    expect(await run(folder.path, write, `await Deno.writeTextFile(".", "x")`)).toBe("IsADirectory EISDIR");
    expect(readFileSync(join(folder.path, "old"), "utf8")).toBe("old");
  });

  test("[T08] outside the grant nothing is made, cut or told, and a deny carves out", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "in/secret"), { recursive: true });
    writeFileSync(join(folder.path, "outside"), "whole");
    const write = { write: { allow: ["./in"], deny: ["./in/secret"] } };
    for (
      const path of ["outside", "in/../outside", "absent", "in/secret/x", "in/secret", "infix", "/dev/null"]
    ) {
      expect(await run(folder.path, write, `await Deno.writeTextFile(${JSON.stringify(path)}, "x")`), path)
        .toBe(DENIED);
    }
    expect(readFileSync(join(folder.path, "outside"), "utf8")).toBe("whole");
    expect(existsSync(join(folder.path, "absent"))).toBe(false);
    expect(await run(folder.path, write, `await Deno.writeTextFile("in/x", "x")`)).toBe(null);
    expect(await run(folder.path, { read: ["."] }, `await Deno.writeTextFile("in/x", "x")`)).toBe(DENIED);
  });

  test("[T08] a link is followed to where the grant reaches and nowhere else", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "in/real"), { recursive: true });
    mkdirSync(join(folder.path, "out"));
    writeFileSync(join(folder.path, "out/victim"), "whole");
    symlinkSync("../out", join(folder.path, "in/dir"));
    symlinkSync("../out/victim", join(folder.path, "in/file"));
    symlinkSync("../out/absent", join(folder.path, "in/dangling"));
    symlinkSync("real", join(folder.path, "in/good"));
    symlinkSync("loop", join(folder.path, "in/loop"));
    const write = { write: ["./in"] };
    for (const path of ["in/dir/new", "in/file", "in/dangling", "in/dir/victim"]) {
      expect(await run(folder.path, write, `await Deno.writeTextFile("${path}", "x")`), path).toBe(DENIED);
    }
    expect(await run(folder.path, write, `await Deno.mkdir("in/dir/new")`)).toBe(DENIED);
    expect(await run(folder.path, write, `await Deno.remove("in/dir/victim")`)).toBe(DENIED);
    expect(await run(folder.path, write, `await Deno.writeTextFile("in/loop", "x")`)).toBe(
      "FilesystemLoop ELOOP",
    );
    expect(await run(folder.path, write, `await Deno.writeTextFile("in/file", "x", { createNew: true })`))
      .toBe(
        "AlreadyExists EEXIST",
      );
    expect(readFileSync(join(folder.path, "out/victim"), "utf8")).toBe("whole");
    expect(existsSync(join(folder.path, "out/absent"))).toBe(false);
    expect(await run(folder.path, write, `await Deno.writeTextFile("in/good/x", "x")`)).toBe(null);
    expect(readFileSync(join(folder.path, "in/real/x"), "utf8")).toBe("x");
  });

  test("[T08] a file with several names is not written to and keeps its bytes; one with one name is", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "in"));
    writeFileSync(join(folder.path, "victim"), "whole");
    linkSync(join(folder.path, "victim"), join(folder.path, "in/linked"));
    for (const options of ["{}", "{ append: true }"]) {
      expect(
        await run(folder.path, { write: ["./in"] }, `await Deno.writeTextFile("in/linked", "x", ${options})`),
      )
        .toBe(DENIED);
    }
    expect(readFileSync(join(folder.path, "victim"), "utf8")).toBe("whole");
    expect(await run(folder.path, { read: ["./in"] }, `return await Deno.readTextFile("in/linked")`)).toBe(
      "whole",
    );
    expect(await run(folder.path, { write: ["./in"] }, `await Deno.remove("in/linked")`)).toBe(null);
    expect(existsSync(join(folder.path, "victim"))).toBe(true);
  });

  test("[T08] pipes are not opened: a waiting reader hears nothing, and nothing blocks", async () => {
    using folder = temporaryFolder();
    execFileSync("mkfifo", [join(folder.path, "pipe")]);
    const grants = { read: ["."], write: ["."] };
    const each = `const told = [];
      for (const act of [() => Deno.writeTextFile("pipe", "x"), () => Deno.readTextFile("pipe")]) {
        for (let i = 0; i < 8; i++) told.push(await act().catch((e) => e.name));
      }
      return [...new Set(told)];`;
    expect(await run(folder.path, grants, each)).toEqual(["NotSupported"]);
    expect(await run(folder.path, grants, `return (await Deno.stat("pipe")).isFile`)).toBe(false);
  });

  test("a file is bounded, whatever it is made of", async () => {
    using folder = temporaryFolder();
    const body = (size: number) =>
      `for (let i = 0; i < ${size}; i++) await Deno.writeTextFile("a", "x".repeat(1048576), { append: true })`;
    expect(await run(folder.path, { write: ["."] }, body(9))).toBe("InvalidData ERR_LIMIT_SIZE");
    expect(readFileSync(join(folder.path, "a")).byteLength).toBe(8 * 1_048_576);
    expect(await run(folder.path, { write: ["."] }, `await Deno.writeTextFile("b", "x".repeat(7_000_000))`))
      .toBe(
        null,
      );
  });

  test("arguments of the wrong kind are refused before anything is asked", async () => {
    using folder = temporaryFolder();
    const before = bench.events.length;
    for (
      const call of [
        "writeTextFile('a', {})",
        "writeFile('a', 'text')",
        "writeTextFile(7, 'x')",
        "rename('a', 7)",
      ]
    ) {
      expect(await run(folder.path, { write: true, read: true }, `await Deno.${call}`), call).toBe(
        "TypeError undefined",
      );
    }
    expect(bench.events.length).toBe(before);
  });
});

describe("directories", () => {
  test("mkdir makes one, or all that are missing, each under a decision of its own", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "in"));
    writeFileSync(join(folder.path, "in/file"), "");
    const write = { write: ["./in", "./far/away/place"] };
    expect(await run(folder.path, write, `await Deno.mkdir("in/a")`)).toBe(null);
    expect(await run(folder.path, write, `await Deno.mkdir("in/a")`)).toBe("AlreadyExists EEXIST");
    expect(await run(folder.path, write, `await Deno.mkdir("in/a", { recursive: true })`)).toBe(null);
    expect(await run(folder.path, write, `await Deno.mkdir("in/x/y/z")`)).toBe("NotFound ENOENT");
    expect(await run(folder.path, write, `await Deno.mkdir("in/x/y/z", { recursive: true })`)).toBe(null);
    expect(existsSync(join(folder.path, "in/x/y/z"))).toBe(true);
    expect(await run(folder.path, write, `await Deno.mkdir("in/file", { recursive: true })`)).toBe(
      "AlreadyExists EEXIST",
    );
    expect(await run(folder.path, write, `await Deno.mkdir("far/away/place", { recursive: true })`)).toBe(
      DENIED,
    );
    expect(existsSync(join(folder.path, "far"))).toBe(false);
  });

  test("remove takes a file, an empty directory, a link itself, and a tree without following links", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "in/tree/deep"), { recursive: true });
    mkdirSync(join(folder.path, "out"));
    writeFileSync(join(folder.path, "out/kept"), "");
    writeFileSync(join(folder.path, "in/tree/deep/file"), "");
    symlinkSync("../../../out", join(folder.path, "in/tree/deep/link"));
    symlinkSync("../out", join(folder.path, "in/link"));
    const write = { write: ["./in"] };
    expect(await run(folder.path, write, `await Deno.remove("in/tree")`)).toBe("Error ENOTEMPTY");
    expect(await run(folder.path, write, `await Deno.remove("in/absent")`)).toBe("NotFound ENOENT");
    expect(await run(folder.path, write, `await Deno.remove("in/tree", { recursive: true })`)).toBe(null);
    expect(await run(folder.path, write, `await Deno.remove("in/link", { recursive: true })`)).toBe(null);
    expect(existsSync(join(folder.path, "in/tree"))).toBe(false);
    expect(existsSync(join(folder.path, "out/kept"))).toBe(true);
  });

  test("[T03] a tree with something denied or sealed in it is neither removed nor moved, nor any part of it", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "in/a/denied"), { recursive: true });
    mkdirSync(join(folder.path, "in/b/.sallyport/plugins"), { recursive: true });
    mkdirSync(join(folder.path, "in/c"));
    writeFileSync(join(folder.path, "in/a/1"), "");
    writeFileSync(join(folder.path, "in/b/1"), "");
    const permissions = { read: ["."], write: { allow: ["./in"], deny: ["./in/a/denied"] } };
    for (const tree of ["a", "b", "."]) {
      for (const act of [`remove("in/${tree}", { recursive: true })`, `rename("in/${tree}", "in/moved")`]) {
        expect(await run(folder.path, permissions, `await Deno.${act}`), act).toBe(DENIED);
      }
    }
    expect(["in/a/1", "in/b/1", "in/a/denied"].map((path) => existsSync(join(folder.path, path))))
      .toEqual([true, true, true]);
    expect(await run(folder.path, permissions, `await Deno.rename("in/c", "in/d")`)).toBe(null);
    expect(await run(folder.path, permissions, `await Deno.remove("in/d", { recursive: true })`)).toBe(null);
  });

  test("[T25] rename needs read and write where it takes from, and write where it puts", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "a"));
    mkdirSync(join(folder.path, "b"));
    writeFileSync(join(folder.path, "a/file"), "text");
    const move = `await Deno.rename("a/file", "b/file")`;
    for (
      const permissions of [
        { read: ["./a", "./b"], write: ["./a"] },
        { read: ["./a", "./b"], write: ["./b"] },
        { read: ["./b"], write: ["./a", "./b"] },
      ]
    ) expect(await run(folder.path, permissions, move)).toBe(DENIED);
    expect(await run(folder.path, { read: ["./a"], write: ["./a", "./b"] }, move)).toBe(null);
    expect(readFileSync(join(folder.path, "b/file"), "utf8")).toBe("text");
  });
});

describe("races", () => {
  test("[T08] thousands of swaps of a directory for a link never let a write land outside", async () => {
    using folder = temporaryFolder();
    const bounds = { swaps: 3_000, each: 100, withinMs: 40_000 };
    const { swaps, told, escapes } = await writeWhileSwapping(bench, folder.path, bounds);
    expect(escapes).toEqual([]);
    // Or the test would have shown nothing.
    expect(swaps).toBeGreaterThanOrEqual(3_000);
    expect(told["done"]).toBeGreaterThan(100);
    expect(told["NotCapable"]).toBeGreaterThan(100);
  }, 60_000);
});

test("[T03] $data is made when it is first written to, and is the plugin's for reading too", async () => {
  using folder = temporaryFolder();
  const data = join(folder.path, "state/lineage");
  const guest = await bench.start(
    `async (what) => { try {
      if (what === "read") return await Deno.readTextFile("$data/a/b.txt");
      await Deno.mkdir("$data/a", { recursive: true });
      await Deno.writeTextFile("$data/a/b.txt", "kept");
    } catch (e) { return e.name; } }`,
    {
      data,
      permissions: { read: ["$data"], write: ["$data"] },
      own: { lineage: "lineage", makeData: () => void mkdirSync(data, { recursive: true }) },
    },
  );
  expect((await guest.call("read")).value).toBe("NotFound");
  expect(existsSync(data)).toBe(false);
  expect((await guest.call("write")).value).toBe(null);
  expect((await guest.call("read")).value).toBe("kept");
  rmSync(data, { recursive: true });
  expect((await guest.call("write")).value).toBe(null);
});

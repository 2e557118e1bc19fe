/** Reading the disk from a guest: what a grant reaches, by whatever links, and what nothing reaches. */
import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { Bench, type Guest, type GuestOptions, temporaryFolder } from "./harness.ts";
import { readWhileSwapping } from "./swapping.ts";

const folder = temporaryFolder();
const root = folder.path;
const own = join(root, "own");
let sealed: readonly string[] = [];
const bench = new Bench({ sealed: () => sealed });
let reader: Guest;
const isUnix = process.platform !== "win32";

const READER = `async ([what, path]) => {
  try {
    if (what === "list") {
      const names = [];
      for await (const entry of Deno.readDir(path)) names.push(entry.name);
      return names;
    }
    if (what === "bytes") return (await Deno.readFile(path)).length;
    if (what === "stat" || what === "lstat") {
      const { isFile, isDirectory, isSymlink, size } = await Deno[what](path);
      return isFile ? "file " + size : isDirectory ? "directory" : isSymlink ? "link" : "other";
    }
    return await Deno.readTextFile(path);
  } catch (error) { return error.name; }
}`;

async function start(options: GuestOptions = {}): Promise<Guest> {
  return await bench.start(READER, { permissions: { read: ["."] }, cwd: own, ...options });
}

/** What the guest is answered, within a bounded time. */
async function ask(what: string, path: string, guest: Guest = reader): Promise<unknown> {
  const { value, code } = await guest.call([what, path], 5_000);
  return code ?? value;
}
const read = (path: string, guest?: Guest) => ask("read", path, guest);

beforeAll(async () => {
  mkdirSync(join(own, "folder"), { recursive: true });
  mkdirSync(join(root, "other/deep"), { recursive: true });
  writeFileSync(join(own, "file"), "mine");
  writeFileSync(join(own, "folder/inner"), "inner");
  writeFileSync(join(root, "other/secret"), "secret");
  writeFileSync(join(root, "own-not"), "neighbour");
  const links: Readonly<Record<string, string>> = {
    "to-file": "file",
    "to-folder": "folder",
    "to-absolute": join(own, "file"),
    "to-secret": "../other/secret",
    "to-other": "../other",
    "to-detour": "folder/../../other/secret",
    "chain-1": "chain-2",
    "chain-2": "to-folder/inner",
    "chain-out-1": "chain-out-2",
    "chain-out-2": "to-secret",
    "loop": "loop",
    "dangling-in": "nothing-here",
    "dangling-out": "../other/nothing-here",
    "to-passwd": "/etc/passwd",
    "to-environ": "/proc/self/environ",
    "to-tty": "/dev/tty",
    "folder/up": "..",
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(own, name));
  reader = await start();
});
afterAll(async () => {
  await bench.pool.close();
  folder[Symbol.dispose]();
});

describe("what a grant reaches", () => {
  test("[T08] files and folders below it, spelled in any way that leads there", async () => {
    for (const path of ["file", "./file", "folder/../file", "/" + own + "//file", `${own}/file`]) {
      expect(await read(path), path).toBe("mine");
    }
    expect(await ask("bytes", "file")).toBe(4);
    expect(await ask("stat", "file")).toBe("file 4");
    expect(await ask("stat", "folder")).toBe("directory");
    expect(await ask("list", "folder")).toEqual(["inner", "up"]);
  });

  test("[T08] links inside it that stay inside", async () => {
    expect(await read("to-file")).toBe("mine");
    expect(await read("to-absolute")).toBe("mine");
    expect(await read("to-folder/inner")).toBe("inner");
    expect(await read("chain-1")).toBe("inner");
    expect(await read("folder/up/file")).toBe("mine");
    expect(await ask("stat", "to-file")).toBe("file 4");
    expect(await ask("lstat", "to-file")).toBe("link");
  });

  test("[T08] a file with two names, under either", async () => {
    linkSync(join(own, "file"), join(own, "second-name"));
    expect(await read("second-name")).toBe("mine");
    linkSync(join(root, "other/secret"), join(own, "hard"));
    expect(await read("hard")).toBe("secret"); // package managers make such links, and nobody but the owner could
    unlinkSync(join(own, "hard"));
  });

  test("[T08] what is not there is not found; a loop is a loop; a file is no folder", async () => {
    expect(await read("nothing")).toBe("NotFound");
    expect(await read("dangling-in")).toBe("NotFound");
    expect(await read("loop")).toBe("FilesystemLoop");
    expect(await read("file/below")).toBe("NotADirectory");
    expect(await read("folder")).toBe("IsADirectory");
    expect(await ask("list", "file")).toBe("NotADirectory");
    expect(await read("a\0b")).not.toBe("mine");
  });
});

describe("what it does not reach", () => {
  test("[T08] neighbours, parents and whatever links lead to", async () => {
    for (
      const path of [
        "../other/secret",
        "../own-not",
        "..",
        "/",
        "to-secret",
        "to-other/secret",
        "to-detour",
        "to-passwd",
        "chain-out-1",
        `${root}/own-not`,
      ]
    ) {
      for (const what of ["read", "bytes", "stat", "list"]) {
        expect(await ask(what, path), `${what} ${path}`).toBe("NotCapable");
      }
    }
    expect(await ask("lstat", "to-secret")).toBe("link"); // the link itself is the guest's own
    expect(await ask("lstat", "to-other/secret")).toBe("NotCapable");
  });

  test("[T08] outside of it there is no difference between what exists and what does not", async () => {
    for (
      const path of [
        "../other/secret",
        "../other/nothing-here",
        "dangling-out",
        "to-other/nothing",
        "/nothing",
      ]
    ) {
      expect(await read(path), path).toBe("NotCapable");
      expect(await ask("stat", path), path).toBe("NotCapable");
    }
  });

  test("[T08] each refusal by a link is written down with where it leads, which the guest is not told", async () => {
    const before = bench.events.length;
    const { denials } = await reader.call(["read", "to-secret"]);
    expect(denials).toMatchObject([{
      spelled: "to-secret",
      decision: { value: join(root, "other/secret") },
    }]);
    expect(bench.events.slice(before)).toMatchObject([
      { value: join(own, "to-secret"), decision: "granted" },
      { value: join(root, "other/secret"), decision: "denied" },
    ]);
  });

  test("[T08] a deny inside it, by its name or by a link", async () => {
    const guest = await start({ permissions: { read: { allow: ["."], deny: ["./folder"] } } });
    expect(await read("file", guest)).toBe("mine");
    for (const path of ["folder/inner", "to-folder/inner", "chain-1"]) {
      expect(await read(path, guest)).toBe("NotCapable");
    }
    guest.isolate.dispose();
  });

  test("[T08] special files of the system, though everything may be read", async () => {
    const guest = await start({ permissions: { read: true } });
    expect(await read("../other/secret", guest)).toBe("secret");
    for (
      const path of [
        "/proc/self/environ",
        "/proc/1/environ",
        "/sys/kernel/notes",
        "/dev/tty",
        "to-environ",
        "to-tty",
      ]
    ) {
      expect(await read(path, guest), path).toBe("NotCapable");
    }
    guest.isolate.dispose();
  });

  test("[T03] Sallyport's own state, under any grant, by any name; its neighbours are reached", async () => {
    const state = join(root, "state");
    mkdirSync(state, { recursive: true });
    writeFileSync(join(state, "key"), "key");
    writeFileSync(join(root, "state-not"), "neighbour");
    symlinkSync(state, join(root, "other/to-state"));
    sealed = [state];
    try {
      const guest = await start({ permissions: { read: true } });
      for (
        const path of [
          join(state, "key"),
          state,
          "../state/key",
          "../other/to-state/key",
          "../other/../state/key",
        ]
      ) {
        expect(await read(path, guest), path).toBe("NotCapable");
      }
      expect(await read("../state-not", guest)).toBe("neighbour");
      guest.isolate.dispose();
    } finally {
      sealed = [];
    }
  });
});

describe("what would block or flood a host", () => {
  test.skipIf(!isUnix)(
    "[T08] pipes, sockets, devices and folders answer at once, many of them too",
    async () => {
      execFileSync("mkfifo", [join(own, "pipe")]);
      const server = createServer().listen(join(own, "socket"));
      await new Promise((resolve) => server.once("listening", resolve));
      try {
        const begin = performance.now();
        for (const name of ["pipe", "socket", "folder"]) {
          expect(await read(name), name).toMatch(/NotSupported|IsADirectory/);
          expect(await ask("stat", name), name).toMatch(/other|directory/);
        }
        const outcomes = await Promise.all(
          Array.from({ length: 40 }, (_, i) => read(i % 2 === 0 ? "pipe" : "file")),
        );
        expect(new Set(outcomes)).toEqual(new Set(["NotSupported", "mine"]));
        expect(performance.now() - begin).toBeLessThan(4_000);
      } finally {
        server.close();
      }
    },
  );

  test("[T08] a file above the bound is refused, one at the bound is read", async () => {
    const large = join(own, "large");
    writeFileSync(large, "");
    truncateSync(large, RUNTIME_LIMITS.fileBytesMax);
    const guest = await start({ memoryMb: 256 });
    expect(await ask("bytes", "large", guest)).toBe(RUNTIME_LIMITS.fileBytesMax);
    truncateSync(large, RUNTIME_LIMITS.fileBytesMax + 1);
    expect(await ask("bytes", "large", guest)).toBe("InvalidData");
    truncateSync(large, 2 ** 40);
    expect(await ask("bytes", "large", guest)).toBe("InvalidData");
    expect(await ask("stat", "large", guest)).toBe(`file ${2 ** 40}`);
    unlinkSync(large);
    guest.isolate.dispose();
  });
});

describe("a folder that is swapped for a link while it is read", () => {
  test("[T08] thousands of times: not one byte, fact or name of the other side", async () => {
    using swapped = temporaryFolder();
    const bounds = { swaps: 2_000, each: 100, withinMs: 20_000 };
    const { swaps, told, escapes } = await readWhileSwapping(bench, swapped.path, bounds);
    expect(escapes).toEqual([]);
    expect(told["text good"] ?? 0, JSON.stringify(told)).toBeGreaterThan(100);
    expect(told["NotCapable"] ?? 0, JSON.stringify(told)).toBeGreaterThan(100);
    expect(swaps).toBeGreaterThanOrEqual(2_000);
  });
});

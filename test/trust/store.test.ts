import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { HostError } from "../../permissions/mod.ts";
import { settingsTrustStore } from "../../src/trust/store.ts";
import { temporary } from "../bundler/support.ts";
import { failureOf } from "../host/support.ts";
import { PINS, recordOf } from "./support.ts";

const PROBE = join(import.meta.dirname, "probe.ts");
const isRoot = process.geteuid?.() === 0;
const FAST = { limits: { lockWaitMs: 300, lockPollMs: 5 } };

const keyOf = (name: string) => ({ tenant: "local", directory: `/plugins/${name}`, name });

/** A home with one record in it. */
async function made() {
  const home = join(temporary(), "home");
  const store = settingsTrustStore(home, FAST);
  const record = await store.put(recordOf("one"), PINS);
  return { home, store, record, file: join(home, "settings.yaml") };
}

/** The refusal of a store that must believe nothing and overwrite nothing. */
async function refusal(home: string, file = join(home, "settings.yaml")): Promise<HostError> {
  const before = existsSync(file) && lstatSync(file).isFile() ? readFileSync(file, "utf8") : null;
  const store = settingsTrustStore(home, FAST);
  const error = await failureOf(store.get(keyOf("one")));
  expect(error).toBeInstanceOf(HostError);
  expect(error.code).toBe("ERR_STORE");
  expect((await failureOf(store.list("local"))).code).toBe("ERR_STORE");
  expect((await failureOf(store.put(recordOf("two"), PINS))).code).toBe("ERR_STORE");
  expect((await failureOf(store.remove(keyOf("one")))).code).toBe("ERR_STORE");
  if (before !== null) expect(readFileSync(file, "utf8")).toBe(before);
  return error as HostError;
}

describe("records", () => {
  test("are kept, listed by tenant, replaced and forgotten; nothing is made before the first", async () => {
    const home = join(temporary(), "home");
    const store = settingsTrustStore(home);
    expect(await store.list("local")).toEqual([]);
    expect(existsSync(home)).toBe(false);
    const record = await store.put(recordOf("one"), PINS);
    await store.put(recordOf("two", { tenant: "acme" }), PINS);
    expect(await store.get(keyOf("one"))).toEqual({ isSound: true, record });
    expect(await store.list("local")).toEqual([{ isSound: true, record }]);
    expect(await store.get({ ...keyOf("one"), directory: "/elsewhere/one" })).toBeNull();
    expect(await store.get({ ...keyOf("one"), tenant: "acme" })).toBeNull();
    expect(await store.pins(record.fingerprint)).toEqual(PINS);
    expect(await store.remove(keyOf("one"))).toBe(true);
    expect(await store.remove(keyOf("one"))).toBe(false);
    expect(await store.get(keyOf("one"))).toBeNull();
    expect(await store.pins(record.fingerprint)).toEqual(PINS); // the other tenant's record has the same
    expect(await store.remove({ ...keyOf("two"), tenant: "acme" })).toBe(true);
    expect(await store.pins(record.fingerprint)).toBeNull();
  });

  test("keep their lineage when a plugin is trusted anew, and begin another one after it was forgotten", async () => {
    const { store, record } = await made();
    const again = await store.put(recordOf("one", { approver: "eve" }), PINS);
    expect(again).toMatchObject({ lineage: record.lineage, approver: "eve" });
    await store.remove(record);
    expect((await store.put(recordOf("one"), PINS)).lineage).not.toBe(record.lineage);
  });

  test("[T36] comments and keys that are not known survive every change", async () => {
    const { file, store } = await made();
    const text = readFileSync(file, "utf8")
      .replace("trusted_plugins:", "# mine\ntheme: dark # at night\n\ntrusted_plugins:")
      .replace("    name: one", "    # the first one\n    name: one\n    note: {by: [me]}");
    writeFileSync(file, text + "later: [1, 2]\n");
    await store.put(recordOf("one", { approver: "eve" }), PINS);
    await store.put(recordOf("two"), PINS);
    await store.remove(keyOf("two"));
    const after = readFileSync(file, "utf8");
    for (
      const part of ["# mine\n", "theme: dark # at night\n", "# the first one\n", "later: [ 1, 2 ]\n"]
    ) expect(after).toContain(part);
    expect(after).toMatch(/note: \{ by: \[ me \] \}/);
    expect(await store.get(keyOf("one"))).toMatchObject({ isSound: true, record: { approver: "eve" } });
  });

  test("a file of comments only, and an empty list, are written into", async () => {
    const { home, file, store } = await made();
    for (
      const text of ["", "# nothing yet\n", "trusted_plugins: []\n", "trusted_plugins:\n", "theme: dark\r\n"]
    ) {
      writeFileSync(file, text);
      await store.put(recordOf("one"), PINS);
      expect(readFileSync(file, "utf8")).toContain(text.startsWith("#") ? "# nothing yet" : "name: one");
      expect(await settingsTrustStore(home).list("local")).toHaveLength(1);
    }
  });

  test.each([
    ["a fingerprint of another form", (text: string) => text.replace(/sha256:\w+/, "md5:00"), /fingerprint/],
    [
      "a list of a wrong type",
      (text: string) => text.replace(/exposed:\n\s+- \w+/, "exposed: all"),
      /exposed/,
    ],
    ["grants that cannot be read", (text: string) => text.replace("- a.example:443", "- '::::'"), /grants/],
    [
      "a lineage that leads elsewhere",
      (text: string) => text.replace(/lineage: \w+/, "lineage: ../x"),
      /lineage/,
    ],
    [
      "an algorithm that is not known",
      (text: string) => text.replace("algorithm: sallyport-1", "algorithm: sallyport-9"),
      /the algorithm "sallyport-9".*knows "sallyport-1"/,
    ],
    ["nothing but its key", (text: string) => text.replace(/ {4}algorithm[^]*$/, ""), /algorithm/],
  ])("[T36] broken by hand (%s) degrade alone: the others stay sound", async (_, breakIt, why) => {
    const { file, store, record } = await made();
    const sound = readFileSync(file, "utf8");
    await store.put(recordOf("two"), PINS);
    writeFileSync(file, readFileSync(file, "utf8").replace(sound, breakIt(sound)));
    const [first, second] = await store.list("local");
    expect(first).toMatchObject({ isSound: false, key: keyOf("one"), reason: expect.stringMatching(why) });
    expect(second).toMatchObject({ isSound: true, record: { name: "two" } });
    // Trusting it anew heals it, and keeps the lineage where there still is one.
    const healed = await store.put(recordOf("one"), PINS);
    if (/lineage: [0-9a-f]{32}/.test(breakIt(sound))) expect(healed.lineage).toBe(record.lineage);
    expect(await store.get(keyOf("one"))).toMatchObject({ isSound: true });
  });

  test("[T36] an entry that does not say whom it is about trusts nobody; two of one plugin trust neither", async () => {
    const { file, store } = await made();
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace("directory: /plugins/one", "directory: [/plugins/one]"));
    expect(await store.list("local")).toEqual([]);
    writeFileSync(file, text + text.replace("trusted_plugins:\n", ""));
    expect(await store.list("local")).toMatchObject(
      [{ isSound: false, reason: /two trust records/ }].map(() => ({
        isSound: false,
      })),
    );
    await store.put(recordOf("one"), PINS);
    expect(await store.list("local")).toMatchObject([{ isSound: true }]);
  });

  test("pins that were tampered with are as good as gone", async () => {
    const { home, store, record } = await made();
    const [name] = readdirSync(join(home, "pins"));
    const file = join(home, "pins", name!);
    const before = readFileSync(file, "utf8");
    writeFileSync(file, before.replace('"00"', '"01"'));
    expect(await store.pins(record.fingerprint)).toBeNull();
    writeFileSync(file, before);
    expect(await store.pins(record.fingerprint)).toEqual(PINS);
  });

  test("what could not be read back is not written", async () => {
    const { file, store } = await made();
    const before = readFileSync(file, "utf8");
    const record = recordOf("one", { directory: "/plugins/\u202eeno" });
    expect((await failureOf(store.put(record, PINS))).code).toBe("ERR_STORE");
    expect(readFileSync(file, "utf8")).toBe(before);
    for (const directory of ["/plugins/a: b # c", "/plugins/- 'x\"", "/plugins/é", "/plugins/1e5"]) {
      const kept = await store.put(recordOf("one", { directory }), PINS);
      expect(await store.get({ ...keyOf("one"), directory })).toEqual({ isSound: true, record: kept });
    }
  });
});

describe("[T36] the settings file", () => {
  test("is made with 0600 in a directory of 0700", async () => {
    const { home, file } = await made();
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(home).toSorted()).toEqual(["pins", "settings.yaml"]);
  });

  test.each([0o644, 0o620, 0o602, 0o666, 0o640])(
    "of mode %o is not believed; the error names the chmod",
    async (mode) => {
      const { home, file, store } = await made();
      chmodSync(file, mode);
      expect((await refusal(home)).message).toContain(`chmod 600 ${file}`);
      chmodSync(file, 0o600);
      expect(await store.list("local")).toHaveLength(1);
      chmodSync(file, 0o400);
      expect(await store.list("local")).toHaveLength(1);
    },
  );

  test.each([0o755, 0o770, 0o707])("in a directory of mode %o is not believed", async (mode) => {
    const { home, store } = await made();
    chmodSync(home, mode);
    expect((await refusal(home)).message).toContain(`chmod 700 ${home}`);
    chmodSync(home, 0o700);
    expect(await store.list("local")).toHaveLength(1);
  });

  test("that is not there yet is no reason to complain, until it is to be written", async () => {
    const home = join(temporary(), "home");
    mkdirSync(home, { mode: 0o755 });
    const store = settingsTrustStore(home);
    expect(await store.list("local")).toEqual([]);
    expect((await failureOf(store.put(recordOf("one"), PINS))).message).toContain(`chmod 700 ${home}`);
    chmodSync(home, 0o700);
    await store.put(recordOf("one"), PINS);
    expect(await store.list("local")).toHaveLength(1);
  });

  test.skipIf(!isRoot)(
    "of another user, or in a directory of one, is not believed (needs root)",
    async () => {
      const { home, file, store } = await made();
      for (const path of [file, home]) {
        chownSync(path, 4321, 0);
        const { message } = await refusal(home);
        expect(message).toContain("belongs to user 4321");
        expect(message).toContain(`chown 0 ${path}`);
        chownSync(path, 0, 0);
        expect(await store.list("local")).toHaveLength(1);
      }
    },
  );

  test("may be a link: what it leads to is checked alike, and written in place", async () => {
    const { home, file, store } = await made();
    const dotfiles = join(temporary(), "dotfiles");
    mkdirSync(dotfiles, { mode: 0o755 });
    const target = join(dotfiles, "sallyport.yaml");
    writeFileSync(target, readFileSync(file), { mode: 0o600 });
    rmSync(file);
    symlinkSync(target, file);
    expect(await store.list("local")).toHaveLength(1);
    await store.put(recordOf("two"), PINS);
    expect(readlinkSync(file)).toBe(target);
    expect(lstatSync(target).isFile()).toBe(true);
    expect(readFileSync(target, "utf8")).toContain("name: two");
    chmodSync(target, 0o644);
    expect((await refusal(home)).message).toContain(`chmod 600 ${target}`);
    chmodSync(target, 0o600);
    chmodSync(dotfiles, 0o775);
    expect((await refusal(home)).message).toContain(`chmod go-w ${dotfiles}`);
    chmodSync(dotfiles, 0o755);
    expect(await store.list("local")).toHaveLength(2);
    rmSync(target);
    expect((await refusal(home)).message).toContain("a link to nothing");
  });

  test("that is no file is refused at once: a pipe does not block, a directory is not read", async () => {
    const { home, file } = await made();
    rmSync(file);
    execFileSync("mkfifo", ["-m", "600", file]);
    expect((await refusal(home)).message).toContain("not a regular file");
    rmSync(file);
    mkdirSync(file, { mode: 0o700 });
    expect((await refusal(home)).message).toContain("not a regular file");
  });

  test.each([
    ["a key twice", "theme: dark\ntheme: light\n"],
    ["__proto__", "__proto__: {trusted_plugins: []}\n"],
    ["__proto__ in a record", "trusted_plugins: [{__proto__: {tenant: local}}]\n"],
    ["an anchor", "trusted_plugins: &a []\n"],
    ["a tag", "trusted_plugins: !!seq []\n"],
    ["no map", "- trusted_plugins\n"],
    ["no list", "trusted_plugins: {tenant: local}\n"],
    ["two documents", "a: 1\n---\nb: 2\n"],
    ["no YAML", "trusted_plugins: [\n"],
    ["depth", `a: ${"[".repeat(40)}${"]".repeat(40)}\n`],
    ["10 MB", `a: "${"x".repeat(10_000_000)}"\n`],
  ])("that holds %s is neither believed nor overwritten", async (_, text) => {
    const { home, file } = await made();
    writeFileSync(file, text);
    expect((await refusal(home)).message).toContain(file);
  });

  test("holds a bounded number of records; the last one that fits is kept", async () => {
    const store = settingsTrustStore(join(temporary(), "home"), { limits: { recordsMax: 2 } });
    await store.put(recordOf("one"), PINS);
    await store.put(recordOf("two"), PINS);
    expect((await failureOf(store.put(recordOf("three"), PINS))).message).toContain("recordsMax");
    await store.put(recordOf("two", { approver: "eve" }), PINS);
    expect(await store.list("local")).toHaveLength(2);
  });
});

describe("[T36] the lock", () => {
  test("two processes writing at once lose nothing", { timeout: 120_000 }, async () => {
    const home = join(temporary(), "home");
    const count = 30;
    const ends = ["a", "b"].map((prefix) =>
      new Promise((resolve) => {
        const child = spawn(process.execPath, [PROBE, "write", home, prefix, String(count)], {
          stdio: "inherit",
        });
        child.once("close", resolve);
      })
    );
    expect(await Promise.all(ends)).toEqual([0, 0]);
    const names = (await settingsTrustStore(home).list("local")).map((stored) =>
      stored.isSound && stored.record.name
    );
    expect(names.toSorted()).toEqual(
      ["a", "b"].flatMap((prefix) => Array.from({ length: count }, (_, index) => `${prefix}${index}`))
        .toSorted(),
    );
    expect(readdirSync(home).toSorted()).toEqual(["pins", "settings.yaml"]);
  });

  test("many writes at once within one process lose nothing", async () => {
    const { store } = await made();
    await Promise.all(Array.from({ length: 20 }, (_, index) => store.put(recordOf(`p${index}`), PINS)));
    expect(await store.list("local")).toHaveLength(21);
  });

  test("of a living process is waited for and never broken; of one that was killed it is taken over", async () => {
    const { home, store } = await made();
    const lock = join(home, "settings.yaml.lock");
    const child = spawn(process.execPath, [PROBE, "hold", lock], { stdio: ["ignore", "pipe", "inherit"] });
    await new Promise((resolve) => child.stdout.once("data", resolve));
    const error = await failureOf(store.put(recordOf("two"), PINS));
    expect(error.code).toBe("ERR_STORE");
    expect(error.message).toContain(`process ${child.pid} holds "${lock}"`);
    expect(await store.list("local")).toHaveLength(1); // reading needs no lock
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("close", resolve));
    expect(existsSync(lock)).toBe(true);
    await Promise.all(["two", "three", "four"].map((name) => store.put(recordOf(name), PINS)));
    expect(await store.list("local")).toHaveLength(4);
    expect(existsSync(lock)).toBe(false);
  });

  test.each([
    ["a process id that another process has by now", (own: object) => ({ ...own, started: "1" }), true],
    ["an earlier run of the machine", (own: object) => ({ ...own, boot: "earlier" }), true],
    ["a process id that nobody has", (own: object) => ({ ...own, pid: 2 ** 22 + 1 }), true],
    ["another machine", (own: object) => ({ ...own, host: "elsewhere", pid: 2 ** 22 + 1 }), false],
    ["another container", (own: object) => ({ ...own, namespace: "pid:[1]", pid: 2 ** 22 + 1 }), false],
    ["this very process", (own: object) => own, false],
    ["nobody who can be read", () => ({}), false],
  ])("of %s", async (_, holder, isTaken) => {
    const { ownIdentity } = await import("../../src/trust/process_identity.ts");
    const { home, store } = await made();
    writeFileSync(join(home, "settings.yaml.lock"), JSON.stringify(holder(ownIdentity())));
    const put = store.put(recordOf("two"), PINS);
    if (isTaken) expect((await put).name).toBe("two");
    else expect((await failureOf(put)).code).toBe("ERR_STORE");
  });
});

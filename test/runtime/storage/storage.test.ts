import { chmodSync, linkSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PermissionRequest } from "../../../permissions/mod.ts";
import { diskFiles, type Powers, RUNTIME_LIMITS } from "../../../runtime/mod.ts";
import { type SqliteStorage, sqliteStorage } from "../../../src/stores/sqlite.ts";
import { Bench, type Guest, temporaryFolder } from "../harness.ts";

let bench: Bench;
let storage: SqliteStorage;
beforeAll(() => {
  storage = sqliteStorage({ file: null, bytesMax: 1_048_576 });
  bench = new Bench({ powers: { files: diskFiles(), storage } as unknown as Powers }); // no guest here asks for another
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  storage.close();
});

/** A guest that evaluates its input as a body over `s`; `NAME CODE` of what it threw. */
function started(lineage: string, permissions: PermissionRequest = { storage: true }): Promise<Guest> {
  return bench.start(
    `async (body, { storage: s }) => { try {
      return await (async () => {}).constructor("s", body)(s);
    } catch (e) { return e.name + " " + e.code; } }`,
    { permissions, own: { lineage, makeData: () => {} }, config: { dynamicCode: true } },
  );
}

describe("context.storage", () => {
  test("keeps JSON values by key, lists by prefix in order, and tells what is not there from null", async () => {
    const { value, error } = await (await started("a")).call(
      `await s.set("b/1", { deep: [1, "ü", null] });
       await s.set("b/2", null);
       await s.set("a", "x"); await s.set("b/2", 2); await s.set("c", null);
       return [await s.get("b/1"), await s.get("b/2"), await s.get("c"), String(await s.get("d")),
         await s.list(), await s.list("b/"), await s.delete("a"), await s.delete("a"), await s.list()];`,
    );
    expect(error).toBeUndefined();
    expect(value).toEqual(
      [
        { deep: [1, "ü", null] },
        2,
        null,
        "undefined",
        ["a", "b/1", "b/2", "c"],
        ["b/1", "b/2"],
        true,
        false,
        [
          "b/1",
          "b/2",
          "c",
        ],
      ],
    );
  });

  test("[T13] lineages never see each other's keys, whatever a key looks like", async () => {
    const [one, two] = [await started("one"), await started("two")];
    for (const key of ["k", "two\u001fk", "one", "' OR 1=1 --", "%", "__proto__"]) {
      await one.call(`await s.set(${JSON.stringify(key)}, "one's")`);
    }
    expect((await two.call("return [await s.list(), String(await s.get('k')), await s.delete('k')]")).value)
      .toEqual([[], "undefined", false]);
    expect(
      (await one.call("return [(await s.list()).length, await s.get('__proto__'), await s.list('%')]")).value,
    )
      .toEqual([6, "one's", ["%"]]);
  });

  test("without the permission nothing is kept or told", async () => {
    const guest = await started("one", {});
    for (const act of ["s.get('k')", "s.set('k', 1)", "s.delete('k')", "s.list()"]) {
      expect((await guest.call(`return await ${act}`)).value, act).toBe("NotCapable ERR_NOT_CAPABLE");
    }
    expect((await (await started("one")).call("return await s.get('k')")).value).toBe("one's");
  });

  test("a value that is not JSON, and a key that is no text, are refused", async () => {
    const guest = await started("odd");
    for (
      const act of [
        "s.set('k', undefined)",
        "s.set('k', () => {})",
        "s.set('k', 1n)",
        "s.set('', 1)",
        "s.set({}, 1)",
        "s.set('\\0', 1)",
        "s.set('\\ud800', 1)",
      ]
    ) {
      expect((await guest.call(`await ${act}`)).value, act).toMatch(/^TypeError/);
    }
    expect((await guest.call("return await s.list()")).value).toEqual([]);
  });

  test("the grant's maxBytes bounds keys and values together; replacing and deleting give room back", async () => {
    const guest = await started("bound", { storage: { maxBytes: 100 } });
    const set = (key: string, chars: number) =>
      guest.call(`await s.set("${key}", "x".repeat(${chars}))`).then(({ value }) => value);
    expect(await set("a", 97)).toBe(null); // 1 of the key, 2 quotes
    expect(await set("b", 0)).toBe("LimitError ERR_LIMIT_SIZE");
    expect(await set("a", 98)).toBe("LimitError ERR_LIMIT_SIZE");
    expect(await set("a", 10)).toBe(null);
    expect(await set("b", 80)).toBe(null);
    expect((await guest.call(`return [(await s.get("a")).length, await s.list()]`)).value).toEqual([10, [
      "a",
      "b",
    ]]);
  });

  test("key, value, keys and the tenant's file have bounds of their own", async () => {
    const guest = await started("large");
    const { storageKeyBytesMax, storageValueBytesMax, storageKeysMax } = RUNTIME_LIMITS;
    expect((await guest.call(`await s.set("ü".repeat(${storageKeyBytesMax / 2}), 1)`)).value).toBe(null);
    expect((await guest.call(`await s.set("ü".repeat(${storageKeyBytesMax / 2}) + "x", 1)`)).value)
      .toBe("LimitError ERR_LIMIT_SIZE");
    expect((await guest.call(`await s.set("k", "x".repeat(${storageValueBytesMax}))`)).value)
      .toBe("LimitError ERR_LIMIT_SIZE");
    expect((await guest.call(`await s.set("k", "x".repeat(${storageValueBytesMax - 2}))`)).value)
      .toBe("LimitError ERR_LIMIT_SIZE"); // of the tenant: one MiB, pages included
    expect((await guest.call(`await s.set("k", "x".repeat(500000))`)).value).toBe(null);
    const many = sqliteStorage({ file: null, bytesMax: 16 * 1_048_576 });
    for (let i = 0; i < storageKeysMax; i++) many.set("l", String(i), "1", () => true);
    expect(() => many.set("l", "one more", "1", () => true)).toThrow("10000 keys");
    many.set("l", "0", "2", () => true);
    expect(many.get("l", "0")).toBe("2");
    many.close();
  }, 60_000);

  test("a plugin that has replaced the language finds no way to the host's half", async () => {
    const { value } = await (await started("hostile")).call(
      `JSON.stringify = () => '"evil"'; JSON.parse = () => "evil"; Array.prototype.push = null;
       Object.defineProperty(Object.prototype, "toJSON", { value: () => "evil", configurable: true });
       Object.defineProperty(Object.prototype, "storage", { set() { throw 1 }, configurable: true });
       await s.set("k", 7);
       const kept = await s.get("k");
       delete Object.prototype.toJSON; delete Object.prototype.storage;
       return [kept, Object.isFrozen(s), Object.getPrototypeOf(s)];`,
    );
    expect(value).toEqual([7, true, null]);
  });
});

describe("the file", () => {
  const fill = (store: SqliteStorage) => store.set("l", "k", "1", () => true);

  test("is made at the first use, for its owner alone, and holds what was kept for the next one", () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "storage/t.sqlite");
    const first = sqliteStorage({ file, bytesMax: 1_048_576 });
    expect(readdirSync(folder.path)).toEqual([]);
    fill(first);
    for (const name of readdirSync(join(folder.path, "storage"))) {
      expect(statSync(join(folder.path, "storage", name)).mode & 0o777, name).toBe(0o600);
    }
    expect(statSync(join(folder.path, "storage")).mode & 0o777).toBe(0o700);
    first.close();
    chmodSync(file, 0o644);
    const second = sqliteStorage({ file, bytesMax: 1_048_576 });
    expect(second.get("l", "k")).toBe("1");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    second.close();
    expect(readdirSync(join(folder.path, "storage"))).toEqual(["t.sqlite"]);
  });

  test("that is a link, has a second name, or is no database is not used", () => {
    using folder = temporaryFolder();
    const at = (name: string) => join(folder.path, name);
    writeFileSync(at("victim"), "");
    symlinkSync("victim", at("link"));
    linkSync(at("victim"), at("second"));
    writeFileSync(at("text"), "this is not a database, however long it is read".repeat(20));
    for (const name of ["link", "second", "text"]) {
      expect(() => fill(sqliteStorage({ file: at(name), bytesMax: 1_048_576 })), name)
        .toThrow(expect.objectContaining({ code: "ERR_STORE" }));
    }
    expect(statSync(at("victim")).size).toBe(0);
  });

  test("two that are open at once see each other's changes", () => {
    using folder = temporaryFolder();
    const [a, b] = [1, 2].map(() => sqliteStorage({ file: join(folder.path, "s"), bytesMax: 1_048_576 }));
    fill(a!);
    b!.set("l", "k", "2", () => true);
    expect(a!.get("l", "k")).toBe("2");
    a!.close();
    b!.close();
  });
});

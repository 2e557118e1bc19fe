import { afterAll, beforeAll, expect, test } from "vitest";
import { createRealm, type Realm } from "./realm.ts";

let realm: Realm;
beforeAll(() => realm = createRealm());
afterAll(() => realm.dispose());

test("crypto.getRandomValues fills integer arrays, a view's own bytes only, and gives the array back", () => {
  expect(realm.run(`
    const bytes = new Uint8Array(300), view = bytes.subarray(100, 200);
    const isSame = crypto.getRandomValues(view) === view;
    return [isSame, new Set(view).size > 30, bytes.subarray(0, 100).every((b) => b === 0), bytes.subarray(200).every((b) => b === 0),
      crypto.getRandomValues(new BigUint64Array(4)).some((b) => b > 0xffffffffn), crypto.getRandomValues(new Uint8Array(0)).length,
      crypto.getRandomValues(new Uint8Array(65536)).length];
  `)).toEqual([true, true, true, true, true, 0, 65536]);
});

test("crypto.getRandomValues refuses too much, and what holds no integers", () => {
  expect(realm.run(`crypto.getRandomValues(new Uint8Array(65537))`)).toMatch(/^threw QuotaExceededError/);
  expect(realm.run(`crypto.getRandomValues(new Uint16Array(32769))`)).toMatch(/^threw QuotaExceededError/);
  for (const value of ["new Float32Array(1)", "new DataView(new ArrayBuffer(1))", "[1]", "{}", "undefined"]) {
    expect(realm.run(`crypto.getRandomValues(${value})`)).toMatch(/^threw TypeMismatchError/);
  }
  expect(realm.run(`crypto.getRandomValues.call({}, new Uint8Array(1))`)).toMatch(/^threw TypeError/);
  expect(realm.run(`new Crypto()`)).toMatch(/^threw TypeError/);
});

test("crypto.randomUUID makes version 4", () => {
  const uuids = realm.run(`return Array.from({ length: 50 }, () => crypto.randomUUID())`) as string[];
  expect(new Set(uuids).size).toBe(50);
  for (const uuid of uuids) {
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});

test("performance counts whole milliseconds and never goes back, even when the clock does", () => {
  expect(realm.run(`
    const first = performance.now(), real = Date.now;
    Date.now = () => 0;
    const second = performance.now();
    Date.now = real;
    return [Number.isInteger(first), second >= first, Math.abs(performance.timeOrigin - Date.now()) < 60000, typeof performance.toJSON().timeOrigin];
  `)).toEqual([true, true, true, "number"]);
  expect(realm.run(`new Performance()`)).toMatch(/^threw TypeError/);
});

/** Code that was in no hashed file: every way to make it is closed, and opens only with the permission (T20). */
import { afterAll, describe, expect, test } from "vitest";
import { Bench } from "./harness.ts";

const bench = new Bench();
afterAll(() => bench.pool.close());

/** Each gives 42 where code from strings may run. */
const ROUTES: Readonly<Record<string, string>> = {
  "eval": `eval("42")`,
  "eval, indirectly": `(0, eval)("42")`,
  "eval as a property": `globalThis["ev" + "al"]("42")`,
  "eval by Reflect": `Reflect.apply(eval, undefined, ["42"])`,
  "Function": `Function("return 42")()`,
  "new Function": `new Function("a", "return a")(42)`,
  "a function's constructor": `(() => {}).constructor("return 42")()`,
  "a class's constructor": `(class {}).constructor("return 42")()`,
  "a method's constructor": `({ m() {} }).m.constructor("return 42")()`,
  "a builtin's constructor": `[].push.constructor("return 42")()`,
  "a getter's constructor":
    `Object.getOwnPropertyDescriptor(Map.prototype, "size").get.constructor("return 42")()`,
  "a bound function's constructor": `(function () {}).bind().constructor("return 42")()`,
  "the constructor of a constructor": `Object.constructor("return 42")()`,
  "the prototype's constructor": `Function.prototype.constructor("return 42")()`,
  "a platform function's constructor": `Deno.readFile.constructor("return 42")()`,
  "a platform class's constructor": `URL.constructor.constructor("return 42")()`,
  "an async function's constructor": `await (async () => {}).constructor("return 42")()`,
  "a generator's constructor": `(function* () {}).constructor("yield 42")().next().value`,
  "an async generator's constructor":
    `(await (async function* () {}).constructor("yield 42")().next()).value`,
  "a generator's prototype": `Object.getPrototypeOf(function* () {}).constructor("yield 42")().next().value`,
  "Reflect.construct": `Reflect.construct(Function, ["return 42"])()`,
  "Reflect.construct with another new.target": `Reflect.construct(Function, ["return 42"], Object)()`,
  "Reflect.construct of an async constructor":
    `await Reflect.construct((async () => {}).constructor, ["return 42"])()`,
  "a subclass of Function": `new (class extends Function {})("return 42")()`,
  "a subclass of the async constructor":
    `await new (class extends (async () => {}).constructor {})("return 42")()`,
  "super of a subclass": `new (class extends Function { constructor() { super("return 42"); } })()()`,
  "the own descriptor":
    `Object.getOwnPropertyDescriptor(Function.prototype, "constructor").value("return 42")()`,
  "apply on the constructor": `Function.prototype.apply.call(Function, null, ["return 42"])()`,
};

/** These make code from strings nowhere, whatever is permitted. */
const NEVER: Readonly<Record<string, string>> = {
  "a string timer":
    `await new Promise((resolve) => { globalThis.resolve = resolve; setTimeout("resolve(42)", 0); })`,
  "a string interval":
    `await new Promise((resolve) => { globalThis.resolve = resolve; setInterval("resolve(42)", 0); })`,
  "an import of a data URL": `(await import("data:text/javascript,export default 42")).default`,
  "a computed import": `(await import(["node:", "fs"].join(""))) && 42`,
  "a ShadowRealm": `new ShadowRealm().evaluate("42")`,
  "WebAssembly": `new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])) && 42`,
};

const attempt = (expression: string) =>
  `async () => { try { return await (async () => ${expression})(); } catch (error) { return error.name + ": " + error.message; } }`;

describe("code from strings", () => {
  for (const [name, expression] of Object.entries(ROUTES)) {
    test(`[T20] ${name}: off, and on where it is permitted`, async () => {
      expect((await bench.once(attempt(expression))).value).toMatch(
        /^TypeError: Code generation from strings is off/,
      );
      const permitted = await bench.once(attempt(expression), { config: { dynamicCode: true } });
      expect(permitted).toMatchObject({ value: 42 });
    });
  }

  for (const [name, expression] of Object.entries(NEVER)) {
    test(`[T20] ${name}: never`, async () => {
      for (const dynamicCode of [false, true]) {
        const { value } = await bench.once(attempt(expression), { config: { dynamicCode } });
        expect(value).not.toBe(42);
      }
    });
  }

  test("[T20] a plugin cannot put back what was taken: the makers are in no reach of it", async () => {
    const { value } = await bench.once(`() => {
      const seen = new Set();
      const queue = [globalThis, async () => {}, function* () {}, async function* () {}, new Error("x"), Deno];
      let makers = 0;
      while (queue.length > 0) {
        const object = queue.pop();
        if ((typeof object !== "object" && typeof object !== "function") || object === null || seen.has(object)) continue;
        seen.add(object);
        if (typeof object === "function") {
          try {
            const made = Reflect.construct(object, ["return 1"]);
            if (typeof made === "function" && made() === 1) makers++;
          } catch {}
        }
        queue.push(Object.getPrototypeOf(object));
        for (const key of Reflect.ownKeys(object)) {
          const { value, get, set } = Object.getOwnPropertyDescriptor(object, key);
          queue.push(value, get, set);
        }
      }
      return [makers, seen.size > 500];
    }`);
    expect(value).toEqual([0, true]);
  });
});

/** What a guest finds in its realm, what it does not, and what it cannot break by breaking the language. */
import { afterAll, describe, expect, test } from "vitest";
import { Bench } from "./harness.ts";

const bench = new Bench();
afterAll(() => bench.pool.close());

describe("what is not there", () => {
  test("[T20] nothing of Node, of the engine or of another realm", async () => {
    const { value } = await bench.once(`() => {
      const found = [];
      const names = ["process", "require", "module", "global", "Buffer", "ivm", "WebAssembly", "Atomics",
        "SharedArrayBuffer", "WeakRef", "FinalizationRegistry", "ShadowRealm", "__sallyport_register__", "importScripts"];
      for (const name of names) if (name in globalThis) found.push(name);
      const seen = new Map([[globalThis, "globalThis"]]);
      for (const [object, path] of seen) {
        const tag = Object.prototype.toString.call(object).slice(8, -1);
        const names = /^(Reference|Isolate|Context|Script|Module|ExternalCopy|NativeModule|Callback|InspectorSession)$/;
        if (names.test(tag) || names.test(object.constructor?.name)) found.push(path + " is " + tag);
        // Whatever has a prototype has one of this realm at its end.
        let root = object;
        for (let next; (next = Object.getPrototypeOf(root)) !== null;) root = next;
        const isFunctionOfOther = typeof object === "function" && object !== Function.prototype && !(object instanceof Function);
        if ((root !== Object.prototype && Object.hasOwn(root, "hasOwnProperty")) || isFunctionOfOther) found.push(path + " is foreign");
        const prototype = Object.getPrototypeOf(object);
        if (prototype !== null && !seen.has(prototype)) seen.set(prototype, path + ".[[Prototype]]");
        for (const key of Reflect.ownKeys(object)) {
          const descriptor = Object.getOwnPropertyDescriptor(object, key);
          for (const part of ["value", "get", "set"]) {
            const next = descriptor[part];
            if ((typeof next === "object" || typeof next === "function") && next !== null && !seen.has(next)) {
              seen.set(next, path + "." + String(key));
            }
          }
        }
      }
      return [found, seen.size > 500];
    }`);
    expect(value).toEqual([[], true]);
  });

  test("[T31] no memory that the engine does not count: buffers cannot grow, by whatever name", async () => {
    const { value } = await bench.once(`() => {
      const grown = [];
      const options = { maxByteLength: 64 };
      const makers = {
        plain: () => new ArrayBuffer(8, options),
        construct: () => Reflect.construct(ArrayBuffer, [8, options]),
        subclass: () => new (class extends ArrayBuffer {})(8, options),
        byView: () => new (new Uint8Array(8).buffer.constructor)(8, options),
        byPrototype: () => new (ArrayBuffer.prototype.constructor)(8, options),
        bySpecies: () => new (ArrayBuffer[Symbol.species])(8, options),
        bySlice: () => new ArrayBuffer(8).slice(0, 4),
        byTransfer: () => new ArrayBuffer(8).transfer(16),
        byClone: () => structuredClone(new ArrayBuffer(8)),
        byEncoder: () => new TextEncoder().encode("x").buffer,
        byNewTarget: () => Reflect.construct(Object, [], ArrayBuffer),
      };
      for (const [name, make] of Object.entries(makers)) {
        let buffer;
        try { buffer = make(); } catch { continue; }
        try { if (buffer.resizable) grown.push(name); buffer.resize(16); grown.push(name); } catch {}
      }
      try { delete ArrayBuffer.prototype.constructor; } catch {}
      const isWhole = new ArrayBuffer(8).byteLength === 8 && new ArrayBuffer(8) instanceof ArrayBuffer &&
        ArrayBuffer.isView(new Uint8Array(1)) && new Uint8Array(new ArrayBuffer(8)).length === 8;
      return [grown, isWhole];
    }`);
    expect(value).toEqual([[], true]);
  });

  test("[T20] nobody hooks into stacks, and a stack shows no file of the host", async () => {
    const { value } = await bench.once(`() => {
      let hooked = false;
      const hook = () => { hooked = true; return "hooked"; };
      try { Error.prepareStackTrace = hook; } catch {}
      try { Object.defineProperty(Error, "prepareStackTrace", { value: hook }); } catch {}
      try { delete Error.prepareStackTrace; } catch {}
      try { TypeError.prepareStackTrace = hook; } catch {}
      try { Error.stackTraceLimit = 1e9; } catch {}
      const { stack } = new Error("x");
      const caught = { };
      Error.captureStackTrace(caught);
      return [hooked, Error.prepareStackTrace === undefined, stack + caught.stack];
    }`);
    const [hooked, isLocked, stack] = value as [boolean, boolean, string];
    expect([hooked, isLocked]).toEqual([false, true]);
    expect(stack).not.toMatch(/file:|node:|\/worker\/|\.ts/);
  });
});

describe("a language that the guest has broken", () => {
  // Not Promise: every await of the guest itself goes through it. Indexes only: once iterators are broken, the code that breaks the rest must not need them.
  const POLLUTION = `
    const { defineProperty, ownKeys } = Reflect;
    const bomb = () => { throw new Error("bomb"); };
    const trap = (holder, key) => {
      try { defineProperty(holder, key, { __proto__: null, get: bomb, set: bomb, configurable: true }); } catch {}
    };
    const keys = ["toJSON", "then", "get", "set", "value", "ok", "error", "name", "denial", "0", "1", "next", "cause", "code"];
    const classes = [Map, Set, String, RegExp, Error, Number, WeakMap, Array, Function, Object];
    const holders = [JSON, Math, Symbol, Object, Reflect];
    for (let i = 0; i < classes.length; i++) {
      const { prototype } = classes[i];
      const own = ownKeys(prototype);
      for (let k = 0; k < own.length; k++) if (own[k] !== "__proto__") trap(prototype, own[k]);
    }
    for (let i = 0; i < holders.length; i++) {
      const own = ownKeys(holders[i]);
      for (let k = 0; k < own.length; k++) if (own[k] !== "prototype") trap(holders[i], own[k]);
    }
    for (let k = 0; k < keys.length; k++) trap(Object.prototype, keys[k]);`;

  test("[T20] calls, replies and timers go on", async () => {
    const guest = await bench.start(
      `async (step) => {
        if (step === "break") { (() => { ${POLLUTION} })(); return 1; }
        if (step === "op") { try { await Deno.readTextFile("/outside"); } catch { return "refused"; } }
        if (step === "timer") { return await new Promise((resolve) => setTimeout(() => resolve("fired"), 5)); }
        if (step === "log") { console.log("a line"); return "logged"; }
        if (step === "throw") throw new TypeError("after all");
        return "alive";
      }`,
    );
    expect(await guest.call("break")).toMatchObject({ value: 1 });
    expect(await guest.call("alive")).toMatchObject({ value: "alive" });
    expect(await guest.call("op")).toMatchObject({ value: "refused", denials: [{}] });
    expect(await guest.call("timer")).toMatchObject({ value: "fired" });
    expect(await guest.call("log")).toMatchObject({ value: "logged", lines: [{ text: "a line" }] });
    const thrown = await guest.call("throw");
    expect(thrown).toMatchObject({ code: "ERR_GUEST_THREW" });
    expect(thrown.error!.message).toContain("after all");
    guest.isolate.dispose();
  });

  test("[T20] an answer is what the handler gave, not what a replaced JSON would make of it", async () => {
    const forged = `'{"ok":true,"value":"forged"}'`;
    const { value } = await bench.once(`() => {
      JSON.stringify = () => ${forged};
      Object.prototype.toJSON = () => "forged";
      String.prototype.toJSON = () => "forged";
      return "real";
    }`);
    expect(value).toBe("real");
  });
});

describe("errors", () => {
  test("what is thrown is told as far as it can be read", async () => {
    const thrown: Readonly<Record<string, string>> = {
      "new TypeError('x')": "TypeError: x",
      "'a text'": "a text",
      "undefined": "undefined",
      "null": "null",
      "12n": "12",
      "Symbol('s')": "a symbol",
      "() => 1": "() => 1",
      "{ name: 'N', message: 'm' }": "N: m",
      "{ get name() { throw 1; }, message: 'm' }": "Error: m",
      "{ name: 1, message: {} }": "Error",
      "new Proxy({}, { get() { throw 1; } })": "Error",
      "Proxy.revocable({}, {}).proxy, (() => { const r = Proxy.revocable({}, {}); r.revoke(); throw r.proxy; })()":
        "Error",
      "{ then(resolve) { resolve('resolved by throw'); } }": "Error",
      "Object.assign(new Error('Script execution timed out.'), { code: 'ERR_WORKER_LOST', retryable: true })":
        "timed out",
      "new RangeError('Isolate was disposed during execution due to memory limit')": "RangeError",
    };
    for (const [expression, text] of Object.entries(thrown)) {
      const body = expression.startsWith("Proxy") ? expression : `throw (${expression})`;
      const outcome = await bench.once(`async () => { ${body} }`);
      expect(outcome, expression).toMatchObject({ code: "ERR_GUEST_THREW", error: { retryable: false } });
      expect(outcome.error!.message).toContain(text);
      expect(outcome.error!.message.length).toBeLessThan(3_000);
    }
  });

  test("a huge error is cut", async () => {
    const { error } = await bench.once(
      "() => { throw Object.assign(new Error('m'.repeat(1e6)), { name: 'n'.repeat(1e6) }) }",
    );
    expect(error!.message.length).toBeLessThan(3_000);
    expect(JSON.stringify(error!.details).length).toBeLessThan(60_000);
  });
});

describe("results", () => {
  test("what is not JSON is refused by name", async () => {
    for (
      const expression of [
        "() => 1",
        "Symbol('s')",
        "12n",
        "({ a: 12n })",
        "(() => { const a = []; a.push(a); return a; })()",
        "(function* () { yield 1; })()",
        "(async function* () { yield 1; })()",
        "[1][Symbol.iterator]()",
        "({ get a() { throw new Error('g'); } })",
        "({ toJSON() { throw new Error('t'); } })",
        "({ toJSON() { return undefined; } })",
        "new Proxy({}, { ownKeys() { throw new Error('p'); } })",
        "(() => { const r = Proxy.revocable({}, {}); r.revoke(); return { r: r.proxy }; })()",
      ]
    ) {
      expect(await bench.once(`async () => (${expression})`), expression).toMatchObject({
        code: "ERR_RESULT_INVALID",
      });
    }
  });

  test("what is JSON arrives as it is, and nothing arrives as null", async () => {
    const values = [null, true, 0, -1.5, "", '\u2028\ud83d\ude00 "\\', [], {}, [[{ a: [null] }]], {
      __proto__x: 1,
      "": 2,
    }];
    expect(await bench.once("async (input) => input", { input: values })).toMatchObject({ value: values });
    expect((await bench.once("async () => '\\ud800'")).value).toBe("\ud800");
    for (const nothing of ["undefined", "null", "NaN", "Promise.resolve()"]) {
      expect((await bench.once(`async () => ${nothing}`)).value).toBe(null);
    }
    expect((await bench.once("async () => JSON.parse('{\"__proto__\":1}')")).value).toHaveProperty([
      "__proto__",
    ], 1);
  });
});

describe("a script", () => {
  const script = (code: string) => bench.load(code, { config: { isScript: true } });

  test("[T30] ends when nothing of it is left: neither an operation nor a timer, from its evaluation or its call", async () => {
    const guest = await script(`
      setTimeout(() => { console.log("first"); Deno.stat("/x").catch((error) => {
        console.log(error.name);
        setTimeout(() => console.log("last"), 20);
      }); }, 20);
      await null;`);
    const outcome = await guest.call();
    expect(outcome).toMatchObject({ value: null });
    expect(outcome.lines.map(({ text }) => text)).toEqual(["first", "NotCapable", "last"]);
    expect(outcome.denials).toHaveLength(1);
  });

  test("[T30] an interval that is cleared ends, one that is not runs into the wall", async () => {
    const cleared = await script(
      "let n = 0; const t = setInterval(() => { if (++n === 5) clearInterval(t); }, 2);",
    );
    expect(await cleared.call()).toMatchObject({ value: null });
    const endless = await script("setInterval(() => {}, 2);");
    expect(await endless.call(null, 700)).toMatchObject({ code: "ERR_LIMIT_WALL" });
  });

  test("[T30] its default export is called with the input", async () => {
    const guest = await script(
      "__sallyport_register__(async (input) => { setTimeout(() => console.log('rest'), 10); return input.a; });",
    );
    expect(await guest.call({ a: 3 })).toMatchObject({ value: 3, lines: [{ text: "rest" }] });
  });

  test("an error while it is evaluated is the guest's", async () => {
    await expect(script("throw new Error('at the top')")).rejects.toMatchObject({ code: "ERR_GUEST_THREW" });
  });
});

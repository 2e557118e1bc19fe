/** WebAssembly: there where it is granted and only there, without shared memory, and stopped like any other code. */
import { afterAll, describe, expect, test } from "vitest";
import { Bench, type Outcome } from "./harness.ts";
import {
  ADDS,
  EMPTY,
  GROWS,
  LOADS,
  LOOPS,
  MAKES_ARRAYS,
  RECURSES,
  SHARED_EXPORTED,
  SHARED_IMPORTED,
  WAITS,
} from "./wasm_modules.ts";

const bench = new Bench();
afterAll(() => bench.pool.close());

const GRANTED = { permissions: { wasm: true }, config: { wasm: true } } as const;

const bytes = (module: readonly number[]): string => `new Uint8Array([${module}])`;
const instance = (module: readonly number[], imports = ""): string =>
  `new WebAssembly.Instance(new WebAssembly.Module(${bytes(module)}), ${imports})`;
const run = (module: readonly number[], argument = ""): string =>
  `() => ${instance(module)}.exports.run(${argument})`;
const caught = (expression: string): string =>
  `async () => { try { return await (async () => ${expression})(); } catch (error) { return error.name; } }`;

async function valueOf(handler: string): Promise<unknown> {
  const { value, error } = await bench.once(handler, GRANTED);
  expect(error).toBeUndefined();
  return value;
}

describe("where it is not granted", () => {
  test("it is not there, and whoever misses it is told of the permission; whoever asks first is not", async () => {
    const missed = await bench.once(run(ADDS, "41"));
    expect(missed).toMatchObject({
      code: "ERR_NOT_CAPABLE",
      error: { details: { kind: "wasm", value: null } },
      denials: [{ decision: { kind: "wasm" } }],
    });
    expect(missed.error!.details.remedy).toContain("wasm: true");
    expect(await bench.once(run(ADDS, "41"), GRANTED)).toMatchObject({ value: 42, denials: [] });

    const asked = await bench.once(`() => [typeof WebAssembly, "WebAssembly" in globalThis]`);
    expect(asked).toMatchObject({ value: ["undefined", false], denials: [] });
  });

  test("an error that only reads like that is a refusal of the same kind, and brings nothing", async () => {
    const forged = `() => { throw new ReferenceError("WebAssembly is not defined"); }`;
    expect((await bench.once(forged)).error?.details).toMatchObject({ kind: "wasm", value: null });
    expect(await bench.once(forged, GRANTED)).toMatchObject({ code: "ERR_GUEST_THREW", denials: [] });
  });
});

describe("where it is granted", () => {
  test("what is there is what was looked at", async () => {
    expect(
      await valueOf(`() => [Object.getOwnPropertyNames(WebAssembly).sort(),
      Object.getOwnPropertyNames(WebAssembly.Memory.prototype).sort(), String(WebAssembly),
      new WebAssembly.Memory({ initial: 1 }).constructor === WebAssembly.Memory,
      new (class extends WebAssembly.Memory {})({ initial: 1 }) instanceof WebAssembly.Memory]`),
    ).toEqual([
      [
        ...[
          "CompileError",
          "Exception",
          "Global",
          "Instance",
          "LinkError",
          "Memory",
          "Module",
          "RuntimeError",
        ],
        ...["Table", "Tag", "compile", "instantiate", "validate"],
      ],
      ["buffer", "constructor", "grow"],
      "[object WebAssembly]",
      true,
      true,
    ]);
  });

  test("compile, instantiate and validate settle, with the shapes of the standard", async () => {
    expect(
      await valueOf(`async () => {
      const bytes = ${bytes(ADDS)};
      const module = await WebAssembly.compile(bytes);
      const both = await WebAssembly.instantiate(bytes.buffer);
      const one = await WebAssembly.instantiate(module, {});
      return [module instanceof WebAssembly.Module, Object.keys(both), both.module instanceof WebAssembly.Module,
        both.instance.exports.run(1), one instanceof WebAssembly.Instance, one.exports.run(2),
        WebAssembly.validate(bytes), WebAssembly.validate(new Uint8Array(4))];
    }`),
    ).toEqual([true, ["module", "instance"], true, 2, true, 3, true, false]);
  });

  for (
    const [expression, name] of [
      ["WebAssembly.compile(new Uint8Array(4))", "CompileError"],
      ["WebAssembly.compile()", "TypeError"],
      ["WebAssembly.instantiate(new Uint8Array(4))", "CompileError"],
      ["WebAssembly.instantiate({})", "TypeError"],
      [`WebAssembly.instantiate(${bytes(SHARED_IMPORTED)}, { a: {} })`, "LinkError"],
      [`WebAssembly.instantiate(${bytes(SHARED_IMPORTED)})`, "TypeError"],
    ] as const
  ) {
    test(`${expression.slice(0, 40)} rejects with a ${name}`, async () => {
      expect(
        await valueOf(`async () => {
        let promise;
        try { promise = ${expression}; } catch { return "thrown"; }
        return await promise.then(() => "fulfilled", (error) => error.name);
      }`),
      ).toBe(name);
    });
  }

  test("it does not trust what the plugin changed", async () => {
    expect(
      await valueOf(`async () => {
      const stolen = [];
      Reflect.construct = (Real) => stolen.push(Real);
      WebAssembly.Module.imports = () => stolen.push("imports");
      Promise.prototype.then = new Proxy(Promise.prototype.then, { apply: (...all) => Reflect.apply(...all) });
      const { exports } = (await WebAssembly.instantiate(${bytes(ADDS)})).instance;
      new WebAssembly.Memory({ initial: 1 });
      return [exports.run(1), stolen];
    }`),
    ).toEqual([2, []]);
  });
});

describe("shared memory", () => {
  const SHARED = "{ initial: 1, maximum: 2, shared: true }";
  /** Each gives the tag of what it got hold of. */
  const WAYS: Readonly<Record<string, string>> = {
    "new Memory": `new WebAssembly.Memory(${SHARED}).buffer`,
    "Reflect.construct": `Reflect.construct(WebAssembly.Memory, [${SHARED}]).buffer`,
    "another new.target": `Reflect.construct(WebAssembly.Memory, [${SHARED}], Object).buffer`,
    "a subclass": `new (class extends WebAssembly.Memory {})(${SHARED}).buffer`,
    "a memory's constructor": `new (new WebAssembly.Memory({ initial: 1 }).constructor)(${SHARED}).buffer`,
    "an exported memory's constructor": `new (${
      instance(SHARED_EXPORTED)
    }.exports.memory.constructor)(${SHARED}).buffer`,
    "the prototype's constructor": `new WebAssembly.Memory.prototype.constructor(${SHARED}).buffer`,
    "shared only at the second look":
      `(() => { let looks = 0; return new WebAssembly.Memory({ initial: 1, maximum: 2, get shared() { return looks++ > 0; } }).buffer; })()`,
    "shared only at the first look":
      `(() => { let looks = 0; return new WebAssembly.Memory({ initial: 1, maximum: 2, get shared() { return looks++ === 0; } }).buffer; })()`,
    "an export": `${instance(SHARED_EXPORTED)}.exports.memory.buffer`,
    "an export by instantiate": `(await WebAssembly.instantiate(${
      bytes(SHARED_EXPORTED)
    })).instance.exports.memory.buffer`,
    "an export that was imported": `${
      instance(SHARED_IMPORTED, `{ a: { memory: ${instance(SHARED_EXPORTED)}.exports.memory } }`)
    }.exports.memory.buffer`,
    "an export that grew": `(({ memory }) => (memory.grow(1), memory.buffer))(${
      instance(SHARED_EXPORTED)
    }.exports)`,
    "the getter": `Object.getOwnPropertyDescriptor(WebAssembly.Memory.prototype, "buffer").get.call(${
      instance(SHARED_EXPORTED)
    }.exports.memory)`,
    "a fixed view of it": `${instance(SHARED_EXPORTED)}.exports.memory.toFixedLengthBuffer()`,
    "a growing view of it": `${instance(SHARED_EXPORTED)}.exports.memory.toResizableBuffer()`,
    "a clone": `structuredClone(${instance(SHARED_EXPORTED)}.exports.memory).buffer`,
  };
  const tag = (way: string): string => caught(`Object.prototype.toString.call(${way})`);

  for (const [name, way] of Object.entries(WAYS)) {
    test(`is in no reach by ${name}`, async () => {
      expect(await valueOf(tag(way))).not.toContain("Shared");
      const owned = way.replaceAll(", shared: true", "").replaceAll("shared()", "unshared()")
        .replaceAll(String(SHARED_EXPORTED), String(OWN_EXPORTED)).replaceAll(
          String(SHARED_IMPORTED),
          String(OWN_IMPORTED),
        );
      expect(owned).not.toBe(way);
      if (!HAS_NO_TWIN.has(name)) expect(await valueOf(tag(owned))).toBe("[object ArrayBuffer]");
    });
  }

  // Flags 1 instead of 3: the same memory, not shared.
  const OWN_EXPORTED = SHARED_EXPORTED.map((byte, at) => at === SHARED_EXPORTED.indexOf(3, 8) ? 1 : byte);
  const OWN_IMPORTED = SHARED_IMPORTED.map((byte, at) => at === SHARED_IMPORTED.indexOf(3, 8) ? 1 : byte);
  /** Ways that lead to no buffer at all. */
  const HAS_NO_TWIN = new Set([
    "another new.target",
    "a fixed view of it",
    "a growing view of it",
    "a clone",
  ]);

  test("memory that is not shared does not turn up as a buffer that grows", async () => {
    expect(
      await valueOf(`() => {
      const memory = new WebAssembly.Memory({ initial: 1, maximum: 2 });
      const { buffer } = memory;
      memory.grow(1);
      return [buffer.resizable, buffer.byteLength, memory.buffer.byteLength, buffer.constructor === ArrayBuffer];
    }`),
    ).toEqual([false, 0, 131_072, true]);
  });
});

describe("what does not end, or takes too much", { timeout: 60_000 }, () => {
  const isWell = async (cordon: string): Promise<void> => {
    expect(await bench.once(run(ADDS, "41"), { ...GRANTED, cordon })).toMatchObject({ value: 42 });
  };

  for (
    const [name, module] of [
      ["an endless loop", LOOPS],
      ["an endless loop of allocations", MAKES_ARRAYS],
      ["a wait that nobody ends", WAITS],
    ] as const
  ) {
    test(`${name} ends at its deadline, and the next call works`, async () => {
      const outcome = await bench.once(run(module), { ...GRANTED, cordon: name, wallMs: 1_000 });
      expect(outcome.code).toBe("ERR_LIMIT_WALL");
      await isWell(name);
    });
  }

  for (
    const [name, handler] of [
      ["grows in its own code", run(GROWS)],
      [
        "is grown from outside",
        `() => { for (const m = new WebAssembly.Memory({ initial: 1 }); ; new Uint8Array(m.buffer).fill(1)) m.grow(256); }`,
      ],
      [
        "is many",
        `() => { for (const all = []; ; new Uint8Array(all.at(-1).buffer).fill(1)) all.push(new WebAssembly.Memory({ initial: 800 })); }`,
      ],
      [
        "is large at once",
        `() => { new Uint8Array(new WebAssembly.Memory({ initial: 16_000 }).buffer).fill(1); for (;;); }`,
      ],
    ] as const
  ) {
    test(`memory that ${name} is the call's own end, and neither its host's nor a neighbour's`, async () => {
      const neighbour = await bench.start(
        `() => new Promise((resolve) => setTimeout(resolve, 1_500, "unharmed"))`,
        { cordon: "neighbour" },
      );
      const waiting: Promise<Outcome> = neighbour.call();
      const outcome = await bench.once(handler, { ...GRANTED, cordon: name });
      expect(outcome).toMatchObject({ code: "ERR_LIMIT_MEMORY", error: { details: { memoryMb: 64 } } });
      expect(await waiting).toMatchObject({ value: "unharmed" });
      neighbour.isolate.dispose();
      await isWell(name);
    });
  }

  test("a trap is an error of the guest, and its worker stays", async () => {
    const cordon = "traps";
    await isWell(cordon);
    const pids = await bench.pool.pids();
    for (
      const [module, argument, name] of [[RECURSES, "", "RangeError"], [
        LOADS,
        "1 << 20",
        "RuntimeError",
      ]] as const
    ) {
      const outcome = await bench.once(run(module, argument), { ...GRANTED, cordon });
      expect(outcome).toMatchObject({ code: "ERR_GUEST_THREW", error: { details: { name } } });
    }
    expect(await bench.once(run(LOADS, "0"), { ...GRANTED, cordon })).toMatchObject({ value: 0 });
    expect(await bench.pool.pids()).toEqual(pids);
  });
});

test("code from strings stays off beside it", async () => {
  expect(await valueOf(caught(`eval("42")`))).toBe("TypeError");
  expect(await valueOf(caught(`new WebAssembly.Module(${bytes(EMPTY)}) && 42`))).toBe(42);
});

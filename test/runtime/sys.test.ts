/** Facts about the machine, and native libraries: what is refused on the guest's side is decided again by the broker. */
import { hostname } from "node:os";
import { afterAll, describe, expect, test } from "vitest";
import { SYSTEM_FACTS, type SystemFact } from "../../runtime/mod.ts";
import { Bench, type GuestOptions } from "./harness.ts";

const bench = new Bench();
afterAll(() => bench.pool.close());

const WORDS = Object.keys(SYSTEM_FACTS) as SystemFact[];

/** A guest that was granted these words, as the runner would start it. */
function granted(words: readonly SystemFact[]): GuestOptions {
  const sys = Object.fromEntries(words.map((word) => [word, JSON.stringify(SYSTEM_FACTS[word]())]));
  return { permissions: { sys: words }, config: { sys } };
}

describe("facts about the machine", () => {
  for (const word of WORDS) {
    test(`Deno.${word}() tells what is granted, and is refused without`, async () => {
      const { value } = await bench.once(`() => Deno.${word}()`, granted([word]));
      expect(typeof value).toBe(typeof JSON.parse(JSON.stringify(SYSTEM_FACTS[word]())));
      const others = WORDS.filter((other) => other !== word);
      const refused = await bench.once(`() => Deno.${word}()`, granted(others));
      expect(refused.error).toMatchObject({ code: "ERR_NOT_CAPABLE", details: { kind: "sys", value: word } });
      expect(refused.error!.details.remedy).toContain(word);
    });
  }

  test("they are what this machine says, in Deno's form, and a guest's changes to one stay its own", async () => {
    const { value } = await bench.once(
      `() => {
        Deno.loadavg().push("changed");
        return [Deno.hostname(), Deno.loadavg().length, Object.keys(Deno.systemMemoryInfo()), Deno.networkInterfaces()[0]];
      }`,
      granted(["hostname", "loadavg", "systemMemoryInfo", "networkInterfaces"]),
    );
    expect(value).toEqual([
      hostname(),
      3,
      ["total", "free", "available", "buffers", "cached", "swapTotal", "swapFree"],
      expect.objectContaining({ name: expect.any(String), family: expect.stringMatching(/^IPv[46]$/) }),
    ]);
  });

  test("[T18] a refusal that the guest caught is written down, and tells it no more than the word", async () => {
    const { value, denials } = await bench.once(
      `() => { try { return Deno.hostname(); } catch ({ name, code, kind, value, message }) {
        return { name, code, kind, value, message };
      } }`,
    );
    expect(value).toEqual({
      name: "NotCapable",
      code: "ERR_NOT_CAPABLE",
      kind: "sys",
      value: "hostname",
      message: 'Requires sys access to "hostname"',
    });
    expect(denials).toMatchObject([{ decision: { kind: "sys", value: "hostname" } }]);
  });

  test("the words without a function of Deno's have none here", async () => {
    const { value } = await bench.once(
      `() => ["cpus", "homedir", "userInfo", "inspector", "setuid", "umask"].filter((word) => word in Deno)`,
    );
    expect(value).toEqual([]);
  });
});

test("native libraries are never loaded: refused with and without a grant, and nothing is said to allow it", async () => {
  for (const permissions of [{}, { ffi: true as const }, { ffi: ["/lib/x.so"] }]) {
    const { error } = await bench.once(`() => Deno.dlopen("/lib/x.so", {})`, { permissions });
    expect(error).toMatchObject({
      code: "ERR_NOT_CAPABLE",
      details: { kind: "ffi", value: "/lib/x.so", remedy: "Nothing can allow it." },
    });
  }
});

test("[T20] code from strings that was refused ends as a refusal that names its cure; caught, it is told beside the result", async () => {
  const { error } = await bench.once(`() => eval("42")`);
  expect(error).toMatchObject({ code: "ERR_NOT_CAPABLE", details: { kind: "dynamicCode", value: null } });
  expect(error!.details.remedy).toContain("dynamicCode: true");
  const caught = await bench.once(`() => { try { return Function("return 42")(); } catch { return 41; } }`);
  expect(caught).toMatchObject({ value: 41, denials: [{ decision: { kind: "dynamicCode" } }] });
});

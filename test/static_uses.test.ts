import { expect, test } from "vitest";
import { readStatically, STATIC_KINDS } from "../src/static_uses.ts";
import { KIND_NAMES } from "../permissions/mod.ts";

function apis(code: string): string[] {
  return readStatically(code).uses.filter(({ kind }) => kind !== "secrets").map(({ api }) => api);
}

test("uses are found by member, by destructuring and as globals, and what only looks alike is not one", () => {
  const found: Readonly<Record<string, readonly string[]>> = {
    "await Deno.readTextFile(path)": ["Deno.readTextFile"],
    "Deno?.writeFile(a, b)": ["Deno.writeFile"],
    "const { env, hostname } = Deno;": ["Deno.env", "Deno.hostname"],
    "new Deno.Command('git')": ["Deno.Command"],
    "await fetch(url); globalThis.fetch(url)": ["fetch"],
    "storage.get('a')": ["context.storage"],
    "new Function('x')": ["code from strings"],
    "eval(text)": ["code from strings"],
    "WebAssembly.compile(bytes)": ["WebAssembly"],
    "prefetch(url); client.fetch(url); const readTextFile = 1; medieval(x); isFunction(x)": [],
    "const stat = 1; storage.length": [],
  };
  for (const [code, uses] of Object.entries(found)) expect([code, apis(code)]).toEqual([code, uses]);
});

test("code that computes names is told apart, since what is not found may be there", () => {
  for (const code of ["Deno[name]()", "globalThis['fe' + 'tch']()", "const d = Deno; d.remove(p)"]) {
    expect([code, readStatically(code).isBlind]).toEqual([code, true]);
  }
  expect(readStatically("Deno.remove(path)").isBlind).toBe(false);
});

test("every kind that is looked for is a kind", () => {
  expect([...STATIC_KINDS].filter((kind) => !(KIND_NAMES as readonly string[]).includes(kind))).toEqual([]);
});

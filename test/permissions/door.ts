/** One way into the runner at hand, so that this folder's tests run under vitest and under Deno alike. */

type Test = (title: string, body: () => void | Promise<void>) => void;

// Deno's global is unknown to Node's types.
const { Deno } = globalThis as { readonly Deno?: { readonly test: Test } };

/** Declares a test. */
export const test: Test = Deno === undefined ? (await import("vitest")).test : Deno.test;

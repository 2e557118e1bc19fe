/** Plugins that do not behave, one of each kind; the escape suite has every way, these are for the noise they make. */

/** One of them. */
export interface Hostile {
  /** What its call may take; memory takes a while to be filled. */
  readonly wallMs: number;
  /** Exports `call`. */
  readonly source: string;
}

const BRIEF_MS = 300;
const LONG_MS = 10_000;

/** The kinds. */
export const HOSTILE: Readonly<Record<string, Hostile>> = {
  loops: { wallMs: BRIEF_MS, source: "export function call() { for (;;); }" },
  "loops between waits": {
    wallMs: BRIEF_MS,
    source: `export async function call() {
  for (;;) {
    for (const end = Date.now() + 30; Date.now() < end;);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}`,
  },
  "never settles": { wallMs: BRIEF_MS, source: "export const call = () => new Promise(() => {});" },
  "fills its memory": {
    wallMs: LONG_MS,
    source: "export function call() { const kept = []; for (;;) kept.push(new Array(1_000).fill(kept)); }",
  },
  "kills its worker": { wallMs: LONG_MS, source: "export const call = () => new Array(1e9).fill(0).length;" },
  "floods with ops": {
    wallMs: LONG_MS,
    source: `export async function call(_input, { storage }) {
  for (;;) await Promise.allSettled(Array.from({ length: 500 }, (_, n) => storage.set("k" + n, n)));
}`,
  },
  "floods with ops, unawaited": {
    wallMs: LONG_MS,
    source: `export async function call(_input, { storage }) {
  for (let n = 0; n < 1e6; n++) storage.get("k").catch(() => {});
  await null;
}`,
  },
  "floods with lines": {
    wallMs: BRIEF_MS,
    source: `export async function call() {
  for (let n = 0;; n++) {
    console.log("line " + n);
    if (n % 1_000 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  }
}`,
  },
  "floods with refusals": {
    wallMs: LONG_MS,
    source: `export async function call() {
  for (;;) await Promise.allSettled(Array.from({ length: 500 }, () => Deno.readTextFile("/etc/passwd")));
}`,
  },
  throws: { wallMs: LONG_MS, source: `export async function call() { throw new Error("on purpose"); }` },
  "rejects behind its back": {
    wallMs: LONG_MS,
    source: `export async function call() {
  for (let n = 0; n < 100; n++) Promise.reject(new Error("nobody " + n));
  await null;
  return "unharmed";
}`,
  },
  "answers too much": { wallMs: LONG_MS, source: `export const call = () => "x".repeat(9e6);` },
  "answers too deep": {
    wallMs: LONG_MS,
    source:
      `export function call() { let all = []; for (let n = 0; n < 5_000; n++) all = [all]; return all; }`,
  },
};

/**
 * What a bundle seems to use, found by looking for the names of what needs a permission. A guess, and only that: names may be
 * built while the code runs, and text that looks like a use may be none. It never decides anything but what an author is told.
 */
import { SYSTEM_FACTS } from "../runtime/mod.ts";

/** A use that was found. */
export interface StaticUse {
  /** The permission that it needs. */
  readonly kind: string;
  /** What was found, such as `Deno.readTextFile`. */
  readonly api: string;
}

/** What was found in one text. */
export interface StaticReading {
  /** Each thing once, in the order of the table. */
  readonly uses: readonly StaticUse[];
  /** Whether names are computed, so that what was not found may be there all the same. */
  readonly isBlind: boolean;
}

/** Members of `Deno` by the permission that they need. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  read: ["readTextFile", "readFile", "readDir", "stat", "lstat"],
  write: ["writeTextFile", "writeFile", "mkdir", "remove", "rename"],
  env: ["env"],
  run: ["Command"],
  sys: Object.keys(SYSTEM_FACTS),
};

/** Everything else. */
const OTHERS: readonly (StaticUse & { readonly pattern: RegExp })[] = [
  { kind: "net", api: "fetch", pattern: /(?<![.\w$])(?:globalThis\s*\.\s*)?fetch\s*\(/ },
  { kind: "storage", api: "context.storage", pattern: /\bstorage\s*\??\.\s*(?:get|set|delete|list)\b/ },
  { kind: "dynamicCode", api: "code from strings", pattern: /(?<![.\w$])(?:eval|(?:new\s+)?Function)\s*\(/ },
  { kind: "wasm", api: "WebAssembly", pattern: /\bWebAssembly\s*\./ },
];

/** Kinds whose uses are looked for; of any other, nothing is said. */
export const STATIC_KINDS: ReadonlySet<string> = new Set([
  ...Object.keys(MEMBERS),
  ...OTHERS.map(({ kind }) => kind),
  "secrets", // the broker places them into what is fetched
]);

/** Looks through one text. */
export function readStatically(code: string): StaticReading {
  const members = Object.entries(MEMBERS).flatMap(([kind, names]) =>
    names.filter((name) => memberPatterns(name).some((pattern) => pattern.test(code)))
      .map((name) => ({ kind, api: `Deno.${name}` }))
  );
  const others = OTHERS.filter(({ pattern }) => pattern.test(code)).map(({ kind, api }) => ({ kind, api }));
  const net = others.filter(({ kind }) => kind === "net").map(({ api }) => ({ kind: "secrets", api }));
  return {
    uses: [...members, ...others, ...net],
    isBlind: /\b(?:Deno|globalThis)\s*\[/.test(code) || /=\s*(?:globalThis\.)?Deno\s*[;,)]/.test(code),
  };
}

function memberPatterns(name: string): readonly RegExp[] {
  return [
    new RegExp(`\\bDeno\\s*\\??\\.\\s*${name}\\b`),
    new RegExp(`\\{[^{}]{0,400}\\b${name}\\b[^{}]{0,400}\\}\\s*=\\s*(?:globalThis\\s*\\.\\s*)?Deno\\b`),
  ];
}

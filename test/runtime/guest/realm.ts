/**
 * A realm for tests of the guest platform's pure parts: a bare isolate in this very process, with a stub where the
 * bootstrap stands in production. Only strings cross.
 */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import ivm from "isolated-vm";

const ROOT = new URL("../../../runtime/", import.meta.url);

/** The parts under test, in the order of the platform's table. */
export const PARTS = [
  "dom_exception",
  "events",
  "encoding",
  "structured_clone",
  "url",
  "console",
  "crypto",
  "performance",
] as const;

/** A console line as it left the guest. */
export interface Line {
  readonly level: string;
  readonly text: string;
}

/** A bare isolate with the parts in it. */
export interface Realm {
  /** Runs a function body; the JSON of what it returns, or of `"threw NAME: MESSAGE"`. */
  run(body: string): unknown;
  /** Fires the timers that were set, in order of their delay. */
  fire(): void;
  readonly lines: Line[];
  dispose(): void;
}

/** The text of a guest script as one expression. */
export function expressionOf(path: string): string {
  return readFileSync(new URL(path, ROOT), "utf8").trim().replace(/;$/, "");
}

/** All parts as one expression: an array that holds the primordials' function, then each part's. */
export function composeParts(): string {
  const paths = ["guest/primordials.guest.js", ...PARTS.map((name) => `endowments/${name}.guest.js`)];
  return `[${paths.map(expressionOf).join(",\n")}]`;
}

const STUB = `
  const parts = $PARTS;
  const primordials = parts[0]();
  const { JSONStringify, ObjectDefineProperty, createList } = primordials;
  const internal = { __proto__: null };
  let timers = createList();
  internal.setTimer = (ms, run) => { timers[timers.length] = { __proto__: null, ms, run }; };
  const define = (name, value) =>
    ObjectDefineProperty(globalThis, name, { __proto__: null, value, writable: true, configurable: true, enumerable: false });
  const post = (level, text) => send(level, text);
  const realm = { primordials, define, internal, post, random, op: () => { throw new Error("no ops here"); } };
  for (let i = 1; i < parts.length; i++) parts[i](realm);
  define("$internal", internal);
  define("$primordials", primordials);
  define("$fire", () => {
    const due = timers;
    timers = createList();
    primordials.ArrayPrototypeSort(due, (a, b) => a.ms - b.ms);
    for (let i = 0; i < due.length; i++) due[i].run();
  });
  const say = (value) => typeof value === "string" ? value : "";
  define("$run", (body) => {
    try {
      const value = body();
      // A string goes as it is: hostile tests have replaced what JSON would look up.
      return typeof value === "string" ? "s" + value : "j" + JSONStringify(value);
    } catch (error) {
      try {
        return "sthrew " + say(error.name) + ": " + say(error.message);
      } catch {
        return "sthrew something that cannot be read";
      }
    }
  });
`;

/** Makes one; `prelude` is hostile code to run after the parts are in place. */
export function createRealm(prelude = "", parts: string = composeParts()): Realm {
  const isolate = new ivm.Isolate({ memoryLimit: 256 });
  const context = isolate.createContextSync();
  const lines: Line[] = [];
  const send = new ivm.Callback((level: string, text: string) => {
    lines.push({ level, text });
  });
  const random = new ivm.Callback((count: number) => randomBytes(count).toString("latin1"));
  context.global.setSync("$send", send);
  context.global.setSync("$random", random);
  const stub = STUB.replace("$PARTS", () => parts);
  context.evalSync(
    `((send, random) => { ${stub} })($send, $random); delete globalThis.$send; delete globalThis.$random;`,
  );
  if (prelude !== "") context.evalSync(`(() => { ${prelude}\n })()`);
  return {
    run(body) {
      const answer: unknown = context.evalSync(`$run(() => { ${body}\n })`, { timeout: 20_000 });
      if (typeof answer !== "string") {
        throw new Error("The isolate answered with something that is not a string");
      }
      if (answer[0] === "s") return answer.slice(1);
      return answer === "jundefined" ? undefined : JSON.parse(answer.slice(1));
    },
    fire: () => void context.evalSync("$fire(); undefined"),
    lines,
    dispose: () => isolate.dispose(),
  };
}

/** Composes the guest platform from its scripts, at the first worker's start and never before. */
import { existsSync, readFileSync } from "node:fs";
import { ENDOWMENTS } from "./endowments/mod.ts";

/**
 * Text of the platform: a function expression that takes the worker's three functions and gives the entry function. A build
 * leaves it composed and minified beside this file.
 *
 * A slice that runs inline speaks through `now`, which the worker hears at once; any other through `later`. Both run on the
 * guest's own stack then, so that they can fail for want of it, with an error that is the worker's and must not be seen.
 */
export function composePlatform(): string {
  const built = new URL("./platform.guest.min.js", import.meta.url);
  if (existsSync(built)) return readFileSync(built, "utf8");
  const taken = new Set<string>();
  const bootstrap = shared(script("guest/bootstrap"), taken);
  const parts = ENDOWMENTS.map(({ name }) => `(${shared(script(`endowments/${name}`), taken)}\n)(realm);`);
  return `((later, random, now) => {"use strict";
const primordials = (${script("guest/primordials")}
)();
return (({ ${[...taken].toSorted().join(", ")} }) => {
let isInline = false;
const ask = (work, argument) => {
  try {
    const answer = work(argument);
    if (answer !== undefined) return answer;
  } catch {}
  throw new primordials.RangeError("Maximum call stack size exceeded");
};
const send = (text) => isInline ? ask(now, text) : later(text);
const realm = (${bootstrap}
)(primordials, send, (size) => ask(random, size));
${parts.join("\n")}
const enter = realm.seal();
return (tag, id, argument, inline) => {
  isInline = inline;
  enter(tag, id, argument);
};
})(primordials);
})`;
}

/**
 * The file as an expression: without the semicolon that the formatter may have put at its end, and without the
 * directive that the whole begins with.
 */
function script(path: string): string {
  return readFileSync(new URL(`./${path}.guest.js`, import.meta.url), "utf8").trimEnd().replace(/;$/, "")
    .replace('\n  "use strict";', "");
}

/** What a part takes from the primordials by name, the whole takes once: spelled in every part, it would be a twentieth of it. */
function shared(part: string, taken: Set<string>): string {
  return part.replace(/^ {2}const \{([\w\s,]*)\} = primordials;$/m, (_text, names: string) => {
    for (const name of names.match(/\w+/g) ?? []) taken.add(name);
    return "";
  });
}

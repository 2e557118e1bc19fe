/** Composes the guest platform from its scripts, at the first worker's start and never before. */
import { existsSync, readFileSync } from "node:fs";
import { ENDOWMENTS } from "./endowments/mod.ts";

/**
 * Text of the platform: a function expression that takes `send` and `random` and gives the entry function. A build
 * leaves it composed and minified beside this file.
 */
export function composePlatform(): string {
  const built = new URL("./platform.guest.min.js", import.meta.url);
  if (existsSync(built)) return readFileSync(built, "utf8");
  const parts = ENDOWMENTS.map(({ name }) => `(${script(`endowments/${name}`)}\n)(realm);`);
  return `((send, random) => {"use strict";
const primordials = (${script("guest/primordials")}
)();
const realm = (${script("guest/bootstrap")}
)(primordials, send, random);
${parts.join("\n")}
return realm.seal();
})`;
}

/** The file as an expression: without the semicolon that the formatter may have put at its end. */
function script(path: string): string {
  return readFileSync(new URL(`./${path}.guest.js`, import.meta.url), "utf8").trimEnd().replace(/;$/, "");
}

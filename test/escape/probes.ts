/** The guest probes of the case file as tools of one plugin, which is handed the roots that the file's code expects. */
import { readFileSync } from "node:fs";
import type { HostilePlugin } from "./arena.ts";

interface Probe {
  readonly id: string;
  readonly class: string;
  readonly code: string;
  readonly safe: string;
}

const HEAD = `permissions:
  read: ["./data"]
  write: ["$data"]
  storage: true
  net: ["api.example.com:443"]
`;
const all = readFileSync(new URL("../cases/guest_probes.jsonl", import.meta.url), "utf8").trim().split("\n")
  .map((line) => JSON.parse(line) as Probe);

/** All of them. */
export const PROBES: readonly HostilePlugin[] = all.map((
  { id, class: kind, code, safe },
) => ({
  id,
  class: kind,
  // What exhausts may cost its worker, and a plugin that did so three times is not run any more.
  plugin: kind.startsWith("exhaust") ? id : "probes",
  source: probeModule(code),
  ends: safe.split(" | "),
  head: HEAD,
  wallMs: 1_500,
  // It keeps something for its second run.
  calls: id === "lc-02" ? 2 : 1,
}));

/** The probe is the body of a function of the real guest API, the roots that a plugin is handed, and the input. */
function probeModule(code: string): string {
  return `export async function attack(input, context) {
  if (input.warm) return "warm";
  const H = {
    get: (key) => context.storage.get(key),
    set: (key, value) => context.storage.set(key, value),
    log: (...all) => console.log(...all),
    fetch: (url, init) => fetch(url, init),
    read: (path) => Deno.readTextFile(path),
    res: (path) => Deno.readTextFile(path),
    write: (path, text) => Deno.writeTextFile(path, text),
    env: (name) => Deno.env.get(name),
    call: (id, value) => context.call(id, value),
    // No plugin tells events: an embedder does.
    emit: () => { throw new TypeError("there is no such function"); },
  };
  const S = { context, Deno, console, fetch, crypto, performance, input, H };
  return await (async function (H, S, input) {
${code}
  }).call(undefined, H, S, input);
}
`;
}

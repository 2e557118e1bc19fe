/** The guest probes of the case file as tools of one plugin, which is handed the roots that the file's code expects. */
import { readFileSync } from "node:fs";
import type { HostilePlugin } from "./arena.ts";

interface Probe {
  readonly id: string;
  readonly class: string;
  readonly code: string;
  readonly safe: string;
  readonly needs: readonly string[];
}

/** Verbs that no guest API has yet. */
const NOT_YET: Readonly<Record<string, string>> = {
  emit: "events come with the surfaces",
  call: "calls between plugins come with the surfaces",
};
const HEAD = `permissions:
  read: ["./data"]
  write: ["$data"]
  storage: true
  net: ["api.example.com:443"]
`;
const all = readFileSync(new URL("../cases/guest_probes.jsonl", import.meta.url), "utf8").trim().split("\n")
  .map((line) => JSON.parse(line) as Probe);

/** Those that can be let loose. */
export const PROBES: readonly HostilePlugin[] = all.filter(({ needs }) => waitsFor(needs) === undefined).map((
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

/** Those that cannot, with what they wait for. */
export const WAITING: Readonly<Record<string, string>> = Object.fromEntries(
  all.flatMap(({ id, needs }) => {
    const reason = waitsFor(needs);
    return reason === undefined ? [] : [[id, reason]];
  }),
);

function waitsFor(needs: readonly string[]): string | undefined {
  return needs.map((verb) => NOT_YET[verb]).find((reason) => reason !== undefined);
}

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
  };
  const S = { context, Deno, console, fetch, crypto, performance, input, H };
  return await (async function (H, S, input) {
${code}
  }).call(undefined, H, S, input);
}
`;
}

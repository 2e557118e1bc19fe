/** Facts about the machine and the process. */
import { type Kind, refuse, wordOf } from "../kind.ts";

/** The kind `sys`: one of a fixed list of words. */
export const sys: Kind<string, string> = {
  name: "sys",
  doc: "Learning the named facts about the machine.",
  examples: ["hostname", "cpus"],
  own: {},
  phrase: (value) =>
    value === null ? "learn everything about the machine" : `learn "${value}" of the machine`,
  parseEntry: factOf,
  parseValue: factOf,
  displayEntry: (entry) => entry,
  displayValue: (value) => value,
  covers: (entry, value) => entry === value,
  includes: (a, b) => a === b,
  meet: (a, b) => a === b ? a : null,
  isGrave: () => false,
};

const FACTS: readonly string[] = [
  "hostname",
  "osRelease",
  "osUptime",
  "loadavg",
  "networkInterfaces",
  "systemMemoryInfo",
  "uid",
  "gid",
  "cpus",
  "homedir",
  "getegid",
  "statfs",
  "getPriority",
  "setPriority",
  "userInfo",
  "inspector",
  "setegid",
  "seteuid",
  "setgid",
  "setuid",
  "ca",
  "umask",
];

function factOf(given: unknown): string {
  const word = wordOf(given, "the word");
  // One fact under two names would let a deny of the one miss the other.
  if (word === "username") return "userInfo";
  return FACTS.includes(word) ? word : refuse(`"${word}" is none of ${FACTS.join(", ")}`);
}

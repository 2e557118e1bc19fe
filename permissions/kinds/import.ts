/** Loading code from other machines. Nothing does at run time; the kind exists so that a request for it can be read, shown and refused. */
import { type Kind, refuse } from "../kind.ts";
import { net, type NetEntry } from "./net.ts";

/** The kind `import`: hosts as in `net`, without methods. */
export const imports: Kind<NetEntry, NetEntry> = {
  ...net,
  name: "import",
  isSettled: true,
  doc: "Importing code from the named hosts: always refused at run time, shown for clarity.",
  examples: ["jsr.io:443"],
  phrase: (value) => value === null ? "import from every host" : `import from "${value}"`,
  parseEntry: (given, context, effect) => withoutPart(net.parseEntry(given, context, effect)),
  parseValue: (text, context) => withoutPart(net.parseValue(text, context)),
  // The shorthand stands for the machine itself, which code is not imported from.
  expandFlag: (text) => [text],
};

function withoutPart(entry: NetEntry): NetEntry {
  return entry.part === null ? entry : refuse("imports are named by host and port alone");
}

/** The plugin's own key-value storage. */
import { z } from "zod";
import { type Kind, refuse } from "../kind.ts";

/** The kind `storage`: an entry is a number of bytes that may be held; asking for the whole kind is asking for storage at all. */
export const storage: Kind<number, number> = {
  name: "storage",
  doc: "Keeping data between calls, up to maxBytes.",
  examples: ["1048576 bytes"],
  own: { maxBytes: z.int().positive() },
  ownEntry: (object) => object["maxBytes"],
  phrase: (value) => value === null ? "use storage" : `hold ${value} bytes in storage`,
  parseEntry: (given, _context, effect) =>
    effect === "deny" ? refuse("storage is denied whole: deny: true") : bytesOf(given),
  parseValue: (text) => bytesOf(text),
  displayEntry: (entry) => `${entry} bytes`,
  displayValue: (value) => String(value),
  covers: (entry, value) => value <= entry,
  coversWhole: () => true,
  includes: (a, b) => b <= a,
  meet: (a, b) => Math.min(a, b),
  isGrave: () => false,
};

function bytesOf(given: unknown): number {
  const bytes = typeof given === "string" && /^\d{1,15}( bytes)?$/.test(given) ? parseInt(given) : given;
  if (typeof bytes !== "number" || !Number.isSafeInteger(bytes) || bytes < 0) {
    refuse("the size is a whole number of bytes");
  }
  return bytes;
}

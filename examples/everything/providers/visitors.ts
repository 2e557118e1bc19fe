import type { ProviderHandler } from "sallyport/plugin";
import { visitorsIn } from "../book.ts";

/** Who came, one after the other. */
export const visitors: ProviderHandler<object, string> = async function* (_input, { storage }) {
  for (const name of await visitorsIn(storage)) yield `${name}\n`;
};

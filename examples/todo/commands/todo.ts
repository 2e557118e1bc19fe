import type { CommandHandler } from "sallyport/plugin";
import { itemsOf } from "../items.ts";

/** Puts on the list what a form holds, or what was typed, with or without the field's name before it. */
export const add: CommandHandler = async ({ args, values }, { storage }) => {
  const what = String(values?.["what"] ?? args.replace(/^what=/, "")).trim();
  if (what === "") throw new Error("there is nothing to add");
  const items = [...await itemsOf(storage), what];
  await storage.set("items", items);
  return `${items.length} to do`;
};

/** Takes what is first off the list. */
export const done: CommandHandler = async (_input, { storage }) => {
  const [first, ...rest] = await itemsOf(storage);
  if (first === undefined) return "There was nothing to do.";
  await storage.set("items", rest);
  return `Done: ${first}`;
};

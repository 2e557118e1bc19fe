import type { CommandHandler } from "sallyport/plugin";
import { visitorsIn } from "./book.ts";

/** Writes into the book what a form holds, or what was typed, with or without the field's name before it. */
export const sign: CommandHandler = async ({ args, values }, { storage }) => {
  const name = String(values?.["name"] ?? args.replace(/^name=/, "")).trim();
  const visitors = [...await visitorsIn(storage), name];
  await storage.set("visitors", visitors);
  return `Welcome, ${name}!`;
};

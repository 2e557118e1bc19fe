import type { ToolContext } from "sallyport/plugin";

/** Adds a note and tells how many there are. */
export async function add({ text }: { text: string }, { storage }: ToolContext) {
  const keys = await storage.list("note/");
  await storage.set(`note/${String(keys.length).padStart(6, "0")}`, { text });
  return { notes: keys.length + 1 };
}

/** All notes, in the order in which they were made. */
export async function all(_input: unknown, { storage }: ToolContext) {
  const keys = await storage.list("note/");
  return {
    notes: await Promise.all(keys.map(async (key) => (await storage.get<{ text: string }>(key))?.text)),
  };
}

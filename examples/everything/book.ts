import type { PluginStorage, ToolHandler } from "sallyport/plugin";

/** Who came, in order. */
export async function visitorsIn(storage: PluginStorage): Promise<readonly string[]> {
  return await storage.get<readonly string[]>("visitors") ?? [];
}

/** Writes a name into the book, and gives the page as the visitor sees it. */
export const sign: ToolHandler<{ readonly name: string }> = async ({ name }, { storage }) => {
  const visitors = [...await visitorsIn(storage), name];
  await storage.set("visitors", visitors);
  return { visitor: name, number: visitors.length };
};

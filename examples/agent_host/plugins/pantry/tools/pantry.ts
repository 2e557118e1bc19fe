import type { ToolHandler } from "sallyport/plugin";

const STOCK = new Map([["salt", 3], ["flour", 1]]);

/** How much there is of something. */
export const stock: ToolHandler<{ readonly item: string }> = ({ item }) => ({
  item,
  left: STOCK.get(item) ?? 0,
});

/** Orders something, and gives all that was ordered of it so far. */
export const order: ToolHandler<{ readonly item: string; readonly count: number }> = async (
  { item, count },
  { storage },
) => {
  const ordered = (await storage.get<number>(item) ?? 0) + count;
  await storage.set(item, ordered);
  return { item, ordered };
};

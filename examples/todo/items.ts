import type { PluginStorage } from "sallyport/plugin";

/** What is to be done, in order. */
export async function itemsOf(storage: PluginStorage): Promise<readonly string[]> {
  return await storage.get<readonly string[]>("items") ?? [];
}

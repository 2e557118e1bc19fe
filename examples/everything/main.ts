import type { Activate, Stop } from "sallyport/plugin";
import { visitorsIn } from "./book.ts";

/** Puts the code behind what the manifest declares without a target. */
export const activate: Activate = ({ register, storage }) => {
  register("tools", "count", async () => ({ visitors: (await visitorsIn(storage)).length }));
};

/** Remembers when the book was closed; it is not asked after its trust was taken back. */
export const stop: Stop = async ({ storage }) => await storage.set("closed", Date.now());

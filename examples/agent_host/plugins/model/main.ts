import type { Activate, ProviderHandler } from "sallyport/plugin";
import { script } from "./script.ts";

interface Input {
  readonly turn: number;
  readonly from: number;
}

/** Each start has a number, so that whoever reads can tell which one answers. */
export const activate: Activate = async ({ register, storage }) => {
  const start = (await storage.get<number>("starts") ?? 0) + 1;
  await storage.set("starts", start);
  const scripted: ProviderHandler<Input> = async function* ({ turn, from }, { host }) {
    for (const [n, piece] of (script[turn] ?? []).entries()) {
      if (n < from) continue;
      await host["beat"]!();
      yield { n, start, ...piece };
    }
  };
  register("providers", "scripted", scripted);
};

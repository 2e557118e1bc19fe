import type { ProviderHandler } from "sallyport/plugin";
import { script } from "./script.ts";

interface Input {
  readonly prompt: string;
  /** How many words whoever asks has already: what was lost half way goes on there. */
  readonly from?: number;
}

/** Says the answer to a prompt word by word, only as fast as it is read. */
export const scripted: ProviderHandler<Input, string> = async function* ({ prompt, from = 0 }) {
  yield* (script.get(prompt) ?? "I have no script for that.").match(/\S+\s*/g)!.slice(from);
};

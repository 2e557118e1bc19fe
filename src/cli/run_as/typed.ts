/** A command or prompt: what is typed behind its name are its words. */
import { UsageError } from "../../../permissions/mod.ts";
import type { Given, Ran } from "./runner.ts";

/** Runs it as if it had been typed. */
export async function runTyped({ tenant, capability, input, words, options }: Given): Promise<Ran> {
  const { fullId, aliases: [typed = fullId] } = capability;
  if (input !== undefined) {
    throw new UsageError(
      "ERR_USAGE",
      `Cannot use --input with "${fullId}": it takes words, as in \`sallyport run ${typed} some words\``,
    );
  }
  return { value: await tenant.commands.run(typed, words, options) };
}

/** A panel: its text for a person, and its view as well for a program. */
import { type Given, type Ran, refuseWords } from "./runner.ts";

/** Renders it. */
export async function runPanel(given: Given): Promise<Ran> {
  refuseWords(given);
  const { tenant, capability, input = {}, options } = given;
  const panel = await tenant.panels.render(capability.fullId, input, options);
  return { value: panel, text: panel.text };
}

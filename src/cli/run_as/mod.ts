/** Ways of running by surface: a new one is a file and a line. */
import { runCall } from "./call.ts";
import { runPanel } from "./panel.ts";
import type { Given, Ran, Runners } from "./runner.ts";
import { runTyped } from "./typed.ts";

const RUNNERS: Runners = {
  commands: runTyped,
  prompts: runTyped,
  panels: runPanel,
};

/** Runs a capability in the way of its surface. */
export function runCapability(given: Given): Promise<Ran> {
  const runners: Readonly<Record<string, Runners[keyof Runners]>> = RUNNERS;
  const { surface } = given.capability;
  const own = Object.hasOwn(runners, surface) ? runners[surface] : undefined;
  return (own ?? runCall)(given);
}

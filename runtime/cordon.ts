/**
 * Who may share a worker (T15). A worker that is taken over can speak as any isolate in it, so its authority is the union
 * of what lives in it: whoever holds something grave lives alone. So does what can take more memory than it was given.
 */
import { check, holdsGrave } from "../permissions/mod.ts";
import type { Principal } from "./principal.ts";

/** How far a worker is shared: by the isolates of one plugin, of one tenant, or of all. */
export type Cordon = "plugin" | "tenant" | "host";

/** What a chooser is told of an isolate that is about to be made. */
export interface CordonFacts {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Name of the plugin, or of the script file. */
  readonly plugin: string;
  /** Hash of what runs; null for what nobody approved, such as a script. */
  readonly fingerprint: string | null;
}

/** How far workers are shared by plugins that hold nothing grave: the same for all, or chosen for each. */
export type CordonChoice = Cordon | ((facts: CordonFacts) => Cordon);

/** What decides about one isolate. */
export interface CordonRequest {
  /** Whose it is. */
  readonly principal: Principal;
  /** Whether it must not share, whatever it holds: a guardrail, a suspect, or one whose grant may grow while it runs. */
  readonly isAlone: boolean;
  /** What the host's maker wants; never widens what a grave grant says. */
  readonly choice: CordonChoice;
}

/** The one name of the workers that an isolate may live in. */
export function cordonOf({ principal, isAlone, choice }: CordonRequest): string {
  const { tenant, plugin, fingerprint, grant, context } = principal;
  if (needsOwnWorker(principal)) return `${NAMES.plugin(tenant, plugin)}/wasm`;
  const chosen = isAlone || holdsGrave(grant, context)
    ? "plugin"
    : typeof choice === "function"
    ? choice({ tenant, plugin, fingerprint })
    : choice;
  return NAMES[chosen](tenant, plugin);
}

/** WebAssembly's memory is not counted by the engine: whoever takes too much of it dies with its worker, and alone. */
function needsOwnWorker({ grant, context }: Principal): boolean {
  return check(grant, { kind: "wasm", value: null }, context).state === "granted";
}

const NAMES: Readonly<Record<Cordon, (tenant: string, plugin: string) => string>> = {
  plugin: (tenant, plugin) => `plugin ${tenant}/${plugin}`,
  tenant: (tenant) => `tenant ${tenant}`,
  host: () => "host",
};

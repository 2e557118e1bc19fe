/**
 * Who may call a capability: the tenant's own calls are under its denies (R06), and plugins call only what opted in to
 * being called by them (T10). A caller that is a plugin learns of a failure no more than a guest may (T18).
 */
import {
  CapabilityError,
  check,
  type Decision,
  denied,
  ERRORS,
  grantOf,
  type KindTable,
  layerOf,
  SallyportError,
} from "../permissions/mod.ts";
import { type CallOrigin, PowerError, RUNTIME_LIMITS } from "../runtime/mod.ts";
import type { LoadedPlugin } from "./plugin.ts";
import { refuseNotCallable } from "./plugin_state.ts";
import type { TenantPolicy } from "./policy.ts";
import type { Capability } from "./surfaces/mod.ts";
import { memberOf } from "./surfaces/surface.ts";

/** Decides about a call by the tenant itself: its policy has to grant none, and a deny of the full id refuses it. */
export function decideCall(id: string, { permissions }: TenantPolicy, kinds: KindTable): Decision {
  const context = { cwd: "/", kinds };
  const stated = layerOf(
    "policy",
    permissions?.call === undefined ? {} : { call: permissions.call },
    context,
  );
  const open = { isRequired: false, ...stated.kinds.call, allow: true as const };
  const decision = check(grantOf({ ...stated, kinds: { call: open } }), { kind: "call", value: id }, context);
  return decision.state === "denied"
    ? decision
    : { ...decision, rule: "no deny of the tenant's policy covers it" };
}

/** The error that the tenant's own call ends with where its policy denies it. */
export function deniedCall(decision: Decision): SallyportError {
  return denied(decision, "The tenant");
}

/** What a plugin's call needs of the tenant. */
export interface PluginCallParts<Callee> {
  /** The capability of a full id, if it may be called at all. Throws what says why not. */
  find(id: string): Promise<Callee>;
  /** Calls it under its own grants. */
  call(callee: Callee): Promise<unknown>;
  /** Writes down what was refused before anything was called. */
  refused(code: string): void;
}

/** Calls a capability for a plugin. Throws a PowerError in a guest's words. */
export async function callForPlugin<
  Callee extends { readonly capability: Capability; readonly plugin: LoadedPlugin },
>(id: string, origin: CallOrigin, { find, call, refused }: PluginCallParts<Callee>): Promise<unknown> {
  let hasStarted = false;
  try {
    refuseChain(id, origin.chain);
    const callee = await find(id);
    refuseNotCallable(callee.capability);
    refuseCallee(id, callee, origin);
    hasStarted = true;
    return await call(callee);
  } catch (error) {
    if (!hasStarted && (error instanceof SallyportError || error instanceof PowerError)) refused(error.code);
    throw error instanceof SallyportError ? inGuestsWords(id, error) : error;
  }
}

/** Whoever is called again by what it waits for would wait for itself (T22). */
function refuseChain(id: string, chain: readonly string[]): void {
  if (chain.includes(id)) {
    const cycle = [...chain.slice(chain.indexOf(id)), id].join(" → ");
    throw new PowerError("ActivationError", "ERR_ACTIVATION_FAILED", `Cannot call "${id}": cycle ${cycle}`);
  }
  const { callDepthMax } = RUNTIME_LIMITS;
  if (chain.length <= callDepthMax) return;
  throw new PowerError(
    "LimitError",
    "ERR_LIMIT_OPS",
    `Cannot call "${id}": ${callDepthMax} calls wait for one another already (callDepthMax)`,
  );
}

/** What a person may call by its bare name, a plugin names in full, since that is what was granted. */
function refuseCallee(
  id: string,
  { capability }: { readonly capability: Capability },
  { plugin, chain }: CallOrigin,
): void {
  if (capability.fullId !== id) {
    throw new CapabilityError("ERR_CAPABILITY_UNKNOWN", `Cannot find capability "${id}": it is no full id`);
  }
  if (isOptedIn(capability, plugin, chain.at(-1))) return;
  throw new PowerError(
    "CapabilityError",
    "ERR_CAPABILITY_NOT_EXPOSED",
    `Cannot call "${id}": its manifest does not list "${plugin}" under callers`,
  );
}

/** Whether the callee's author lets this capability of a plugin call it; of a script there is none, and no name to be listed by. */
export function isOptedIn(callee: Capability, plugin: string, caller: string | undefined): boolean {
  const callers = memberOf(callee.raw, "callers");
  if (callers === "any") return true;
  // The schema of its surface has accepted it: a list of names and full ids.
  return caller !== undefined && Array.isArray(callers) &&
    callers.some((listed) => listed === plugin || listed === caller);
}

/** The code and, where they are the callee's own, its words; nothing of paths, policy or how the host is set up. */
function inGuestsWords(id: string, { name, code, details }: SallyportError): PowerError {
  const said = code === "ERR_GUEST_THREW"
    ? [details.name, details.message].filter((text) => typeof text === "string" && text !== "").join(": ")
    : code === "ERR_CAPABILITY_INPUT_INVALID" && Array.isArray(details.issues)
    ? (details.issues as readonly { readonly at: string; readonly message: string }[])
      .map(({ at, message }) => `${at}: ${message}`).join("; ")
    : code === "ERR_NOT_CAPABLE"
    ? "it was refused what it asked for"
    : ERRORS[code].doc;
  return new PowerError(
    code === "ERR_NOT_CAPABLE" ? "NotCapable" : name,
    code,
    `The call of "${id}" failed: ${said}`,
  );
}

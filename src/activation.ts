/** Starting a target: bundled from the bytes that were hashed, evaluated in an isolate of its own. */
import { type SallyportError, selectEnvironment } from "../permissions/mod.ts";
import {
  type AuditEvent,
  type AuditSink,
  type Broker,
  guestConfig,
  type GuestIsolate,
  newDenialPrefix,
  type Principal,
  type Redactor,
  SYSTEM_FACTS,
  type SystemFact,
  type WorkerPool,
} from "../runtime/mod.ts";
import { writeEvent } from "./audit/write_event.ts";
import type { Bundler, BundleTarget, TargetBundle } from "./bundler/mod.ts";
import { environmentRules } from "./environment.ts";
import { entriesOf } from "./frames.ts";
import { beginLifecycle, endLifecycle } from "./lifecycle.ts";
import type { LifecycleLimits } from "./lifecycle_limits.ts";
import { type Quarantine, quarantinedError } from "./quarantine.ts";
import { type Evaluated, refuseFailedLoad } from "./result.ts";
import { type Run, tooLate } from "./run.ts";
import { isGranted, targetText, type Unit } from "./unit.ts";

/** What targets are started with. */
export interface ActivationParts {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Where isolates come from. */
  readonly pool: WorkerPool;
  /** What bundles. */
  readonly bundler: Pick<Bundler, "bundle">;
  /** Where ops go. */
  readonly broker: Broker;
  /** Where it is written down. */
  readonly audit: AuditSink;
  /** What workers reach, for the audit. */
  readonly confinement: string;
  /** What all that leaves passes: results, errors, console lines, refusals. */
  readonly redactor: Redactor;
  /** Who killed workers; absent is nobody. */
  readonly quarantine?: Pick<Quarantine, "find">;
  /** Names of the ops that the embedder added, for the guests; absent is none. */
  readonly hostOps?: readonly string[];
  /** What starting and stopping may take. */
  readonly lifecycle: LifecycleLimits;
}

/** A target that runs. */
export interface Active extends Evaluated {
  /** Where. */
  readonly isolate: GuestIsolate;
  /** Runs what its lifecycle code wants done at the end, and gives what failed of it; null where there is none. */
  readonly end: ((reason?: SallyportError) => Promise<readonly SallyportError[]>) | null;
}

/** One of a unit's targets, bundled. */
export interface BundledTarget {
  /** The target. */
  readonly target: BundleTarget;
  /** What was made of it. */
  readonly bundle: TargetBundle;
}

/** Starts a target. Throws BundleError, ActivationError, TrustError, GuestError, LimitError or HostError. */
export async function activate(
  unit: Unit,
  run: Run,
  giveUp: AbortSignal,
  parts: ActivationParts,
): Promise<Active> {
  const { tenant, pool, bundler, broker } = parts;
  const { plugin, fingerprint } = unit;
  const record = await parts.quarantine?.find({ tenant, plugin, fingerprint });
  if (record) throw quarantinedError(record);
  const bundling = bundleAll(unit, tenant, bundler, giveUp);
  const principal = principalOf(unit, parts);
  // The worker starts while the bundler works; whichever fails first is told, and the other's end is waited for.
  const { limits, isAlone = false } = unit;
  const isolating = pool.isolate({ broker, principal, limits, isAlone, signal: giveUp });
  isolating.catch(() => {});
  const bundles = await bundling.catch(async (error: unknown) => {
    await isolating.then((isolate) => isolate.dispose(), () => {});
    throw giveUp.aborted ? tooLate(unit, run) : error;
  });
  const isolate = await isolating.catch((error: unknown) => {
    throw giveUp.aborted ? tooLate(unit, run) : error;
  });
  const { tenure } = unit;
  const onEnd = (): void => isolate.dispose(tenure?.error ?? undefined);
  tenure?.signal.addEventListener("abort", onEnd, { once: true });
  try {
    if (giveUp.aborted) throw tooLate(unit, run);
    for (const { target, bundle } of bundles) unit.verify(bundle, target);
    note(unit, run, parts, { type: "activate", details: { target: targetText(unit) } });
    const config = configOf(unit, principal, run, parts);
    const [{ bundle }, ...lifecycle] = bundles;
    const evaluated = { isolate, bundle, find: entriesOf(bundle.map) };
    if (unit.entry === undefined) {
      const filename = `plugin:${unit.plugin}/${unit.target.path}`;
      const isScript = unit.target.export === null;
      const answer = await isolate.load(bundle.code, { filename, config, isScript }, run);
      refuseFailedLoad(unit, evaluated, answer, run.denials);
    }
    if (unit.lifecycle === undefined) return { ...evaluated, end: null };
    const code = { ...evaluated, bundles: lifecycle };
    const begun = { config: unit.entry === undefined ? undefined : config, giveUp, run };
    await beginLifecycle(unit, code, begun, parts);
    return { ...evaluated, end: (reason) => endLifecycle(unit, code, parts, reason) };
  } catch (error) {
    isolate.dispose();
    throw error;
  } finally {
    tenure?.signal.removeEventListener("abort", onEnd);
  }
}

/** The unit's target first, then its lifecycle code. Builds of a tenant run one after the other, so they are all begun. */
async function bundleAll(
  unit: Unit,
  tenant: string,
  bundler: ActivationParts["bundler"],
  signal: AbortSignal,
): Promise<readonly [BundledTarget, ...BundledTarget[]]> {
  const { source, target, lifecycle } = unit;
  const bundled = async (of: BundleTarget): Promise<BundledTarget> => {
    return { target: of, bundle: await bundler.bundle({ source, target: of, tenant, signal }) };
  };
  const others = [lifecycle?.activate ?? null, lifecycle?.stop ?? null].filter((each) => each !== null);
  // The first failure is told; whatever the others come to is of no interest then.
  return await Promise.all([bundled(target), ...others.map(bundled)] as const);
}

function principalOf(unit: Unit, { tenant, confinement }: ActivationParts): Principal {
  return {
    tenant,
    plugin: unit.plugin,
    title: unit.title,
    fingerprint: unit.fingerprint,
    confinement,
    grant: unit.grant,
    tenure: unit.tenure,
    context: unit.context,
    place: unit.place,
    bundle: unit.bundle,
    own: unit.own,
    environment: unit.environment,
    denialPrefix: newDenialPrefix(),
  };
}

/** What the guest platform is told. Granted environment is pushed with the isolate, and written down here. */
function configOf(unit: Unit, { denialPrefix }: Principal, run: Run, parts: ActivationParts): string {
  const isScript = unit.target.export === null;
  const push = (op: string, kind: string, value: string | null): void =>
    note(unit, run, parts, { type: "grant", op, kind, value, decision: "granted", details: {} });
  const env = selectEnvironment(unit.grant, unit.environment);
  for (const [value, text] of Object.entries(env)) {
    push("env_push", "env", value);
    // A script's reader is the one whose environment it is, and printing it is what many scripts are for.
    if (!isScript) parts.redactor.know(text);
  }
  // What has no entries is there or it is not.
  const isOn = (kind: string, op: string): boolean => {
    const isGiven = isGranted(unit, kind);
    if (isGiven) push(op, kind, null);
    return isGiven;
  };
  return JSON.stringify(guestConfig({
    env,
    sys: factsOf(unit, (word) => push("sys_push", "sys", word)),
    ...environmentRules(unit.grant),
    denialPrefix,
    dynamicCode: isOn("dynamicCode", "dynamic_code"),
    wasm: isOn("wasm", "wasm"),
    isScript,
    tellsReads: unit.tellsReads === true,
    hostOps: parts.hostOps ?? [],
  }));
}

/** Granted facts about the machine, as they are now. */
function factsOf(unit: Unit, onPush: (word: SystemFact) => void): Readonly<Record<string, string>> {
  const words = Object.keys(SYSTEM_FACTS).filter((word): word is SystemFact => isGranted(unit, "sys", word));
  return Object.fromEntries(words.map((value) => {
    onPush(value);
    return [value, JSON.stringify(SYSTEM_FACTS[value]())];
  }));
}

/** Writes down what is about to be done for a unit. Throws HostError `ERR_AUDIT_FAILED`. */
export function note(
  { plugin, fingerprint }: Unit,
  { id: call, origin }: Run,
  { tenant, audit, confinement }: Pick<ActivationParts, "tenant" | "audit" | "confinement">,
  facts: Pick<AuditEvent, "type"> & Partial<AuditEvent>,
): void {
  const { type, details = {}, ...rest } = facts;
  const parent = origin === undefined ? {} : { parent: origin.call };
  writeEvent(audit, { type, tenant, plugin, fingerprint, call, ...parent, confinement, ...rest, details });
}

/**
 * Lifecycle code in one isolate: what runs first, under the isolate's own grants, and what runs last. Starting is a transaction:
 * either all that the code registered is there, or the isolate has undone what it did and is gone.
 */
import {
  ActivationError,
  CapabilityError,
  errorToJson,
  GuestError,
  SallyportError,
} from "../permissions/mod.ts";
import {
  type GuestIsolate,
  type GuestStage,
  isDeeper,
  readFailures,
  RUNTIME_LIMITS,
} from "../runtime/mod.ts";
import { type ActivationParts, type BundledTarget, note } from "./activation.ts";
import { display } from "./display.ts";
import { entriesOf } from "./frames.ts";
import { errorOf } from "./result.ts";
import { lastRun, orGiveUp, type Run, tooLate } from "./run.ts";
import type { Unit, UnitLifecycle } from "./unit.ts";
import type { BundleTarget } from "./bundler/mod.ts";

/** An isolate and its lifecycle code. */
export interface LifecycleCode {
  /** Where it runs. */
  readonly isolate: GuestIsolate;
  /** What runs first and what runs last, bundled, where there is either. */
  readonly bundles: readonly BundledTarget[];
}

type Parts = Pick<ActivationParts, "tenant" | "audit" | "confinement" | "lifecycle">;

/**
 * Runs what is to be run first. When it fails, or nobody waits for it any more, what it did is undone before this rejects.
 * Throws ActivationError, CapabilityError `ERR_CAPABILITY_NOT_DECLARED`, NotCapableError, TrustError, LimitError or HostError.
 */
export async function beginLifecycle(
  unit: Unit,
  code: LifecycleCode,
  { config, giveUp, run }: {
    /** What the platform is told, where it has not been. */
    readonly config: string | undefined;
    readonly giveUp: AbortSignal;
    readonly run: Run;
  },
  parts: Parts,
): Promise<void> {
  const lifecycle = unit.lifecycle!; // whoever has none begins nothing
  const { activate, names } = lifecycle;
  if (activate === null) return;
  try {
    const bundle = bundleOf(code, activate);
    if (bundle.isExportMissing) throw failed(unit, `the file exports no function "${activate.export}"`);
    note(unit, run, parts, {
      type: "activate",
      details: { target: textOf(activate), lifecycle: "activate" },
    });
    const stage: GuestStage = { context: { plugin: unit.plugin, capabilities: unit.capabilities }, names };
    const order = {
      filename: `plugin:${unit.plugin}/${activate.path}`,
      stage: JSON.stringify(stage),
      ...(config === undefined ? {} : { config }),
    };
    // Whoever gives up is answered at once, and the isolate stays for what it has to undo.
    const inside = { ...run, signal: undefined, deadline: run.deadline + parts.lifecycle.stopMs };
    const answer = await orGiveUp(unit, run, giveUp, code.isolate.load(bundle.code, order, inside));
    if (giveUp.aborted) throw tooLate(unit, run); // what settles after it was cancelled is cancelled
    if (!answer.ok) throw errorOf(unit, { bundle, find: entriesOf(bundle.map) }, answer.error, run.denials);
    refuseRegistered(unit, lifecycle, answer.text);
  } catch (error) {
    throw await undone(unit, code, error, parts);
  }
}

/**
 * Runs what is to be run last, bounded by `stopMs`, and gives what failed of it. Whatever happens, the isolate is gone then;
 * whoever still waits for a call in it is told the reason.
 */
export async function endLifecycle(
  unit: Unit,
  code: LifecycleCode,
  parts: Parts,
  reason?: SallyportError,
): Promise<readonly SallyportError[]> {
  const { isolate } = code;
  const failures: SallyportError[] = [];
  if (!isolate.isAlive || (unit.tenure?.error ?? null) !== null) return failures;
  const run = lastRun(parts.lifecycle.stopMs);
  const stop = unit.lifecycle?.stop ?? null;
  try {
    let answer = null;
    if (stop !== null) {
      const bundle = bundleOf(code, stop);
      note(unit, run, parts, { type: "activate", details: { target: textOf(stop), lifecycle: "stop" } });
      const stage: GuestStage = { context: { plugin: unit.plugin } };
      const filename = `plugin:${unit.plugin}/${stop.path}`;
      answer = await isolate.load(bundle.code, { filename, stage: JSON.stringify(stage) }, run);
      // Code that cannot even be evaluated keeps nothing else from being undone.
      if (!answer.ok) {
        failures.push(errorOf(unit, { bundle, find: entriesOf(bundle.map) }, answer.error, run.denials));
      }
    }
    if (answer?.ok !== true) answer = await isolate.call('{"isLast":true}', run);
    if (answer.ok) failures.push(...failuresOf(unit, code, run, answer.text));
  } catch (error) {
    if (!(error instanceof SallyportError)) throw error;
    failures.push(error);
  } finally {
    isolate.dispose(reason);
  }
  noteFailures(unit, run, failures, parts);
  return failures;
}

/** Nobody may wait for what was stopped, so what failed is written down. */
function noteFailures(unit: Unit, run: Run, failures: readonly SallyportError[], parts: Parts): void {
  if (failures.length === 0) return;
  try {
    const codes = failures.map(({ code }) => code);
    note(unit, run, parts, { type: "activate", details: { lifecycle: "stop", ok: false, codes } });
  } catch {
    // It has happened, and whoever asks for it is told.
  }
}

/** What a plugin's code said that it registered, which is its own word. */
function refuseRegistered(unit: Unit, { names, activate }: UnitLifecycle, text: string): void {
  const { refused, registered } = shapeOf(text);
  if (Array.isArray(refused)) {
    const [why, surface, name] = refused.map(shown);
    if (why === "undeclared") throw undeclared(unit, `${surface}/${name}`);
    if (why === "export") throw failed(unit, `the file exports no function "${activate?.export}"`);
    throw failed(
      unit,
      `it registers "${surface}/${name}" ${why === "twice" ? "twice" : "which has a target of its own"}`,
    );
  }
  const keys = new Set<unknown>(Array.isArray(registered) ? registered : []);
  for (const key of keys) {
    if (typeof key !== "string" || names[key] !== "here") throw undeclared(unit, shown(key));
  }
  const missing = Object.keys(names).filter((key) => names[key] === "here" && !keys.has(key));
  if (missing.length === 0) return;
  const list = missing.map((key) => `"${key.replace(" ", "/")}"`).join(", ");
  throw failed(unit, `it does not register ${list}, which has no target of its own`);
}

function shown(word: unknown): string {
  return typeof word === "string" ? display(word, { max: RUNTIME_LIMITS.errorTextBytesMax }) : "?";
}

function shapeOf(text: string): { readonly refused?: unknown; readonly registered?: unknown } {
  const { errorAnswerBytesMax, errorAnswerDepthMax } = RUNTIME_LIMITS;
  if (text.length > errorAnswerBytesMax || isDeeper(text, errorAnswerDepthMax)) return {};
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** The error that starting ends with, once all that was done is undone. */
async function undone(unit: Unit, code: LifecycleCode, error: unknown, parts: Parts): Promise<unknown> {
  if (!(error instanceof SallyportError)) return error;
  const primary = error instanceof GuestError
    ? failed(unit, `its lifecycle code failed: ${said(error)}`, error)
    : error;
  const cleanup = await endLifecycle(unit, code, parts);
  return withCleanup(unit.plugin, primary, cleanup);
}

/** The error of a start, with what failed of undoing it. */
export function withCleanup(
  plugin: string,
  primary: SallyportError,
  cleanup: readonly SallyportError[],
): SallyportError {
  if (cleanup.length === 0) return primary;
  return new ActivationError(
    "ERR_ACTIVATION_ROLLBACK_FAILED",
    `${primary.message}. What it had done could not all be undone: ${
      cleanup.map(({ message }) => message).join("; ")
    }`,
    {
      details: Object.freeze({
        plugin,
        primary: frozenJson(primary),
        cleanup: Object.freeze(cleanup.map(frozenJson)),
      }),
      cause: primary,
    },
  );
}

function failuresOf(unit: Unit, code: LifecycleCode, run: Run, text: string): readonly SallyportError[] {
  const bundle = code.bundles[0]?.bundle;
  const find = bundle === undefined ? () => null : entriesOf(bundle.map);
  return readFailures(text).map((failure) => errorOf(unit, { bundle: bundle!, find }, failure, run.denials));
}

function bundleOf({ bundles }: LifecycleCode, target: BundleTarget): BundledTarget["bundle"] {
  return bundles.find((each) => each.target === target)!.bundle; // they were made of these very targets
}

function failed(unit: Unit, why: string, cause?: GuestError): ActivationError {
  return new ActivationError(
    "ERR_ACTIVATION_FAILED",
    `Cannot start plugin "${unit.plugin}": ${why}`,
    {
      details: { plugin: unit.plugin, ...(cause === undefined ? {} : { guest: frozenJson(cause) }) },
      ...(cause === undefined ? {} : { cause }),
    },
  );
}

function undeclared(unit: Unit, what: string): CapabilityError {
  return new CapabilityError(
    "ERR_CAPABILITY_NOT_DECLARED",
    `Cannot start plugin "${unit.plugin}": it registers "${what}", which its manifest does not declare. Nothing of it was registered`,
    { details: { plugin: unit.plugin, capability: what } },
  );
}

/** What the code threw, without the sentence around it. */
function said({ code, message, details }: GuestError): string {
  if (code !== "ERR_GUEST_THREW") return message;
  return [details.name, details.message].filter((text) => typeof text === "string" && text !== "").join(": ");
}

function frozenJson(error: SallyportError): Readonly<Record<string, unknown>> {
  return Object.freeze(errorToJson(error));
}

function textOf(target: BundleTarget): string {
  return `${target.path}:${target.export}`;
}

/** What the guest platform of one isolate is told before any code of a plugin runs. */
import { randomBytes } from "node:crypto";
import { RUNTIME_LIMITS } from "./limits.ts";
import type { GuestConfig } from "./protocol.ts";

/** What the guest platform is told; `denialPrefix` is the principal's. */
export function guestConfig(
  facts:
    & Pick<GuestConfig, "env" | "envAllow" | "envDeny" | "denialPrefix" | "dynamicCode" | "isScript">
    & Partial<Pick<GuestConfig, "hostOps" | "sys" | "tellsReads" | "wasm">>,
): GuestConfig {
  const { opsInFlightMax, opsPerCallMax, opBytesMax, timersMax, timerDelayMsMax } = RUNTIME_LIMITS;
  const { logBytesPerCallMax, logLinesPerCallMax, resultBytesMax, errorTextBytesMax } = RUNTIME_LIMITS;
  return {
    hostOps: [],
    sys: {},
    tellsReads: false,
    wasm: false,
    ...facts,
    limits: {
      opsInFlightMax,
      opsPerCallMax,
      opBytesMax,
      timersMax,
      timerDelayMsMax,
      logBytesPerCallMax,
      logLinesPerCallMax,
      resultBytesMax,
      errorTextBytesMax,
    },
  };
}

/** A prefix for the ids of refusals that no guest can guess. */
export function newDenialPrefix(): string {
  return `d${randomBytes(12).toString("hex")}-`;
}

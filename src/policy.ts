/** A tenant's policy: the ceiling of what its plugins may be granted, and what their names for the world mean. */
import type { PermissionRequest } from "../permissions/mod.ts";
import { GUEST_LIMITS, GUEST_LIMITS_MAX, type GuestLimits, MEMORY_MB_MIN } from "../runtime/mod.ts";
import type { LimitRequest } from "./manifest/mod.ts";

/** How plugins call one another. */
export interface CallPolicy {
  /**
   * Whether a plugin that is called by another one, or by a script, holds no more than its caller does in that call, so that
   * nobody reaches through a call what is not theirs. What is a place of the callee's own, as `$data` or a file of its
   * directory, is then out of reach as well, unless the caller's entries cover it.
   */
  readonly attenuate?: boolean;
}

/** The ceiling. Nothing is ambient: what is not said here does not exist for the tenant (T09). */
export interface TenantPolicy {
  /**
   * The most that any plugin of the tenant may be granted; absent is nothing. What it denies of `call` is refused to the
   * tenant's own calls as well, by full id; what it does not allow of it is theirs all the same.
   */
  readonly permissions?: PermissionRequest;
  /** The most that any call may use; absent is the library's defaults. */
  readonly limits?: LimitRequest;
  /** Calls that the tenant may make, on average; a second's worth may be saved up. Absent is 50,000. */
  readonly callsPerSecondMax?: number;
  /** Operations that each isolate may ask for, on average; absent, and at most, 25,000. */
  readonly opsPerSecondMax?: number;
  /** The most that all storages of the tenant may hold, as a file; absent is 64 MiB. */
  readonly storageBytesMax?: number;
  /** The environment that `env` grants from; absent is empty. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * `"allow"`: where programs that plugins start cannot be confined, they run without any confinement, with all that the
   * host's own user may do. Absent is that they are refused there. Every report and audit line says so.
   */
  readonly unconfinedCommands?: "allow";
  /**
   * `{ "NAME": "continue" }`: what hooks, guardrails and interceptors of the plugin do not answer passes as if nobody stood
   * there. Absent is that it is stopped. Every report says so.
   */
  readonly onNoAnswer?: Readonly<Record<string, "continue">>;
  /** How plugins call one another; absent is each under its own grants. */
  readonly calls?: CallPolicy;
  /** Fingerprints that nobody may run, whoever trusts them. */
  readonly blocked?: readonly string[];
  /** What `$home` stands for; absent is unmapped. */
  readonly home?: string;
  /** What `$project` stands for; absent is unmapped. */
  readonly project?: string;
}

/** What one call may use: what the manifest asks, else the default, but never more than the policy's ceiling, nor less than an isolate needs. */
export function limitsOf(asked: LimitRequest, policy: TenantPolicy): GuestLimits {
  const limit = (name: keyof LimitRequest): number => {
    const ceiling = Math.min(policy.limits?.[name] ?? GUEST_LIMITS[name], GUEST_LIMITS_MAX[name]);
    return Math.min(asked[name] ?? GUEST_LIMITS[name], ceiling);
  };
  return {
    memoryMb: Math.max(limit("memoryMb"), MEMORY_MB_MIN),
    cpuMs: limit("cpuMs"),
    wallMs: limit("wallMs"),
    opsPerSecondMax: Math.min(policy.opsPerSecondMax ?? Infinity, GUEST_LIMITS.opsPerSecondMax),
  };
}

/**
 * Every error that Sallyport raises on purpose, and the one table that says what each code means. It lives on the lowest
 * floor because every floor may import that one.
 */

/** What a caller needs to know about a code without reading its message. */
export interface ErrorFacts {
  /** Name of the class that carries the code. */
  readonly name: string;
  /** Exit code of the command line. */
  readonly exit: number;
  /** Whether the same call may succeed when it is simply made again. */
  readonly retryable: boolean;
  /** One sentence for the reference page. */
  readonly doc: string;
}

/** The table of all codes; docs, exit codes and the classes below are derived from it. */
export const ERRORS = {
  ERR_USAGE: fact("UsageError", 2, "The command line or a library argument is malformed."),
  ERR_MANIFEST_NOT_FOUND: fact("ManifestError", 3, "The directory holds no plugin.yaml."),
  ERR_MANIFEST_SYNTAX: fact("ManifestError", 3, "plugin.yaml is not acceptable YAML."),
  ERR_MANIFEST_INVALID: fact(
    "ManifestError",
    3,
    "plugin.yaml, or a document that it names, breaks its schema; every issue is listed.",
  ),
  ERR_TRUST_UNKNOWN: fact("TrustError", 3, "Nobody has trusted this plugin."),
  ERR_TRUST_CHANGED: fact("TrustError", 3, "The plugin's files differ from the ones that were trusted."),
  ERR_TRUST_INCOMPATIBLE: fact("TrustError", 3, "The plugin asks for another version of Sallyport."),
  ERR_TRUST_QUARANTINED: fact("TrustError", 3, "The plugin was stopped for killing workers."),
  ERR_TRUST_DISABLED: fact("TrustError", 3, "The plugin is disabled."),
  ERR_COLLISION: fact("CollisionError", 3, "Two owners claim one name."),
  ERR_NAME_AMBIGUOUS: fact("CollisionError", 3, "A bare name fits several capabilities."),
  ERR_BUNDLE_FAILED: fact("BundleError", 3, "The plugin's code could not be bundled."),
  ERR_IMPORT_REFUSED: fact("BundleError", 3, "The plugin's code imports what it may not."),
  ERR_RESOURCE_PATH: fact("ResourceError", 3, "The path cannot name a file of a plugin."),
  ERR_RESOURCE_NOT_FOUND: fact("ResourceError", 3, "No root has a file of this path."),
  ERR_RESOURCE_REFUSED: fact(
    "ResourceError",
    3,
    "What is at the path is outside, no regular file, too large, not UTF-8, or moved while it was read.",
  ),
  ERR_CAPABILITY_UNKNOWN: fact("CapabilityError", 2, "No capability has this name."),
  ERR_CAPABILITY_NOT_EXPOSED: fact("CapabilityError", 2, "The capability exists and is not exposed."),
  ERR_CAPABILITY_NOT_DECLARED: fact(
    "CapabilityError",
    2,
    "The manifest does not declare what was registered.",
  ),
  ERR_CAPABILITY_NOT_LIVE: fact(
    "CapabilityError",
    2,
    "This version lists the surface and cannot run it yet.",
  ),
  ERR_CAPABILITY_INPUT_INVALID: fact("CapabilityError", 2, "The input does not fit the capability's schema."),
  ERR_ACTIVATION_FAILED: fact("ActivationError", 1, "The capability's code could not be started."),
  ERR_ACTIVATION_ROLLBACK_FAILED: fact(
    "ActivationError",
    1,
    "Starting failed, and undoing it failed as well.",
  ),
  ERR_ACTIVATION_CANCELLED: fact("ActivationError", 1, "Starting was cancelled by the caller."),
  ERR_NOT_CAPABLE: fact("NotCapableError", 4, "The plugin asked for what it was not granted."),
  ERR_GUEST_THREW: fact("GuestError", 1, "The plugin's own code threw, or said that it failed."),
  ERR_RESULT_INVALID: fact(
    "GuestError",
    1,
    "The plugin returned what is not JSON or does not fit its schema.",
  ),
  ERR_LIMIT_MEMORY: fact("LimitError", 5, "The plugin used more memory than it may."),
  ERR_LIMIT_CPU: fact("LimitError", 5, "The plugin used more processor time than it may."),
  ERR_LIMIT_WALL: fact("LimitError", 5, "The plugin took longer than it may."),
  ERR_LIMIT_OPS: fact("LimitError", 5, "The plugin asked for more operations than it may."),
  ERR_LIMIT_SIZE: fact("LimitError", 5, "A value was larger than it may be."),
  ERR_LIMIT_RATE: fact("LimitError", 5, "The plugin asked faster than it may."),
  ERR_WORKER_LOST: fact("HostError", 6, "The worker process ended during the call.", true),
  ERR_CALL_CANCELLED: fact("HostError", 6, "The caller cancelled the call."),
  ERR_STALE_GENERATION: fact("HostError", 6, "The handle belongs to a generation that is gone.", true),
  ERR_HOST_CLOSED: fact("HostError", 6, "The host is closed."),
  ERR_AUDIT_FAILED: fact("HostError", 6, "The audit log could not be written, so nothing was done."),
  ERR_STORE: fact("HostError", 6, "A file of Sallyport's own could not be read or written safely."),
  ERR_CONFINEMENT: fact("HostError", 6, "The worker cannot be confined as strongly as was asked."),
  ERR_ENGINE: fact("HostError", 6, "The isolate engine cannot be loaded on this machine."),
  ERR_UNEXPECTED: fact("SallyportError", 1, "Sallyport itself failed; this is a mistake in it."),
  ERR_BLOCKED: fact(
    "BlockedError",
    4,
    "A hook, guardrail or interceptor stopped it, or gave no answer where one is needed.",
  ),
} as const satisfies Record<string, ErrorFacts>;

/** A stable code; new ones are added, none is renamed. */
export type ErrorCode = keyof typeof ERRORS;

/** What an error carries besides its code. */
export interface ErrorOptionsWithDetails {
  /** Facts for a program: JSON only. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The error that led to this one. */
  readonly cause?: unknown;
}

/** The base of all errors that Sallyport raises on purpose. */
export class SallyportError extends Error {
  /** The stable code. */
  readonly code: ErrorCode;
  /** Facts for a program: JSON only. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Whether the same call may succeed when it is simply made again. */
  readonly retryable: boolean;

  /** Makes an error; `message` is one sentence in active voice that ends with the cure. */
  constructor(code: ErrorCode, message: string, options: ErrorOptionsWithDetails = {}) {
    super(message, "cause" in options ? { cause: options.cause } : {});
    this.code = code;
    this.name = ERRORS[code].name;
    this.details = Object.freeze({ ...options.details });
    this.retryable = ERRORS[code].retryable;
  }
}

/** A malformed command line or library argument. */
export class UsageError extends SallyportError {}
/** A manifest that cannot be used. */
export class ManifestError extends SallyportError {}
/** A plugin that is not trusted as it is. */
export class TrustError extends SallyportError {}
/** Two owners of one name. */
export class CollisionError extends SallyportError {}
/** Code that cannot be bundled. */
export class BundleError extends SallyportError {}
/** A file of a plugin that cannot be read like this. */
export class ResourceError extends SallyportError {}
/** A capability that cannot be called like this. */
export class CapabilityError extends SallyportError {}
/** A capability whose code could not be started. */
export class ActivationError extends SallyportError {}
/** A use of authority that was not granted. */
export class NotCapableError extends SallyportError {}
/** A failure of the plugin's own code. */
export class GuestError extends SallyportError {}
/** A limit that the plugin ran into. */
export class LimitError extends SallyportError {}
/** What a hook, guardrail or interceptor stopped. */
export class BlockedError extends SallyportError {}
/** A failure of the host or of its worker. */
export class HostError extends SallyportError {}

/** Exit code of the command line for anything thrown; 1 for what is not Sallyport's own. */
export function exitCodeOf(error: unknown): number {
  return error instanceof SallyportError ? ERRORS[error.code].exit : 1;
}

/** What `--json` and HTTP show of an error; never a stack. */
export function errorToJson(error: SallyportError): Record<string, unknown> {
  return {
    name: error.name,
    code: error.code,
    message: error.message,
    details: error.details,
    retryable: error.retryable,
  };
}

function fact(name: string, exit: number, doc: string, retryable = false): ErrorFacts {
  return { name, exit, retryable, doc };
}

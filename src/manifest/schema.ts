/**
 * The shape of a manifest, derived from the tables: permission kinds give `permissions:`, surfaces give `capabilities:`.
 * Nothing here knows a kind or a surface by name.
 */
import { z } from "zod";
import {
  KINDS,
  type KindTable,
  type PermissionRequest,
  permissionRequestSchemaFor,
} from "../../permissions/mod.ts";
import { type Surface, SURFACES } from "../surfaces/mod.ts";
import { descriptionText, lineText, pluginName, targetText, wholeNumber } from "./fields.ts";
import { keyed } from "./keyed.ts";
import { MANIFEST_LIMITS as LIMITS } from "./limits.ts";

/** Versions of the manifest's format that this Sallyport reads. */
export const MANIFEST_VERSIONS: readonly number[] = [1];

/** What a plugin asks for itself; the tenant's policy caps it. */
export interface LimitRequest {
  /** Heap of one isolate. */
  readonly memoryMb?: number;
  /** Processor time of one call. */
  readonly cpuMs?: number;
  /** Elapsed time of one call. */
  readonly wallMs?: number;
}

/** Code that runs when the plugin starts and stops, `path:export` each. */
export interface Lifecycle {
  /** Runs first in each isolate. */
  readonly activate?: string;
  /** Runs last. */
  readonly stop?: string;
}

/** What a plugin offers: the section of each surface, in the shape that the surface's own file gives it. */
export interface Capabilities {
  /** A section by the name of its surface. */
  readonly [surface: string]: unknown;
}

/** A manifest as it stands in the file, checked; what is absent there is empty here. Keys that begin with `x-` are kept. */
export interface Manifest {
  /** The version of the format. */
  readonly manifestVersion: number;
  /** Its name, and the namespace of all it registers. */
  readonly name: string;
  /** Informational; never compared. */
  readonly version: string;
  /** What it is, for people. */
  readonly description?: string;
  /** Versions of Sallyport that the plugin is made for, a semver range. */
  readonly sallyport?: string;
  /** What it asks to be allowed. */
  readonly permissions: PermissionRequest;
  /** What it asks for itself. */
  readonly limits: LimitRequest;
  /** What it offers. */
  readonly capabilities: Capabilities;
  /** Code that runs when the plugin starts and stops. */
  readonly lifecycle: Lifecycle;
  /** Kept and ignored. */
  readonly [extension: `x-${string}`]: unknown;
}

/** The schema of a manifest where these kinds of permission exist, and these events beside the built-in ones, without what needs more than one field; `checks/` has that. */
export function manifestSchemaFor(kinds: KindTable, events: readonly string[] = []): z.ZodType<Manifest> {
  const sections = Object.fromEntries(
    Object.entries<Pick<Surface, "section" | "sectionFor">>(SURFACES).map(([name, surface]) => {
      return [name, (surface.sectionFor?.(kinds, events) ?? surface.section).exactOptional()];
    }),
  );
  // The cast holds: `sections` is built from SURFACES, which is where `Capabilities` takes its types from.
  return shapeOf(kinds, sections) as unknown as z.ZodType<Manifest>;
}

const shapeOf = (kinds: KindTable, sections: z.ZodRawShape) =>
  keyed({
    manifestVersion: z.literal(MANIFEST_VERSIONS, { error: `must be ${MANIFEST_VERSIONS.join(" or ")}` })
      .default(1),
    name: pluginName,
    version: lineText(LIMITS.versionCharsMax),
    description: descriptionText.exactOptional(),
    sallyport: lineText(LIMITS.rangeCharsMax).exactOptional(),
    permissions: permissionRequestSchemaFor(kinds).default({}),
    limits: keyed({
      memoryMb: wholeNumber(LIMITS.memoryMbMin, LIMITS.memoryMbMax).exactOptional(),
      cpuMs: wholeNumber(1, LIMITS.cpuMsMax).exactOptional(),
      wallMs: wholeNumber(1, LIMITS.wallMsMax).exactOptional(),
    }).default({}),
    capabilities: keyed(sections).default({}),
    lifecycle: keyed({
      activate: targetText.exactOptional(),
      stop: targetText.exactOptional(),
    }, { hints: { onStop: 'did you mean "stop"?' } }).default({}),
  }, { elsewhere: Object.fromEntries(Object.keys(SURFACES).map((name) => [name, `capabilities.${name}`])) });

/** The same for the built-in kinds, made once. */
export const manifestSchema: z.ZodType<Manifest> = manifestSchemaFor(KINDS);

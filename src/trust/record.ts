/** What a trust leaves behind: which bytes were approved, for what, by whom. Kept with the user, never in a project. */
import { z } from "zod";
import {
  KINDS,
  type KindTable,
  type PermissionRequest,
  permissionRequestSchemaFor,
} from "../../permissions/mod.ts";
import { TRUST_LIMITS as LIMITS } from "./limits.ts";

/** How fingerprints of this version are made; a record made otherwise says nothing here. */
export const TRUST_ALGORITHM = "sallyport-1";

/** What a record is found by (T13): the same name elsewhere, or for another tenant, is another plugin. */
export interface TrustKey {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Absolute directory of the plugin, without links. */
  readonly directory: string;
  /** Name of the plugin. */
  readonly name: string;
  /** Where the link stands through which it is found: another plugin than the one in the directory itself. Absent without one. */
  readonly link?: string;
}

/** One approval. The pins themselves are kept beside it, under their fingerprint. */
export interface TrustRecord extends TrustKey {
  /** How the fingerprint was made. */
  readonly algorithm: string;
  /** `sha256:…` of the pins that were approved. */
  readonly fingerprint: string;
  /** What was approved, in full: a kind that is not mentioned is not granted. Never more than the manifest asks for. */
  readonly grants: PermissionRequest;
  /** Full ids of the capabilities that may be called. */
  readonly exposed: readonly string[];
  /** Who approved. */
  readonly approver: string;
  /** When, in ISO 8601. */
  readonly approvedAt: string;
  /** Names the plugin's storage and data folder: made at the first trust, kept when it is trusted anew. */
  readonly lineage: string;
  /** Whether its owner has switched it off: what was approved stays approved, and nothing of it runs. Absent is not. */
  readonly disabled?: true;
  /** Versions that npm packages in it said they were, by folder, for displays; absent is none. */
  readonly packages?: Readonly<Record<string, string>>;
  /** Hashes of the argvs of its hooks that start programs, each by the hook's full id; absent is none. */
  readonly argv?: Readonly<Record<string, string>>;
  /** Absolute paths that `$project` stood for when it was approved; absent where no entry of the grants starts there. */
  readonly projects?: readonly string[];
}

/** A record as a store has it: sound, or broken by hand, which counts as changed and never as trusted. */
export type StoredRecord =
  | { readonly isSound: true; readonly record: TrustRecord }
  | { readonly isSound: false; readonly key: TrustKey; readonly reason: string };

const text = z.string().min(1).max(LIMITS.textCharsMax);
const SHA256 = /^sha256:[0-9a-f]{64}$/;
const LINEAGE = /^[0-9a-f]{32}$/;

const shapeFor = (kinds: KindTable) =>
  z.looseObject({
    algorithm: text,
    fingerprint: z.string().regex(SHA256, { error: 'must be "sha256:" and 64 digits' }),
    grants: permissionRequestSchemaFor(kinds),
    exposed: z.array(text).max(LIMITS.exposedMax),
    approver: text,
    approved_at: z.iso.datetime(),
    disabled: z.boolean().exactOptional(),
    lineage: z.string().regex(LINEAGE, { error: "must be 32 hexadecimal digits" }),
    packages: z.record(text, z.string().max(LIMITS.versionCharsMax)).exactOptional(),
    argv: z.record(text, z.string().regex(SHA256)).exactOptional(),
    projects: z.array(text.startsWith("/")).max(LIMITS.projectsMax).exactOptional(),
  });

/** Whom an entry of the settings is about, or null when it does not say so. */
export function keyOfEntry(entry: unknown): TrustKey | null {
  const [tenant, directory, name] = ["tenant", "directory", "name"].map((key) => memberOf(entry, key));
  if (typeof tenant !== "string" || typeof directory !== "string" || typeof name !== "string") return null;
  const link = memberOf(entry, "link");
  if (link === undefined) return { tenant, directory, name };
  return typeof link === "string" ? { tenant, directory, name, link } : null;
}

/** The lineage of an entry that may be broken elsewhere, or null. */
export function lineageOfEntry(entry: unknown): string | null {
  const lineage = memberOf(entry, "lineage");
  return typeof lineage === "string" && LINEAGE.test(lineage) ? lineage : null;
}

/** Reads entries of the settings, where these kinds of permission exist. What is broken is told, and trusts nothing. */
export function recordReader(kinds: KindTable = KINDS): (key: TrustKey, entry: unknown) => StoredRecord {
  const shape = shapeFor(kinds);
  return (key, entry) => readRecord(key, entry, shape);
}

function readRecord(key: TrustKey, entry: unknown, shape: ReturnType<typeof shapeFor>): StoredRecord {
  const algorithm = memberOf(entry, "algorithm");
  if (typeof algorithm === "string" && algorithm !== TRUST_ALGORITHM) {
    const reason =
      `its trust record was made with the algorithm ${JSON.stringify(algorithm)}, and this Sallyport knows ` +
      `"${TRUST_ALGORITHM}" only`;
    return { isSound: false, key, reason };
  }
  const parsed = shape.safeParse(entry);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue === undefined || issue.path.length === 0 ? "it" : issue.path.join(".");
    return {
      isSound: false,
      key,
      reason: `its trust record is broken: ${field}: ${issue?.message ?? "is wrong"}`,
    };
  }
  const {
    fingerprint,
    grants,
    exposed,
    approver,
    approved_at: approvedAt,
    lineage,
    projects,
    disabled,
    packages,
    argv,
  } = parsed.data;
  const record = {
    ...key,
    algorithm: TRUST_ALGORITHM,
    fingerprint,
    grants,
    exposed,
    approver,
    approvedAt,
    lineage,
    ...(disabled === true ? { disabled } : {}),
    ...(packages === undefined ? {} : { packages }),
    ...(argv === undefined ? {} : { argv }),
    ...(projects === undefined ? {} : { projects }),
  };
  return { isSound: true, record: Object.freeze(record) };
}

/** A record in the form of the settings. */
export function entryOf(record: TrustRecord): Readonly<Record<string, unknown>> {
  const { tenant, name, directory, algorithm, fingerprint, grants, exposed, approver, approvedAt, lineage } =
    record;
  const { projects, disabled, packages, argv, link } = record;
  return {
    tenant,
    name,
    directory,
    ...(link === undefined ? {} : { link }),
    algorithm,
    fingerprint,
    grants,
    exposed: [...exposed],
    approver,
    approved_at: approvedAt,
    lineage,
    ...(disabled === true ? { disabled } : {}),
    ...(packages === undefined ? {} : { packages }),
    ...(argv === undefined ? {} : { argv }),
    ...(projects === undefined ? {} : { projects: [...projects] }),
  };
}

/** What may be changed of a record without a new approval. */
export interface RecordChange {
  /** Full ids of the capabilities that may be called, instead of the former ones. */
  readonly exposed?: readonly string[];
  /** Whether it is switched off. */
  readonly disabled?: boolean;
}

/** The record with a change; a switch that is turned back leaves nothing. */
export function withChange(
  { disabled: wasDisabled, ...record }: TrustRecord,
  { exposed = record.exposed, disabled = wasDisabled }: RecordChange,
): TrustRecord {
  return { ...record, exposed, ...(disabled === true ? { disabled } : {}) };
}

/** Whether two keys are one. */
export function isSameKey(a: TrustKey, b: TrustKey): boolean {
  return a.tenant === b.tenant && a.directory === b.directory && a.name === b.name && a.link === b.link;
}

/** A key as text. */
export function idOfKey({ tenant, directory, name, link }: TrustKey): string {
  return JSON.stringify([tenant, directory, name, ...(link === undefined ? [] : [link])]);
}

/** A record's key alone. */
export function keyAlone({ tenant, directory, name, link }: TrustKey): TrustKey {
  return { tenant, directory, name, ...(link === undefined ? {} : { link }) };
}

/** Where whoever decided about it saw it: two records never have one place and one name. */
export function placeOfKey({ directory, link }: Pick<TrustKey, "directory" | "link">): string {
  return link ?? directory;
}

function memberOf(value: unknown, key: string): unknown {
  // The cast is safe: own members of any object may be read as unknown.
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

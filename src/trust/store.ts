/**
 * Where trust is kept. The command line keeps it in the user's settings file; an embedder may bring a store of its own.
 * A store only keeps: what a record means, and whether a plugin still is what was approved, is not its business.
 */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { HostError, KINDS, type KindTable } from "../../permissions/mod.ts";
import { editYaml, parseYaml, type YamlChange } from "../yaml.ts";
import { display } from "../display.ts";
import type { FileStat } from "../source_file.ts";
import { canonicalPins, type Pins } from "./fingerprint.ts";
import { TRUST_LIMITS, type TrustLimits } from "./limits.ts";
import { withLock } from "./lock.ts";
import {
  entryOf,
  idOfKey,
  isSameKey,
  keyOfEntry,
  lineageOfEntry,
  type RecordChange,
  recordReader,
  type StoredRecord,
  type TrustKey,
  type TrustRecord,
  withChange,
} from "./record.ts";
import { ensureDirectory, openSettings, replaceFile, unusable } from "./settings_file.ts";

/**
 * Keeps trust records. While plugins run it is asked a few times a second what it lists, so that what somebody else takes
 * back reaches them. Methods throw HostError `ERR_STORE` when the place cannot be believed, read or written.
 */
export interface TrustStore {
  /** The record of one plugin, or null. */
  get(key: TrustKey): Promise<StoredRecord | null>;
  /** All records of one tenant. */
  list(tenant: string): Promise<readonly StoredRecord[]>;
  /**
   * Keeps a record in the place of the one with its key, with the pins that its fingerprint is made of. A lineage that
   * the key has already wins. Gives the record as it is kept.
   */
  put(record: TrustRecord, pins: Pins): Promise<TrustRecord>;
  /**
   * Changes what a sound record says of its plugin's use, reading and writing under one lock; null where there is none.
   * Absent in a store that cannot: the record is then put anew.
   */
  update?(key: TrustKey, change: RecordChange): Promise<TrustRecord | null>;
  /** Fingerprints that nobody may run, whoever trusts them; absent is none. */
  blocked?(): Promise<readonly string[]>;
  /** Adds to those. Absent in a store that keeps none. */
  block?(fingerprint: string): Promise<void>;
  /** Forgets a record, whether or not it is sound; says whether there was one. */
  remove(key: TrustKey): Promise<boolean>;
  /** The pins of a fingerprint, or null when they are gone or damaged. */
  pins(fingerprint: string): Promise<Pins | null>;
  /**
   * The same store where these kinds of permission exist; a host asks for it when it opens a tenant, so that an embedder
   * names its kinds once. Absent is a store that does not look at what records grant.
   */
  withKinds?(kinds: KindTable): TrustStore;
}

/** A fresh lineage: it tells nothing of the plugin. */
export function newLineage(): string {
  return randomBytes(16).toString("hex");
}

/** What the settings say. */
interface Told {
  readonly records: readonly StoredRecord[];
  readonly blocked: readonly string[];
}

interface Content extends Settings {
  readonly bytes: Uint8Array | null;
  readonly entries: readonly unknown[];
}

const LIST = "trusted_plugins";
const BLOCKED = "blocked";

/**
 * The store of the command line: `trusted_plugins:` of `settings.yaml` in the directory `home`, and the pins beside it,
 * named by their fingerprint. Comments and keys that are not known here survive. A project's files are never looked at.
 * A record that grants a kind of permission that its host does not have is not believed.
 */
export function settingsTrustStore(
  home: string,
  options: { readonly limits?: Partial<TrustLimits> } = {},
): TrustStore {
  const limits = { ...TRUST_LIMITS, ...options.limits };
  return storeFor(home, limits, KINDS, settingsReader(home, limits));
}

/** All that the settings in a directory say; of none, nothing. */
export interface Settings {
  /** Where the file is. */
  readonly path: string;
  /** All members of the map. */
  readonly value: Readonly<Record<string, unknown>>;
}

/** The store, and a way to read the rest of the file that does not parse it once more. */
export function settingsStore(
  home: string,
): { readonly store: TrustStore; readonly settings: () => Settings } {
  const settings = settingsReader(home, TRUST_LIMITS);
  return { store: storeFor(home, TRUST_LIMITS, KINDS, settings), settings };
}

/** Reads the file when it looks otherwise than before; the same content is the same object. Throws HostError `ERR_STORE`. */
function settingsReader(home: string, limits: TrustLimits): () => Content {
  let known: { readonly content: Content; readonly stat: FileStat } | null = null;
  return () => {
    const file = openSettings(home, limits.settingsBytesMax, known?.stat ?? null);
    if (file === null) return known!.content;
    const content = contentOf(file.path, file.bytes, limits);
    // Two writes within one tick of the file system's clock may look alike.
    const isSettled = file.stat !== null &&
      Date.now() - Number(file.stat.ctimeNs / 1_000_000n) > limits.settledMs;
    known = isSettled ? { content, stat: file.stat } : null;
    return content;
  };
}

function storeFor(home: string, limits: TrustLimits, kinds: KindTable, read: () => Content): TrustStore {
  const pinsDirectory = join(home, "pins");
  const understood = new WeakMap<Content, Told>();

  const told = (): Told => {
    const content = read();
    const found = understood.get(content) ??
      { records: recordsOf(content.entries, kinds), blocked: blockedOf(content) };
    understood.set(content, found);
    return found;
  };
  const records = (): readonly StoredRecord[] => told().records;
  const change = async <Value>(work: (content: Content) => Value): Promise<Value> => {
    ensureDirectory(home);
    return await withLock(join(home, "settings.yaml.lock"), limits, () => {
      const { path, bytes } = openSettings(home, limits.settingsBytesMax, null)!;
      return work(contentOf(path, bytes, limits));
    });
  };
  const dropPins = (fingerprints: readonly string[], entries: readonly unknown[]): void => {
    const kept = new Set(entries.map((entry) => fingerprintOfEntry(entry)));
    for (const fingerprint of fingerprints) {
      if (!kept.has(fingerprint)) rmSync(pinsPath(pinsDirectory, fingerprint), { force: true });
    }
  };

  const store: TrustStore = {
    get: async (key) => records().find((stored) => isSameKey(keyOf(stored), key)) ?? null,
    list: async (tenant) => records().filter((stored) => keyOf(stored).tenant === tenant),
    put: (record, pins) =>
      change((content) => {
        const places = placesOf(content.entries, record);
        if (places.length === 0 && content.entries.length >= limits.recordsMax) {
          throw tooMany(content.path, limits);
        }
        const before = places.map((place) => content.entries[place]);
        const lineage = before.map(lineageOfEntry).find((found) => found !== null) ?? record.lineage;
        const kept = Object.freeze({ ...record, lineage });
        ensureDirectory(pinsDirectory);
        if (readPins(pinsDirectory, record.fingerprint, limits) === null) {
          replaceFile(pinsPath(pinsDirectory, record.fingerprint), Buffer.from(canonicalPins(pins)));
        }
        const entries = write(content, putChanges(content, places, kept), limits);
        dropPins(before.flatMap((entry) => fingerprintOfEntry(entry) ?? []), entries);
        return kept;
      }),
    update: (key, changed) =>
      change((content) => {
        const places = placesOf(content.entries, key);
        const stored = recordsOf(content.entries, kinds).find((each) => isSameKey(keyOf(each), key));
        if (stored?.isSound !== true) return null;
        const record = withChange(stored.record, changed);
        write(content, putChanges(content, places, record), limits);
        return Object.freeze(record);
      }),
    blocked: async () => told().blocked,
    block: (fingerprint) =>
      change((content) => {
        const before = blockedOf(content);
        if (before.includes(fingerprint)) return;
        if (before.length >= limits.recordsMax) throw tooMany(content.path, limits);
        write(content, [{ path: [BLOCKED], value: [...before, fingerprint] }], limits);
      }),
    remove: (key) =>
      change((content) => {
        const places = placesOf(content.entries, key);
        if (places.length === 0) return false;
        const before = places.map((place) => content.entries[place]);
        const entries = write(content, removals(places), limits);
        dropPins(before.flatMap((entry) => fingerprintOfEntry(entry) ?? []), entries);
        return true;
      }),
    pins: async (fingerprint) => readPins(pinsDirectory, fingerprint, limits),
    withKinds: (others) => others === kinds ? store : storeFor(home, limits, others, read),
  };
  return store;
}

/** What the settings in a directory say now. Throws HostError `ERR_STORE` when they cannot be believed or read. */
export function readSettings(home: string): Settings {
  return settingsReader(home, TRUST_LIMITS)();
}

function recordsOf(entries: readonly unknown[], kinds: KindTable): readonly StoredRecord[] {
  const found = new Map<string, StoredRecord>();
  const read = recordReader(kinds);
  for (const entry of entries) {
    const key = keyOfEntry(entry);
    if (key === null) continue; // it does not say whom it is about, so it trusts nobody
    const id = idOfKey(key);
    const reason = "there are two trust records of it";
    found.set(id, found.has(id) ? { isSound: false, key, reason } : read(key, entry));
  }
  return [...found.values()];
}

function keyOf(stored: StoredRecord): TrustKey {
  return stored.isSound ? stored.record : stored.key;
}

function placesOf(entries: readonly unknown[], key: TrustKey): readonly number[] {
  return entries.flatMap((entry, place) => {
    const own = keyOfEntry(entry);
    return own !== null && isSameKey(own, key) ? [place] : [];
  });
}

/** Throws when the text is not acceptable: it is then neither believed nor ever overwritten. */
function contentOf(path: string, bytes: Uint8Array | null, limits: TrustLimits): Content {
  if (bytes === null || isBlank(bytes)) return { path, bytes, value: {}, entries: [] };
  const { value, issues } = parseYaml(bytes, {
    file: path,
    limits: {
      bytesMax: limits.settingsBytesMax,
      depthMax: limits.settingsDepthMax,
      nodesMax: limits.settingsNodesMax,
    },
  });
  const [issue] = issues;
  if (issue !== undefined) {
    const where = `line ${issue.line}, column ${issue.column}`;
    throw unusable(path, `${where}: ${issue.message}`, "Correct it by hand; it is not overwritten");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw unusable(path, "it is not a map of settings", "Correct it by hand; it is not overwritten");
  }
  // The cast holds: it was just seen to be a map, and the reader makes own members only.
  const settings = value as Readonly<Record<string, unknown>>;
  const entries = settings[LIST] ?? [];
  if (!Array.isArray(entries)) {
    throw unusable(path, `${LIST} is not a list`, "Correct it by hand; it is not overwritten");
  }
  if (entries.length > limits.recordsMax) throw tooMany(path, limits);
  return { path, bytes, value: settings, entries };
}

/** Throws for what is no list of fingerprints: to pass over it would let run what somebody meant to stop. */
function blockedOf({ path, value }: Content): readonly string[] {
  const list = value[BLOCKED] ?? [];
  if (Array.isArray(list) && list.every((each) => fingerprintOfEntry({ fingerprint: each }) !== null)) {
    return list as string[]; // the cast holds: each was just seen to be a fingerprint
  }
  throw unusable(
    path,
    `${BLOCKED} is not a list of fingerprints`,
    "Correct it by hand; it is not overwritten",
  );
}

function putChanges({ entries }: Content, places: readonly number[], record: TrustRecord): YamlChange[] {
  const entry = entryOf(record);
  const [first, ...rest] = places;
  if (first === undefined) {
    return entries.length === 0
      ? [{ path: [LIST], value: [entry] }]
      : [{ path: [LIST, entries.length], value: entry }];
  }
  const before = entries[first];
  // What a former approval was for, or a switch that was turned back.
  const left = ["projects", "disabled", "packages", "argv"].filter((key) =>
    typeof before === "object" && before !== null && Object.hasOwn(before, key) && !Object.hasOwn(entry, key)
  );
  // Key by key, so that what somebody added to the record stays; but not what a former approval was for.
  return [
    ...Object.entries(entry).map(([key, value]) => ({ path: [LIST, first, key], value })),
    ...left.map((key) => ({ path: [LIST, first, key], value: undefined })),
    ...removals(rest),
  ];
}

function removals(places: readonly number[]): YamlChange[] {
  return places.toReversed().map((place) => ({ path: [LIST, place], value: undefined }));
}

/** Writes the changes and gives the entries that are there now. Nothing is written that would not be read back as meant. */
function write(content: Content, changes: readonly YamlChange[], limits: TrustLimits): readonly unknown[] {
  const expected = changes.reduce(applied, structuredClone(content.value) as unknown);
  const bytes = Buffer.from(editYaml(content.bytes ?? new Uint8Array(), changes));
  const after = contentOf(content.path, bytes, limits);
  if (JSON.stringify(after.value) !== JSON.stringify(expected)) {
    throw unusable(
      content.path,
      "it cannot be changed without changing what else it says",
      "Simplify it by hand",
    );
  }
  replaceFile(content.path, bytes);
  return after.entries;
}

/** The same change on plain data. */
function applied(value: unknown, { path, value: next }: YamlChange): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return next;
  const copy: Record<string | number, unknown> = Array.isArray(value)
    ? [...value] as unknown as Record<number, unknown>
    : { ...value as object };
  if (rest.length === 0 && next === undefined) {
    if (Array.isArray(copy)) copy.splice(Number(step), 1);
    else delete copy[step];
  } else copy[step] = applied(copy[step], { path: rest, value: next });
  return copy;
}

/** Whether there is nothing but comments, which a strict reader of one document calls empty. */
function isBlank(bytes: Uint8Array): boolean {
  const lines = new TextDecoder().decode(bytes).split("\n");
  return lines.every((line) => line.trim() === "" || line.trimStart().startsWith("#"));
}

function readPins(directory: string, fingerprint: string, limits: TrustLimits): Pins | null {
  try {
    const path = pinsPath(directory, fingerprint);
    if (statSync(path).size > limits.pinsBytesMax) return null;
    const bytes = readFileSync(path);
    if (`sha256:${createHash("sha256").update(bytes).digest("hex")}` !== fingerprint) return null;
    // The cast holds: of bytes with this hash it is known who made them.
    const { manifest, files, resolutions, trees } = JSON.parse(bytes.toString("utf8")) as Pins;
    return { manifest, files, resolutions, trees };
  } catch {
    return null;
  }
}

function pinsPath(directory: string, fingerprint: string): string {
  const [, digits] = /^sha256:([0-9a-f]{64})$/.exec(fingerprint) ?? [];
  if (digits === undefined) throw new TypeError(`"${fingerprint}" is no fingerprint`);
  return join(directory, `${digits}.json`);
}

function fingerprintOfEntry(entry: unknown): string | null {
  const value = (entry as { fingerprint?: unknown } | null)?.fingerprint;
  return typeof value === "string" && /^sha256:[0-9a-f]{64}$/.test(value) ? value : null;
}

function tooMany(path: string, { recordsMax }: TrustLimits): HostError {
  return unusable(
    path,
    `it has more than ${recordsMax} trust records (recordsMax)`,
    `Remove some: ${display("sallyport untrust NAME")}`,
  );
}

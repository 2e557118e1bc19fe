/**
 * Other names of what no grant reaches (T03). A directory of Sallyport's own may be mounted elsewhere, and a file of its
 * own may have a hard link elsewhere; what is reached there is told by its sealed name, and decided about under that one.
 */
import type { BigIntStats } from "node:fs";
import { lstat, opendir, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { isWithin } from "../../permissions/mod.ts";
import { RUNTIME_LIMITS } from "../limits.ts";
import type { OpenDirectory } from "./hold.ts";

/** Finds sealed names. What it learned is used for a moment, since nothing that a guest can do makes a link or a mount. */
export interface Aliases {
  /** Sealed names of a place in a held directory; `path` is its real path. */
  ofPlace(parent: OpenDirectory, path: string, sealed: readonly string[]): Promise<readonly string[]>;
  /** Sealed names of an entry, by what it is rather than how it is called. */
  ofEntry(facts: BigIntStats, sealed: readonly string[]): Promise<readonly string[]>;
}

interface Root {
  /** As the host spells it. */
  readonly spelled: string;
  /** Device and number. */
  readonly id: string;
  /** Device, and place on it. */
  readonly location: Location;
}

interface Location {
  readonly device: string;
  readonly path: string;
}

interface Mount extends Location {
  readonly point: string;
}

/** A finder with its own short memory. `unlinked` are folders in which only guests write, who cannot make a hard link. */
export function findAliases(unlinked: readonly string[] = []): Aliases {
  const places = remembered(knownPlaces);
  const links = remembered((sealed) => multiplyLinkedFiles(sealed, new Set(unlinked)));
  return {
    async ofPlace(parent, path, sealed) {
      if (sealed.length === 0) return [];
      const { roots, mounts } = await places(sealed);
      return [...await rootsAbove(parent, path, roots), ...mountedFrom(path, roots, mounts)];
    },
    async ofEntry(facts, sealed) {
      if (sealed.length === 0) return [];
      if (facts.isDirectory()) {
        const { roots } = await places(sealed);
        return roots.filter(({ id }) => id === idOf(facts)).map(({ spelled }) => spelled);
      }
      if (!facts.isFile() || facts.nlink < 2n) return [];
      const alias = (await links(sealed)).get(idOf(facts)) ?? (await links(sealed)).get(TOO_MANY);
      return alias === undefined ? [] : [alias];
    },
  };
}

const TOO_MANY = "too many";

/** Walks up from a held directory, and compares what each one is with what the sealed ones are. */
async function rootsAbove(parent: OpenDirectory, path: string, roots: readonly Root[]): Promise<string[]> {
  const found: string[] = [];
  let here = dirname(path);
  let last = "";
  for (let up = parent.at("");; up += "/..") {
    const facts = await stat(up, { bigint: true }).catch(() => null);
    if (facts === null || idOf(facts) === last) return found;
    last = idOf(facts);
    for (const root of roots) {
      if (root.id === last && root.spelled !== here) found.push(root.spelled + path.slice(endOf(here)));
    }
    here = dirname(here);
  }
}

/** A place below a mount, whose mounted directory lies below a sealed one. */
function mountedFrom(path: string, roots: readonly Root[], mounts: readonly Mount[]): string[] {
  if (mounts.length === 0) return [];
  const { device, path: onDevice } = locate(path, mounts);
  return roots.flatMap(({ spelled, location }) =>
    location.device === device && isWithin(location.path, onDevice)
      ? [spelled + onDevice.slice(endOf(location.path))]
      : []
  ).filter((alias) => alias !== path);
}

async function knownPlaces(
  sealed: readonly string[],
): Promise<{ readonly roots: readonly Root[]; readonly mounts: readonly Mount[] }> {
  const mounts = await readMounts();
  const roots = await Promise.all(sealed.map(async (spelled): Promise<Root[]> => {
    try {
      const real = await realpath(spelled);
      return [{ spelled, id: idOf(await stat(real, { bigint: true })), location: locate(real, mounts) }];
    } catch {
      return []; // what is not there has no other name
    }
  }));
  return { roots: roots.flat(), mounts };
}

/** Files below the sealed roots that have several names, by what they are. */
async function multiplyLinkedFiles(
  sealed: readonly string[],
  unlinked: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const waiting = [...sealed];
  let seen = 0;
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const entries = await opendir(folder).catch(() => null);
    if (entries === null) continue;
    for await (const entry of entries) {
      if (++seen > RUNTIME_LIMITS.sealedEntriesMax) return new Map([...found, [TOO_MANY, sealed[0]!]]);
      const path = join(folder, entry.name);
      // Package managers link the files of packages all over a disk, and nobody keeps a secret there.
      if (entry.isDirectory()) {
        if (entry.name !== "node_modules" && !unlinked.has(path)) waiting.push(path);
        continue;
      }
      const facts = await lstat(path, { bigint: true }).catch(() => null);
      if (facts?.isFile() && facts.nlink > 1n) found.set(idOf(facts), path);
    }
  }
  return found;
}

/** Mounts, the one that hides the others last. Systems without such a list have none that is known. */
async function readMounts(): Promise<readonly Mount[]> {
  if (process.platform !== "linux") return [];
  const text = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const [, , device, root, point] = line.split(" ");
    if (device === undefined || root === undefined || point === undefined) return [];
    return [{ device, path: unescape(root), point: unescape(point) }];
  });
}

function locate(path: string, mounts: readonly Mount[]): Location {
  let best: Mount | undefined;
  for (const mount of mounts) {
    if (isWithin(mount.point, path) && mount.point.length >= (best?.point.length ?? 0)) best = mount;
  }
  if (best === undefined) return { device: "", path };
  return { device: best.device, path: join(best.path, path.slice(endOf(best.point))) };
}

/** Asks again when the answer is old, or about other roots. */
function remembered<Value>(
  look: (sealed: readonly string[]) => Promise<Value>,
): (sealed: readonly string[]) => Promise<Value> {
  let last: { readonly key: string; readonly until: number; readonly value: Promise<Value> } | undefined;
  return (sealed) => {
    const key = sealed.join("\0");
    const now = performance.now();
    if (last === undefined || last.key !== key || now > last.until) {
      last = { key, until: now + RUNTIME_LIMITS.sealedRememberedMs, value: look(sealed) };
    }
    return last.value;
  };
}

function unescape(text: string): string {
  return text.replace(/\\(\d{3})/g, (_match, octal: string) => String.fromCharCode(parseInt(octal, 8)));
}

function idOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

/** Where, in a path below `root`, the rest begins. */
function endOf(root: string): number {
  return root === "/" ? 0 : root.length;
}

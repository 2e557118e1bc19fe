/** Whether what a record is about is gone for good (T13). What merely cannot be reached, as on a disk that is not mounted, is not. */
import { lstatSync, readdirSync, realpathSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { TrustKey } from "./record.ts";

/** Its directory is gone, or the link that led to it. */
export function isGone({ directory, link }: TrustKey): boolean {
  return isAbsent(directory) || (link !== undefined && (isAbsent(link) || leadsElsewhere(link, directory)));
}

/** Its parent can be read, and does not have it. */
function isAbsent(path: string): boolean {
  try {
    // Who is there needs no look at all its neighbours.
    return lstatSync(path, { throwIfNoEntry: false }) === undefined &&
      !readdirSync(dirname(path)).includes(basename(path));
  } catch {
    return false;
  }
}

function leadsElsewhere(link: string, directory: string): boolean {
  try {
    return realpathSync.native(link) !== directory;
  } catch {
    return false;
  }
}

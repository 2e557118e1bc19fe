/** Reads the newest events of a tenant's audit. For people who look; whether the log is whole is not checked here. */
import { join } from "node:path";
import { segmentNames, tailOf } from "./segment_files.ts";

/** An event as it was written: nothing of it is known to have the shape that it should. */
export type WrittenEvent = Readonly<Record<string, unknown>>;

const SEGMENTS_MAX = 32;
const SEGMENT_BYTES_MAX = 1_048_576;

/**
 * Events from the ends of the newest segments, the newest segment first and each from its oldest line on: at most 32 MiB are
 * read. Lines that do not hold `mark` are passed over unread; a segment that cannot be read tells nothing.
 */
export function* newestEvents(directory: string, tenant: string, mark = ""): Generator<WrittenEvent> {
  for (const path of newestSegments(join(directory, tenant))) {
    for (const line of endOf(path).split("\n")) {
      if (line === "" || !line.includes(mark)) continue;
      try {
        yield Object(JSON.parse(line)) as WrittenEvent;
      } catch {
        // The first line of an end is half a line.
      }
    }
  }
}

/** The time stands first in their names. */
function newestSegments(directory: string): readonly string[] {
  try {
    return segmentNames(directory).reverse().slice(0, SEGMENTS_MAX).map((name) => join(directory, name));
  } catch {
    return []; // nothing was written yet
  }
}

function endOf(path: string): string {
  try {
    return tailOf(path, SEGMENT_BYTES_MAX);
  } catch {
    return "";
  }
}

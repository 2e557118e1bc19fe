/** Tells whether the audit of a tenant is what was written: no line edited, removed, reordered or cut off. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Checkpoint, checkpointed, readCheckpoint } from "./heads.ts";
import { AUDIT_LIMITS } from "./limits.ts";
import { GENESIS, type Head, parseLine, type SealedLine, sealOf, SEGMENT_HEADER } from "./segment.ts";
import { segmentNames } from "./segment_files.ts";

/** One thing that is wrong. */
export interface AuditProblem {
  /** File name of the segment. */
  readonly segment: string;
  /** Line, from 1; null where the segment as a whole is meant. */
  readonly line: number | null;
  /** What it is. */
  readonly problem:
    | "edited"
    | "gap"
    | "reordered"
    | "truncated"
    | "missing"
    | "forged checkpoint"
    | "too large";
}

/** What was found. */
export interface AuditVerification {
  /** Segments that were read. */
  readonly segments: number;
  /** Lines that were read. */
  readonly lines: number;
  /** All that is wrong; empty when nothing is. */
  readonly problems: readonly AuditProblem[];
}

/** Where a tenant's audit is, with the key that sealed it. */
export interface AuditPlaces {
  /** Directory of the tenant's segments. */
  readonly segments: string;
  /** Directory of their checkpoints. */
  readonly heads: string;
  /** The key. */
  readonly key: Uint8Array;
}

interface Found {
  readonly name: string;
  readonly lines: readonly (SealedLine | null)[];
}

/** Reads every segment of a tenant, from the oldest to the newest. */
export function verifyAudit({ segments, heads, key }: AuditPlaces): AuditVerification {
  // A log may grow meanwhile: what says where it ends is read before what must then be there.
  const ended = new Map(checkpointed(heads).map((name) => [name, readCheckpoint(heads, name, key)]));
  const names = existsSync(segments) ? segmentNames(segments) : [];
  const problems: AuditProblem[] = [...ended.keys()].filter((name) => !names.includes(name))
    .map((segment) => ({ segment, line: null, problem: "missing" }));
  const known = new Map<string, readonly (SealedLine | null)[]>();
  let count = 0;
  for (const name of names) {
    const path = join(segments, name);
    if (statSync(path).size > AUDIT_LIMITS.segmentBytesMax) {
      problems.push({ segment: name, line: null, problem: "too large" });
      continue;
    }
    const found = readSegment(name, readFileSync(path, "utf8"));
    known.set(name, found.lines);
    count += found.lines.length;
    problems.push(...chainProblems(found, key), ...endProblems(found, ended.get(name) ?? null));
  }
  // Two that began in one moment name each other in an order that their own names need not have.
  for (const lines of known.values()) problems.push(...previousProblems({ lines }, known));
  return { segments: names.length, lines: count, problems };
}

function readSegment(name: string, text: string): Found {
  const lines = text.split("\n");
  // Every line ends with a line feed, so what comes behind the last one is empty, or half a line.
  if (lines.at(-1) === "") lines.pop();
  return { name, lines: lines.map(parseLine) };
}

/**
 * Each line is held to the seal that the one before states, so that one edited line is one problem, and what was taken out or
 * moved shows at its borders by the numbers.
 */
function chainProblems({ name, lines }: Found, key: Uint8Array): AuditProblem[] {
  const problems: AuditProblem[] = [];
  let before: Head = { seq: -1, mac: GENESIS };
  for (const [index, line] of lines.entries()) {
    if (line === null) {
      const isLast = index === lines.length - 1;
      problems.push({ segment: name, line: index + 1, problem: isLast ? "truncated" : "edited" });
      before = { seq: before.seq + 1, mac: "" };
      continue;
    }
    const isNext = line.seq === before.seq + 1;
    const isSealed = before.mac !== "" && line.mac === sealOf(key, before.mac, line.text);
    if (!isNext) {
      problems.push({ segment: name, line: index + 1, problem: line.seq > before.seq ? "gap" : "reordered" });
    } else if (!isSealed && before.mac !== "") {
      problems.push({ segment: name, line: index + 1, problem: "edited" });
    }
    before = line;
  }
  return problems;
}

function endProblems({ name, lines }: Found, checkpoint: Checkpoint | "forged" | null): AuditProblem[] {
  if (checkpoint === null) return [];
  if (checkpoint === "forged") return [{ segment: name, line: null, problem: "forged checkpoint" }];
  const last = lines.findLast((line) => line !== null);
  if (last === undefined || last === null || last.seq < checkpoint.seq) {
    return [{ segment: name, line: lines.length, problem: "truncated" }];
  }
  const then = lines.find((line) => line?.seq === checkpoint.seq);
  if (then !== undefined && then !== null && then.mac !== checkpoint.mac) {
    return [{ segment: name, line: checkpoint.seq + 1, problem: "edited" }];
  }
  return [];
}

/** A segment names the head of the one before; where that is gone or ends earlier, lines were lost. */
function previousProblems(
  { lines }: Pick<Found, "lines">,
  known: ReadonlyMap<string, readonly (SealedLine | null)[]>,
): AuditProblem[] {
  const [header] = lines;
  // One that was taken away shows in the chain; before there were headers, none was written.
  if (header?.event.type !== SEGMENT_HEADER) return [];
  const { previous } = header.event as {
    readonly previous?: { readonly segment?: unknown } & Partial<Head> | null;
  };
  if (previous === null || previous === undefined) return [];
  const segment = String(previous.segment);
  const before = known.get(segment);
  if (before === undefined) return [{ segment, line: null, problem: "missing" }];
  const then = before.find((line) => line?.seq === previous.seq);
  return then === undefined || then === null
    ? [{ segment, line: before.length, problem: "truncated" }]
    : then.mac === previous.mac
    ? []
    : [{ segment, line: then.seq + 1, problem: "edited" }];
}

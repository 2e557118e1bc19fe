import { mkdirSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { boundedAudit } from "../../src/audit/bounded.ts";
import { headsDirectory } from "../../src/audit/jsonl.ts";
import { type AuditVerification, verifyAudit } from "../../src/audit/verify.ts";
import { type AuditEvent, jsonlAudit, memoryAudit } from "../../src/mod.ts";
import { readKey } from "../../src/stores/key_file.ts";
import { temporary } from "../bundler/support.ts";

const EVENT: AuditEvent = {
  type: "op",
  tenant: "acme",
  plugin: "reader",
  fingerprint: null,
  call: "c1",
  confinement: "strong",
  op: "read_text_file",
  kind: "read",
  value: "/a",
  decision: "granted",
};

afterEach(() => void vi.useRealTimers());

/** A log of segments with `lines` events each, written and closed. */
function logOf(...lines: readonly number[]) {
  const home = temporary();
  const options = { directory: join(home, "audit"), tenant: "acme", keyFile: join(home, "audit.key") };
  let time = Date.UTC(2026, 0, 1);
  for (const count of lines) {
    const sink = jsonlAudit({ ...options, now: () => time += 1_000 });
    for (let index = 0; index < count; index++) sink.write({ ...EVENT, value: `/${index}` });
    sink.close();
  }
  const segments = join(options.directory, "acme");
  const heads = headsDirectory(options.keyFile, "acme");
  return {
    options,
    segments,
    heads,
    paths: readdirSync(segments).filter((name) => name.endsWith(".jsonl")).sort().map((name) =>
      join(segments, name)
    ),
    verify: (): AuditVerification => verifyAudit({ segments, heads, key: readKey(options.keyFile) }),
  };
}

function edit(path: string, change: (lines: string[]) => void): void {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  change(lines);
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
}

describe("[T12] verifying finds", () => {
  test("nothing in a log that nobody touched", () => {
    expect(logOf(3, 0, 5).verify()).toEqual({ segments: 2, lines: 10, problems: [] });
  });

  test("an edited line, and no other", () => {
    const log = logOf(5);
    edit(log.paths[0]!, (lines) => lines[2] = lines[2]!.replace('"/1"', '"/9"'));
    expect(log.verify().problems).toMatchObject([{ line: 3, problem: "edited" }]);
  });

  test("a removed line", () => {
    const log = logOf(5);
    edit(log.paths[0]!, (lines) => void lines.splice(2, 1));
    expect(log.verify().problems).toMatchObject([{ line: 3, problem: "gap" }]);
  });

  test("lines in another order", () => {
    const log = logOf(5);
    edit(log.paths[0]!, (lines) => lines.splice(2, 2, lines[3]!, lines[2]!));
    expect(log.verify().problems.map(({ problem }) => problem)).toEqual(["gap", "reordered", "gap"]);
  });

  test("lines that were cut off the end, and half a line", () => {
    const log = logOf(5);
    edit(log.paths[0]!, (lines) => lines.length = 4);
    expect(log.verify().problems).toMatchObject([{ problem: "truncated" }]);
    const half = logOf(5);
    writeFileSync(half.paths[0]!, readFileSync(half.paths[0]!, "utf8").slice(0, -40));
    expect(half.verify().problems.map(({ problem }) => problem)).toContain("truncated");
  });

  test("lines that were cut off an older segment with its checkpoint removed, by what the next one says", () => {
    const log = logOf(5, 1);
    edit(log.paths[0]!, (lines) => lines.length = 4);
    rmSync(log.heads, { recursive: true });
    expect(log.verify().problems).toMatchObject([{ problem: "truncated", line: 4 }]);
  });

  test("a segment that is gone, and one whose first line is", () => {
    const log = logOf(2, 2);
    unlinkSync(log.paths[0]!);
    expect(new Set(log.verify().problems.map(({ problem }) => problem))).toEqual(new Set(["missing"]));
    const headless = logOf(2);
    edit(headless.paths[0]!, (lines) => void lines.shift());
    expect(headless.verify().problems.map(({ problem }) => problem)).toContain("gap");
  });

  test("a checkpoint that another key made", () => {
    const log = logOf(3);
    const [name] = readdirSync(log.heads);
    const path = join(log.heads, name!);
    writeFileSync(path, readFileSync(path, "utf8").replace('"seq":3', '"seq":1'));
    expect(log.verify().problems).toMatchObject([{ problem: "forged checkpoint" }]);
  });

  test("a chain that was made anew with another key", () => {
    const [log, forged] = [logOf(3), logOf(3)];
    writeFileSync(log.paths[0]!, readFileSync(forged.paths[0]!));
    expect(log.verify().problems.length).toBeGreaterThan(3);
  });
});

test("[T12] a checkpoint is written each second while the segment grows, so a later cut is seen without a close", () => {
  vi.useFakeTimers();
  const log = logOf(1);
  const sink = jsonlAudit({ ...log.options, now: () => Date.now() });
  for (const value of ["/1", "/2", "/3"]) sink.write({ ...EVENT, value });
  vi.advanceTimersByTime(1_100);
  edit(sink.path, (lines) => lines.length = 2);
  expect(log.verify().problems).toMatchObject([{ problem: "truncated" }]);
  sink.close();
});

test("[T12] on a full disk the ends of calls and revocations are still written, and ops are not", () => {
  const home = temporary();
  let isFull = false;
  let room = Infinity;
  const written: string[] = [];
  const directory = join(home, "audit");
  const sink = jsonlAudit({
    directory,
    tenant: "acme",
    keyFile: join(home, "key"),
    now: () => 0,
    write: (_file, text) => {
      const hasReserve = readdirSync(join(directory, "acme")).includes(".reserve");
      if (isFull && (hasReserve || room-- <= 0)) throw Object.assign(new Error("full"), { code: "ENOSPC" });
      written.push(text);
    },
  });
  sink.write(EVENT);
  isFull = true;
  room = 1;
  expect(() => sink.write(EVENT)).toThrow("full");
  const revoke = { ...EVENT, type: "revoke" } as const;
  sink.write(revoke);
  expect(written.at(-1)).toContain('"revoke"');
  expect(() => sink.write(revoke)).toThrow("full");
  sink.close();
});

test("[T12] the same refusal again and again is written once, with its count behind it", () => {
  let time = 0;
  const memory = memoryAudit();
  const sink = boundedAudit(memory, () => time);
  const denied = { ...EVENT, decision: "denied" } as const;
  for (let index = 0; index < 1_000; index++) sink.write(denied);
  sink.write({ ...denied, value: "/b" });
  expect(memory.events.map(({ value, details }) => [value, details?.repeats])).toEqual([
    ["/a", undefined],
    ["/a", 999],
    ["/b", undefined],
  ]);
  time = 2_000;
  sink.write({ ...denied, value: "/b" });
  for (let index = 0; index < 3; index++) sink.write(EVENT); // granted uses are written one by one
  sink.close();
  expect(memory.events).toHaveLength(7);
});

test("[T12] a plugin that floods the log is stopped for a minute, and its neighbour is not", () => {
  let time = 0;
  const memory = memoryAudit();
  const sink = boundedAudit(memory, () => time, { pluginBytesPerMinute: 2_000, repeatMs: 1_000 });
  const flood = (): void => {
    for (let index = 0; index < 100; index++) sink.write({ ...EVENT, value: `/${index}` });
  };
  expect(flood).toThrow(expect.objectContaining({ code: "ERR_LIMIT_RATE" }));
  expect(memory.events.length).toBeLessThan(20);
  expect(() => sink.write({ ...EVENT, plugin: "neighbour" })).not.toThrow();
  expect(() => sink.write({ ...EVENT, type: "call" })).not.toThrow();
  time = 60_000;
  expect(() => sink.write(EVENT)).not.toThrow();
});

test("two segments that were opened at once name the same one before, and both verify", () => {
  const log = logOf(2);
  let time = Date.UTC(2026, 0, 2);
  const [a, b] = [1, 2].map(() => jsonlAudit({ ...log.options, now: () => time += 1_000 }));
  a!.write(EVENT);
  b!.write(EVENT);
  a!.write(EVENT);
  for (const sink of [a!, b!]) sink.close();
  expect(log.verify()).toMatchObject({ segments: 3, problems: [] });
});

test("a log of before the first event is empty and sound", () => {
  const home = temporary();
  mkdirSync(join(home, "audit"));
  expect(verifyAudit({ segments: join(home, "audit/x"), heads: join(home, "h"), key: Buffer.alloc(32) }))
    .toEqual({
      segments: 0,
      lines: 0,
      problems: [],
    });
});

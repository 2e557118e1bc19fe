/** The log of a host that is at work: it is verified meanwhile, and its disk may be full for a while. */
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, test, vi } from "vitest";
import { AUDIT_LIMITS } from "../../src/audit/limits.ts";
import { headsDirectory } from "../../src/audit/jsonl.ts";
import { type AuditVerification, verifyAudit } from "../../src/audit/verify.ts";
import { type AuditEvent, type AuditSink, jsonlAudit } from "../../src/mod.ts";
import { readKey } from "../../src/stores/key_file.ts";
import { temporary } from "../bundler/support.ts";

const meanwhile = vi.hoisted(() => ({ onCheckpoint: () => {}, onCheckpoints: () => {} }));

vi.mock("../../src/audit/heads.ts", async (original) => {
  const heads = await original<typeof import("../../src/audit/heads.ts")>();
  return {
    ...heads,
    readCheckpoint: (...given: Parameters<typeof heads.readCheckpoint>) => {
      meanwhile.onCheckpoint();
      return heads.readCheckpoint(...given);
    },
    checkpointed: (directory: string) => {
      meanwhile.onCheckpoints();
      return heads.checkpointed(directory);
    },
  };
});

afterEach(() => Object.assign(meanwhile, { onCheckpoint: () => {}, onCheckpoints: () => {} }));

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

function logIn(home: string) {
  const options = { directory: join(home, "audit"), tenant: "acme", keyFile: join(home, "audit.key") };
  const segments = join(options.directory, "acme");
  return {
    segments,
    open: (): AuditSink => jsonlAudit({ ...options, now: () => Date.now() }),
    verify: (): AuditVerification => {
      const heads = headsDirectory(options.keyFile, "acme");
      return verifyAudit({ segments, heads, key: readKey(options.keyFile) });
    },
  };
}

describe("[T12] a log that grows while it is verified is sound:", () => {
  test("lines and a checkpoint that come after it was read", () => {
    const log = logIn(temporary());
    const sink = log.open();
    sink.write(EVENT);
    meanwhile.onCheckpoint = () => {
      meanwhile.onCheckpoint = () => {};
      sink.write(EVENT);
      sink.close();
    };
    expect(log.verify().problems).toEqual([]);
    const [path] = readdirSync(log.segments).filter((name) => name.endsWith(".jsonl"));
    appendFileSync(join(log.segments, path!), "half a line");
    expect(log.verify().problems).not.toEqual([]);
  });

  test("a segment that another process begins", () => {
    const log = logIn(temporary());
    const sink = log.open();
    sink.write(EVENT);
    const other = log.open();
    meanwhile.onCheckpoints = () => {
      meanwhile.onCheckpoints = () => {};
      other.write(EVENT);
    };
    expect(log.verify().problems).toEqual([]);
    sink.close();
    other.close();
    expect(log.verify()).toMatchObject({ segments: 2, problems: [] });
  });
});

const PRLIMIT = "/usr/bin/prlimit";

test.runIf(existsSync(PRLIMIT))(
  "[T12] what a full disk takes of a line is taken back, so the log stays sound",
  () => {
    const home = temporary();
    const log = logIn(home);
    const sink = log.open();
    sink.write(EVENT); // the room that is kept free is there from now on
    sink.close();
    const audit = pathToFileURL(join(import.meta.dirname, "../../src/audit/jsonl.ts")).href;
    const code = `
    const { jsonlAudit } = await import(${JSON.stringify(audit)});
    const sink = jsonlAudit({ directory: ${JSON.stringify(join(home, "audit"))}, tenant: "acme",
      keyFile: ${JSON.stringify(join(home, "audit.key"))}, now: () => Date.now() });
    const event = { ...${JSON.stringify(EVENT)}, value: "x".repeat(1_000) };
    let written = 0;
    try { for (;; written++) sink.write(event); } catch {}
    for (let count = 0; count < 3; count++) {
      try { sink.write(event); process.exit(3); } catch {}
    }
    sink.write({ ...event, value: "" });
    sink.close();
    console.log(written);`;
    const written = execFileSync(PRLIMIT, [
      "--fsize=270000",
      process.execPath,
      "--input-type=module",
      "-e",
      code,
    ]);
    expect(Number(written)).toBeGreaterThan(10);
    const { lines, problems } = log.verify();
    expect(problems).toEqual([]);
    expect(lines).toBe(Number(written) + 4);
  },
);

test("[T12] a log that could not be begun is begun when there is room", () => {
  let isFull = true;
  const home = temporary();
  const options = {
    directory: join(home, "audit"),
    tenant: "acme",
    keyFile: join(home, "key"),
    now: () => 0,
  };
  const written: string[] = [];
  const sink = jsonlAudit({
    ...options,
    write: (_file, text) => {
      if (isFull) throw Object.assign(new Error("full"), { code: "ENOSPC" });
      written.push(text);
    },
  });
  expect(() => sink.write(EVENT)).toThrow("full");
  expect(() => sink.write(EVENT)).toThrow("full");
  isFull = false;
  sink.write(EVENT);
  expect(written.join("")).toContain('"seq":1');
  sink.close();
});

test("[T12] what cannot be written fills no memory: ops beyond what may wait are refused one by one", async () => {
  let isFull = false;
  const home = temporary();
  const options = {
    directory: join(home, "audit"),
    tenant: "acme",
    keyFile: join(home, "key"),
    now: () => 0,
  };
  const written: string[] = [];
  const sink = jsonlAudit({
    ...options,
    write: (_file, text) => {
      if (isFull) throw Object.assign(new Error("full"), { code: "EIO" });
      written.push(text);
    },
  });
  sink.write(EVENT);
  isFull = true;
  let refused = 0;
  for (let count = 0; count < 10 * AUDIT_LIMITS.pendingLinesMax; count++) {
    try {
      sink.writeSoon!(EVENT);
      sink.written!()?.catch(() => {});
    } catch {
      refused += 1;
    }
  }
  await new Promise((resume) => setTimeout(resume, 10));
  expect(refused).toBe(9 * AUDIT_LIMITS.pendingLinesMax);
  isFull = false;
  written.length = 0;
  sink.write(EVENT);
  expect(written.join("").match(/\n/g)).toHaveLength(AUDIT_LIMITS.pendingLinesMax + 1);
  sink.close();
});

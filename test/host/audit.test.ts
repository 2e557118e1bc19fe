import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { type AuditEvent, jsonlAudit, memoryAudit } from "../../src/mod.ts";
import { headsDirectory } from "../../src/audit/jsonl.ts";
import { verifyAudit } from "../../src/audit/verify.ts";
import { approve, approved, failureOf, hosted, pluginOf, ROOT, temporary, write } from "./support.ts";

const READER = "export const go = ({ path }) => Deno.readTextFile(path);";
const HEAD = 'permissions: { read: [./data], env: ["WORD"] }\n';
const policy = { permissions: { read: true, env: true }, environment: { WORD: "w", OTHER: "o" } } as const;

test("[T12] each line is chained to the one before by an HMAC whose key lies outside every grant", async () => {
  const home = join(temporary(), "home");
  const host = await hosted({ home });
  const tenant = await approved(host, "acme", {
    plugins: [pluginOf("reader", { go: READER }, { head: HEAD, files: { "data/a.txt": "a" } })],
    policy,
  });
  await tenant.call("go", { path: "./data/a.txt" });
  await failureOf(tenant.call("go", { path: "/etc/shadow" }));
  await host.close();
  const directory = join(home, "audit/acme");
  const [segment, ...others] = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
  expect(others).toEqual([]);
  const key = readFileSync(join(home, "audit.key"));
  const lines = readFileSync(join(directory, segment!), "utf8").trimEnd().split("\n");
  let head = "0".repeat(64);
  for (const [index, line] of lines.entries()) {
    const { mac, ...event } = JSON.parse(line) as AuditEvent & { mac: string; seq: number };
    expect(event.seq).toBe(index);
    const body = line.slice(0, line.length - `,"mac":"${mac}"}`.length) + "}";
    expect(createHmac("sha256", key).update(head).update(body).digest("hex")).toBe(mac);
    head = mac;
  }
  const types = lines.map((line) => (JSON.parse(line) as AuditEvent).type);
  expect(types).toEqual([
    "segment",
    "trust",
    "expose",
    "call",
    "activate",
    "grant",
    "op",
    "call",
    "call",
    "op",
    "call",
  ]);
  for (const path of [home, join(home, "audit"), directory]) expect(statSync(path).mode & 0o077).toBe(0);
  for (const path of [join(home, "audit.key"), join(directory, segment!)]) {
    expect(statSync(path).mode & 0o777).toBe(0o600);
  }
});

test("[T12] a decision is written before the act: what is not yet there when the op is audited", async () => {
  const place = temporary();
  const seen: [string, boolean][] = [];
  const sink = {
    // The file is made at the moment of its audit line: had the act come first, it would have found nothing.
    write(event: AuditEvent) {
      if (event.type !== "op" || event.decision !== "granted") return;
      seen.push([event.op!, existsSync(event.value!)]);
      if (event.value!.endsWith("gone.txt")) write(place, { "gone.txt": "made while it was written down" });
    },
    close() {},
  };
  const host = await hosted({ audit: () => sink });
  const tenant = await approved(host, "acme", {
    plugins: [
      pluginOf("reader", { go: READER }, { head: `permissions: { read: [${JSON.stringify(place)}] }\n` }),
    ],
    policy: { permissions: { read: true } },
  });
  expect(await tenant.call("go", { path: join(place, "gone.txt") })).toBe("made while it was written down");
  expect(seen[0]).toEqual(["read_text_file", false]);
});

test("[T12] no audit, no op: a sink that throws stops the call, and nothing is done", async () => {
  let isFull = false;
  const audit = memoryAudit();
  const sink = {
    write(event: AuditEvent) {
      if (isFull) throw new Error("ENOSPC: /var/secret/place");
      audit.write(event);
    },
    close() {},
  };
  const host = await hosted({ audit: () => sink });
  const directory = pluginOf("reader", {
    go: 'console.log("ran"); export const go = ({ path }) => Deno.readTextFile(path);',
  }, { head: HEAD, files: { "data/a.txt": "a" } });
  const tenant = host.tenant("acme", { plugins: [directory], policy });
  const { hash } = await tenant.fingerprint("reader");
  isFull = true;
  const trust = await failureOf(tenant.trust("reader", { fingerprint: hash, approver: "test" }));
  expect(trust.code).toBe("ERR_AUDIT_FAILED");
  expect((await tenant.list())[0]!.state).toBe("untrusted");
  isFull = false;
  await approve(tenant, "reader");
  const lines: string[] = [];
  isFull = true;
  const call = await failureOf(
    tenant.call("go", { path: "./data/a.txt" }, { onLine: ({ text }) => lines.push(text) }),
  );
  expect([call.code, lines]).toEqual(["ERR_AUDIT_FAILED", []]);
  expect(call.message).not.toContain("/var/secret");
  isFull = false;
  expect(await tenant.call("go", { path: "./data/a.txt" })).toBe("a");
});

test("[T12] a sink that fails during an op fails the op inside the guest and the call for its caller", async () => {
  let isFull = false;
  const sink = {
    write(event: AuditEvent) {
      if (isFull && event.type === "op") throw new Error("ENOSPC: /var/secret/place");
    },
    close() {},
  };
  const host = await hosted({ audit: () => sink });
  const tenant = await approved(host, "acme", {
    plugins: [pluginOf("reader", {
      go:
        "export const go = ({ path }) => Deno.readTextFile(path).catch((error) => `${error.code} ${error.message}`);",
    }, { head: HEAD, files: { "data/a.txt": "a" } })],
    policy,
  });
  isFull = true;
  const told = String(await tenant.call("go", { path: "./data/a.txt" }));
  expect(told).toContain("ERR_AUDIT_FAILED");
  expect(told).not.toContain("/var/secret");
});

test("granted environment that is pushed with the isolate is written down, name by name", async () => {
  const audit = memoryAudit();
  const host = await hosted({ audit: () => audit });
  const tenant = await approved(host, "acme", {
    plugins: [
      pluginOf("reader", { go: "export const go = () => Deno.env.get('WORD');" }, {
        head: HEAD,
        files: { "data/a": "" },
      }),
    ],
    policy,
  });
  expect(await tenant.call("go", {})).toBe("w");
  expect(audit.events.filter(({ type }) => type === "grant").map(({ kind, value }) => `${kind} ${value}`))
    .toEqual(["env WORD"]);
});

test("[T12] two segments that begin in the same moment are two files", () => {
  const directory = temporary();
  const open = () =>
    jsonlAudit({ directory, tenant: "t", keyFile: join(directory, "key"), now: () => 1_000 });
  const [a, b] = [open(), open()];
  const event: AuditEvent = {
    type: "trust",
    tenant: "t",
    plugin: null,
    fingerprint: null,
    call: null,
    confinement: "weak",
  };
  a.write(event);
  b.write(event);
  a.close();
  b.close();
  expect(readdirSync(join(directory, "t")).filter((name) => name.endsWith(".jsonl"))).toHaveLength(2);
});

test("[T12] processes that begin a log at once share one whole key, and leave nothing else of it", async () => {
  const directory = temporary();
  const code = `
    import { jsonlAudit } from ${JSON.stringify(join(ROOT, "src/audit/jsonl.ts"))};
    const log = jsonlAudit({ directory: "log", tenant: "t", keyFile: "log/key", now: () => 1 });
    while (Date.now() < Number(process.argv[1]));
    log.write({ type: "trust", tenant: "t", plugin: null, fingerprint: null, call: null, confinement: "weak" });
    log.close();`;
  const start = String(Date.now() + 1_500);
  const exits = await Promise.all(Array.from({ length: 6 }, () => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", code, start], { cwd: directory });
    return new Promise((resolve) => child.once("exit", resolve));
  }));
  expect(exits).toEqual([0, 0, 0, 0, 0, 0]);
  expect(readdirSync(join(directory, "log")).sort()).toEqual(["audit-heads", "key", "t"]);
  const found = verifyAudit({
    segments: join(directory, "log/t"),
    heads: headsDirectory(join(directory, "log/key"), "t"),
    key: readFileSync(join(directory, "log/key")),
  });
  expect(found).toEqual({ segments: 6, lines: 12, problems: [] });
});

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, describe, expect, test } from "vitest";
import { createHost, GuestError, memoryAudit, SallyportError } from "../../src/mod.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "sallyport-failures-")));
const plugin = join(root, "moody");
mkdirSync(plugin);
writeFileSync(
  join(plugin, "plugin.yaml"),
  'name: moody\nversion: "1"\ncapabilities:\n  tools:\n    - { name: mood, target: "mood.ts:mood", input: { type: object } }\n',
);
writeFileSync(
  join(plugin, "mood.ts"),
  'export function mood({ fail }) {\n  if (fail) throw new RangeError("not today");\n  return "fine";\n}\n',
);

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("a tool's own failure and a call that could not run", () => {
  test("[R08] have two shapes in the library: GuestError with the tool's words and frames, or another class", async () => {
    await using host = await createHost({
      confinement: "best",
      home: join(root, "home"),
      audit: () => memoryAudit(),
    });
    const tenant = host.tenant("acme", { plugins: [plugin] });
    const failed = async (input: unknown): Promise<unknown> =>
      await tenant.call("mood", input).catch((error: unknown) => error);
    const untrusted = await failed({});
    expect(untrusted).toBeInstanceOf(SallyportError);
    expect(untrusted).not.toBeInstanceOf(GuestError);
    const { hash } = await tenant.fingerprint("moody");
    await tenant.trust("moody", { fingerprint: hash, approver: "test" });
    await tenant.expose(["mood"]);
    expect(await tenant.call("mood", {})).toBe("fine");
    const own = await failed({ fail: true });
    expect(own).toBeInstanceOf(GuestError);
    expect(own).toMatchObject({
      code: "ERR_GUEST_THREW",
      details: { name: "RangeError", message: "not today", guestStack: expect.stringContaining("mood.ts:2") },
    });
    const unfit = await failed("no object");
    expect(unfit).not.toBeInstanceOf(GuestError);
    expect(unfit).toMatchObject({ code: "ERR_CAPABILITY_INPUT_INVALID" });
  });

  test("[R08] have two shapes on the command line: exit 1 with the tool's words, or the code and exit of what kept it", () => {
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [
        join(import.meta.dirname, "../../bin/sallyport.js"),
        "run",
        plugin,
        "mood",
        "--json",
        ...args,
      ], {
        encoding: "utf8",
        env: { ...process.env, SALLYPORT_HOME: join(root, "cli-home") },
      });
    const own = run("--yes", "--input", '{"fail":true}');
    expect(own.status).toBe(1);
    expect(JSON.parse(own.stdout)).toMatchObject({
      ok: false,
      error: { name: "GuestError", code: "ERR_GUEST_THREW", details: { message: "not today" } },
    });
    const kept = run("--input", "{}");
    expect(kept.status).toBe(3);
    expect(JSON.parse(kept.stdout)).toMatchObject({
      ok: false,
      error: { name: "TrustError", code: "ERR_TRUST_UNKNOWN" },
    });
    const fine = run("--yes");
    expect(fine.status).toBe(0);
    expect(JSON.parse(fine.stdout)).toMatchObject({ ok: true, value: "fine" });
  });
});

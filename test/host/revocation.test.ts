/** What ends an approval reaches what runs under it, and nothing else (T14). */
import { execFile } from "node:child_process";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type AuditEvent,
  defineOp,
  fileSecretStore,
  memoryAudit,
  settingsTrustStore,
  type Tenant,
  type TenantOptions,
} from "../../src/mod.ts";
import { AUTHORITY_LIMITS } from "../../src/trust/limits.ts";
import { approve, failureOf, hosted, pluginOf, refusalOf, ROOT, temporary, until } from "./support.ts";

const CODE = {
  // Two plugins of one text: one is taken from, the other is its twin.
  run: `export const run = async (_input, { host }) => {
    for (;;) { await host.beat(NAME); await new Promise((resume) => setTimeout(resume, 10)); }
  };`,
  hold: "export const hold = (_input, { host }) => host.wait(NAME);",
  go: 'export const go = () => "served";',
};

interface Setting {
  readonly tenant: Tenant;
  readonly home: string;
  readonly directories: Readonly<Record<"taken" | "twin", string>>;
  /** Beats of a plugin, as they were answered. */
  readonly beats: Readonly<Record<string, number>>;
  /** Plugins whose waiting op was told that its call had ended. */
  readonly aborted: readonly string[];
  readonly events: readonly AuditEvent[];
}

async function setting(options: Partial<TenantOptions> = {}, head = ""): Promise<Setting> {
  const home = join(temporary(), "home");
  const beats: Record<string, number> = {};
  const aborted: string[] = [];
  const beat = defineOp<[name: string]>({
    name: "beat",
    args: z.tuple([z.string()]),
    free: "it counts",
    act: async ([name]) => void (beats[name] = (beats[name] ?? 0) + 1),
  });
  const wait = defineOp<[name: string]>({
    name: "wait",
    args: z.tuple([z.string()]),
    free: "it waits",
    act: ([name], { signal }) =>
      new Promise((resolve) => {
        beats[`${name} waits`] = 1;
        signal.addEventListener("abort", () => {
          aborted.push(name);
          resolve(null);
        });
      }),
  });
  const log = memoryAudit();
  const host = await hosted({ home, ops: [beat, wait], audit: () => log });
  const directories = { taken: pluginNamed("taken", head), twin: pluginNamed("twin", head) };
  const tenant = host.tenant("acme", {
    plugins: Object.values(directories),
    store: settingsTrustStore(home),
    policy: { permissions: { net: true, read: true, secrets: true, env: true } },
    ...options,
  });
  for (const name of ["taken", "twin"]) await approve(tenant, name);
  return { tenant, home, directories, beats, aborted, events: log.events };
}

function pluginNamed(name: string, head: string): string {
  const tools = Object.entries(CODE).map(([tool, code]) =>
    [tool, code.replace("NAME", JSON.stringify(name))] as const
  );
  return pluginOf(name, Object.fromEntries(tools), { head });
}

/** Calls of both plugins that never end by themselves, once they are under way. */
async function underWay({ tenant, beats }: Setting) {
  let twinHasEnded = false;
  const calls = ["run", "hold"].map((tool) => failureOf(tenant.call(`plugin__taken__${tool}`, {})));
  void failureOf(tenant.call("plugin__twin__run", {})).then(() => twinHasEnded = true);
  await until(() => ["taken", "taken waits", "twin"].every((name) => (beats[name] ?? 0) > 0));
  return { calls: Promise.all(calls), hasTwinEnded: () => twinHasEnded };
}

async function twinGoesOn({ tenant, beats }: Setting, hasTwinEnded: () => boolean): Promise<void> {
  const before = beats.twin ?? 0;
  await until(() => (beats.twin ?? 0) > before + 2);
  expect(hasTwinEnded()).toBe(false);
  expect(await tenant.call("plugin__twin__go", {})).toBe("served");
}

async function nothingBeats({ beats }: Setting): Promise<void> {
  const before = beats.taken;
  await new Promise((resume) => setTimeout(resume, 200));
  expect(beats.taken).toBe(before);
}

describe("an approval that ends", () => {
  test("[T14] by `untrust`: calls and their ops have ended when it settles, and the twin's go on", async () => {
    const at = await setting();
    const { calls, hasTwinEnded } = await underWay(at);
    await at.tenant.untrust("taken");
    expect(at.aborted).toEqual(["taken"]);
    await nothingBeats(at);
    expect((await calls).map(({ code }) => code)).toEqual(["ERR_TRUST_UNKNOWN", "ERR_TRUST_UNKNOWN"]);
    expect((await failureOf(at.tenant.call("plugin__taken__go", {}))).code).toBe("ERR_TRUST_UNKNOWN");
    await twinGoesOn(at, hasTwinEnded);
    const ended = at.events.filter(({ type, details }) => type === "revoke" && details?.calls === 2);
    expect(ended).toMatchObject([{ plugin: "taken", details: { code: "ERR_TRUST_UNKNOWN" } }]);
  });

  test("[T14] by the hand of another process: running calls end, their ops are told, the next call is refused", async () => {
    const at = await setting();
    const { calls } = await underWay(at);
    await promisify(execFile)(process.execPath, [
      join(ROOT, "test/trust/probe.ts"),
      "forget",
      at.home,
      "acme",
    ]);
    expect((await calls).map(({ code }) => code)).toEqual(["ERR_TRUST_UNKNOWN", "ERR_TRUST_UNKNOWN"]);
    expect(at.aborted).toEqual(["taken"]);
    await nothingBeats(at);
    expect((await failureOf(at.tenant.call("plugin__taken__go", {}))).code).toBe("ERR_TRUST_UNKNOWN");
  });

  test("[T14][L31] by an edit after the first call: what runs ends and what comes is refused, the twin is served", async () => {
    const at = await setting();
    const { calls, hasTwinEnded } = await underWay(at);
    appendFileSync(join(at.directories.taken, "tools/go.ts"), " ");
    const errors = await calls;
    expect(errors.map(({ code }) => code)).toEqual(["ERR_TRUST_CHANGED", "ERR_TRUST_CHANGED"]);
    expect(errors[0]!.details.changed).toEqual(["tools/go.ts"]);
    expect(at.aborted).toEqual(["taken"]);
    expect((await failureOf(at.tenant.call("plugin__taken__go", {}))).code).toBe("ERR_TRUST_CHANGED");
    await twinGoesOn(at, hasTwinEnded);
  });

  test("[T14] by an edit that nobody's call waits for: found within the bound, by the next calls", async () => {
    const at = await setting();
    expect(await at.tenant.call("plugin__taken__go", {})).toBe("served");
    writeFileSync(join(at.directories.taken, "tools/run.ts"), "export const run = () => 1;");
    const refused = await refusalOf(() => at.tenant.call("plugin__taken__go", {}));
    expect(refused).toMatchObject({ code: "ERR_TRUST_CHANGED", details: { changed: ["tools/run.ts"] } });
  });

  test("[T14] by approving less: what ran with more ends; approving more ends nothing", async () => {
    const head = 'permissions: { net: ["a.example:443", "b.example:443"] }\n';
    const at = await setting({}, head);
    const { hash } = await at.tenant.fingerprint("taken");
    const grant = async (...net: string[]) => {
      const flags = { permissions: { net: { allow: net } }, cwd: "/" };
      const expose = ["run", "hold", "go"].map((tool) => `plugin__taken__${tool}`);
      await at.tenant.trust("taken", { fingerprint: hash, approver: "test", flags, expose });
    };
    await grant("a.example:443");
    const { calls, hasTwinEnded } = await underWay(at);
    await grant("a.example:443", "b.example:443");
    const before = at.beats.taken!;
    await until(() => at.beats.taken! > before + 2);
    expect(at.aborted).toEqual([]);
    await grant("b.example:443");
    expect((await calls).map(({ code }) => code)).toEqual(["ERR_TRUST_CHANGED", "ERR_TRUST_CHANGED"]);
    expect(await at.tenant.call("plugin__taken__go", {})).toBe("served");
    await twinGoesOn(at, hasTwinEnded);
  });

  test.each(["this process", "another"])(
    "[T14] by taking a secret away in %s: the plugins that had it end, and may begin again without it",
    async (where) => {
      const home = join(temporary(), "home");
      const secrets = fileSecretStore(home);
      const at = await setting(
        { secrets },
        "permissions: { secrets: [{ name: KEY, host: a.example:443 }] }\n",
      );
      await at.tenant.secrets.set("KEY", "a-secret-value", { hosts: ["a.example:443"], plugins: ["taken"] });
      const { calls, hasTwinEnded } = await underWay(at);
      if (where === "another") await fileSecretStore(home).remove("acme", "KEY");
      else await at.tenant.secrets.delete("KEY");
      const errors = await calls;
      expect(errors.map(({ code }) => code)).toEqual(["ERR_TRUST_CHANGED", "ERR_TRUST_CHANGED"]);
      expect(errors[0]!.message).toContain('the secret "KEY" was taken from it');
      expect(await at.tenant.call("plugin__taken__go", {})).toBe("served");
      await twinGoesOn(at, hasTwinEnded);
    },
  );

  test("[T14] by records that can no longer be read: nothing goes on that they had approved", async () => {
    const at = await setting();
    const { calls } = await underWay(at);
    writeFileSync(join(at.home, "settings.yaml"), "{");
    expect((await calls).map(({ code }) => code)).toEqual(["ERR_TRUST_UNKNOWN", "ERR_TRUST_UNKNOWN"]);
    rmSync(join(at.home, "settings.yaml"));
    expect((await failureOf(at.tenant.call("plugin__taken__go", {}))).code).toBe("ERR_TRUST_UNKNOWN");
  });
});

test("[T14] the bounds of the rule hold with room to spare", () => {
  const { storePollMs, sweepMs, revokeMs } = AUTHORITY_LIMITS;
  expect(storePollMs).toBeLessThanOrEqual(500);
  expect(sweepMs).toBeLessThanOrEqual(1_000);
  expect(sweepMs % storePollMs).toBe(0);
  // Seen within a look, and ended in the turn in which it was seen; a store that says nothing counts as gone before the end.
  expect(storePollMs + revokeMs).toBeLessThan(2_000);
});

/** Hooks that are executables of their bundle: what goes in, what their end means, and what they can reach (T07, T33). */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { COMMAND_LIMITS, rememberedJail } from "../../runtime/mod.ts";
import {
  type AuditEvent,
  type AuditSink,
  memoryAudit,
  type SallyportError,
  type Tenant,
} from "../../src/mod.ts";
import { approve, failureOf, type Files, hosted, pluginOf, until, write } from "./support.ts";

const canRun = process.env.SALLYPORT_TEST_STRONG === "1" || typeof await rememberedJail()() !== "string";
const ECHO = { go: "export const go = (input) => input;" };
const POLICY = { permissions: { run: true, intercept: true, observe: true } } as const;

interface HookOptions {
  readonly event?: string;
  readonly files?: Files;
  /** Beside the executable. */
  readonly declared?: readonly string[];
  readonly args?: readonly string[];
  readonly head?: string;
}

/** A plugin whose tool gives back its input, and whose hook `hooks/look` is this shell script. */
function hooked(
  script: string,
  { event = "PreToolUse", files = {}, declared, args = [], head }: HookOptions = {},
) {
  const directory = pluginOf("hooked", ECHO, { files: { "hooks/look": `#!/bin/sh\n${script}\n`, ...files } });
  const hook = { type: "command", command: ["hooks/look", ...args], ...(declared && { files: declared }) };
  const manifest = readFileSync(join(directory, "plugin.yaml"), "utf8");
  const asked = head ?? "permissions: { run: [./hooks/look] }\n";
  write(directory, {
    "plugin.yaml": `${asked}${manifest}  hooks: { ${event}: [{ hooks: [${JSON.stringify(hook)}] }] }\n`,
  });
  return directory;
}

async function opened(directory: string, audit: AuditSink = memoryAudit()): Promise<Tenant> {
  const host = await hosted({ audit: () => audit });
  const tenant = host.tenant("acme", { plugins: [directory], policy: POLICY });
  await approve(tenant, "hooked");
  return tenant;
}

/** What a call came to: its value, or the code and what the refusal says of the one that stopped it. */
async function outcomeOf(tenant: Tenant, input: unknown): Promise<unknown> {
  try {
    return await tenant.call("plugin__hooked__go", input);
  } catch (error) {
    const { code, details } = error as SallyportError; // all that a call rejects with
    const { answered, reason, code: why } = details;
    return [code, answered, answered === true ? reason : why];
  }
}

/** What a script says on its standard error before it denies. */
async function saidBy(tenant: Tenant): Promise<string> {
  const [code, answered, reason] = await outcomeOf(tenant, {}) as [string, boolean, string];
  expect([code, answered]).toEqual(["ERR_BLOCKED", true]);
  return reason.replaceAll("\\u{a}", "\n");
}

/** Does what the input tells it to. */
const BY_INPUT = `event=$(cat)
case "$event" in
  *'"do":"nothing"'*) exit 0 ;;
  *'"do":"blank"'*) printf ' \\n\\n' ;;
  *'"do":"continue"'*) echo '{"decision":"continue"}' ;;
  *'"do":"block"'*) echo '{"decision":"block","reason":"not today"}' ;;
  *'"do":"replace"'*) echo '{"decision":"replace","value":{"do":"replaced"}}' ;;
  *'"do":"event"'*) printf '{"decision":"replace","value":{"event":%s,"args":"%s"}}' "$event" "$*" ;;
  *'"do":"deny"'*) echo '{"decision":"continue"}'; echo "not on a Sunday" >&2; exit 2 ;;
  *'"do":"silent"'*) exit 2 ;;
  *'"do":"long"'*) head -c 5000 /dev/zero | tr '\\0' 'x' >&2; exit 2 ;;
  *'"do":"escape"'*) printf '\\033[2J\\033]52;c;aGk=\\007\\342\\200\\256ok' >&2; exit 2 ;;
  *'"do":"one"'*) echo '{"decision":"continue"}'; echo "broke" >&2; exit 1 ;;
  *'"do":"three"'*) exit 3 ;;
  *'"do":"killed"'*) kill -9 $$ ;;
  *'"do":"garbage"'*) echo '{"decision":"continue"' ;;
  *'"do":"two"'*) echo '{"decision":"continue"}{"decision":"continue"}' ;;
  *'"do":"allow"'*) echo '{"decision":"allow"}' ;;
  *'"do":"bytes"'*) printf '"\\377"' ;;
  *'"do":"deep"'*) head -c 4000 /dev/zero | tr '\\0' '[' ;;
  *'"do":"flood"'*) echo '{"decision":"continue"}'; head -c 9000000 /dev/zero | tr '\\0' ' ' ;;
  *'"do":"noise"'*) head -c 2000000 /dev/zero | tr '\\0' 'x' >&2; exit 2 ;;
  *'"do":"deaf"'*) exec 0<&-; echo '{"decision":"continue"}' ;;
esac`;

describe.skipIf(!canRun)("a command hook", { timeout: 60_000 }, () => {
  test("[T07][T33][L52] exit 0 is the verdict that it writes, 2 denies for what it says, and all else is no answer, which blocks", async () => {
    const tenant = await opened(hooked(BY_INPUT, { args: ["--quiet", "a b"] }));
    const passed = (input: unknown) => outcomeOf(tenant, input);
    for (const what of ["nothing", "blank", "continue", "deaf"]) {
      expect(await passed({ do: what })).toEqual({ do: what });
    }
    expect(await passed({ do: "replace" })).toEqual({ do: "replaced" });
    expect(await passed({ do: "event" })).toEqual({
      event: { name: "PreToolUse", target: "plugin__hooked__go", input: { do: "event" } },
      args: "--quiet a b",
    });
    const blocked = async (what: string) => (await passed({ do: what }) as unknown[]).slice(1);
    expect(await blocked("block")).toEqual([true, "not today"]);
    expect(await blocked("deny")).toEqual([true, "not on a Sunday"]);
    expect(await blocked("silent")).toEqual([true, "the hook gave no reason"]);
    for (const what of ["one", "three", "killed"]) {
      expect(await blocked(what)).toEqual([false, "ERR_GUEST_THREW"]);
    }
    for (const what of ["garbage", "two", "allow", "bytes", "deep"]) {
      expect([what, ...await blocked(what)]).toEqual([what, false, "ERR_RESULT_INVALID"]);
    }
    // What was cut off is never parsed, though its beginning would be a verdict.
    for (const what of ["flood", "noise"]) expect(await blocked(what)).toEqual([false, "ERR_LIMIT_SIZE"]);
  });

  test("[T16][T33] its words are shown as its own, cut, and never move a terminal", async () => {
    const tenant = await opened(hooked(BY_INPUT));
    const error = await failureOf(tenant.call("go", { do: "escape" }));
    expect(error.message).toContain("in its own words: \\u{1b}[2J\\u{1b}]52;c;aGk=\\u{7}\\u{202e}ok");
    // deno-lint-ignore no-control-regex
    expect(JSON.stringify([error.message, error.details])).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e]/);
    const long = await failureOf(tenant.call("go", { do: "long" }));
    expect(long.details.reason).toBe("x".repeat(1_024));
    const failed = await failureOf(tenant.call("go", { do: "one" }));
    expect(failed.message).toContain('Hook "hooked/PreToolUse/0/0" failed with exit code 1: broke');
  });

  test("[T07] it sees itself, what it declares, and the system's own; nothing else of its bundle or of the host", async () => {
    const script = `here=$(dirname "$0"); . "$here/lib.sh"
for file in "$here/data/table" "$here/other.sh" "$here/../plugin.yaml" "$here/../tools/go.ts" /etc/passwd; do
  cat "$file" >&2 2>/dev/null || echo "no \${file##*/}" >&2
done
echo "$lib" $(ls -A /sallyport/bundle "$here") >&2
echo vars: $(env | grep -v -e '^PWD=' -e '^_=' -e '^OLDPWD=' -e '^SHLVL=') >&2
echo fds: $(ls /proc/self/fd) links: $(grep -c : /proc/net/dev) >&2
touch "$here/x" /x /usr/x 2>/dev/null; ls "$here" | grep -c x >&2
exit 2`;
    const tenant = await opened(hooked(script, {
      declared: ["hooks/lib.sh", "hooks/data/table", "hooks/look"],
      files: {
        "hooks/lib.sh": "lib=there\n",
        "hooks/data/table": "rows\n",
        "hooks/other.sh": "not declared\n",
      },
    }));
    expect((await saidBy(tenant)).split("\n")).toEqual([
      "rows",
      "no other.sh",
      "no plugin.yaml",
      "no go.ts",
      "no passwd",
      "there /sallyport/bundle: hooks /sallyport/bundle/hooks: data lib.sh look",
      "vars:",
      "fds: 0 1 2 3 links: 1", // 3 is the listing's own
      "0",
    ]);
  });

  test("[T07] what it declares is pinned with it, and has to be there", async () => {
    const script = '. "$(dirname "$0")/lib.sh"; echo "$lib" >&2; exit 2';
    const directory = hooked(script, { declared: ["hooks/lib.sh"], files: { "hooks/lib.sh": "lib=one\n" } });
    const tenant = await opened(directory);
    expect((await tenant.fingerprint("hooked")).files).toHaveProperty(["hooks/lib.sh"]);
    expect(await saidBy(tenant)).toBe("one");
    writeFileSync(join(directory, "hooks/lib.sh"), "lib=two\n");
    expect(await tenant.list({ verify: true })).toMatchObject([{ state: "changed" }]);
    const missing = hooked(script, { declared: ["hooks/lib.sh"] });
    const host = await hosted();
    const error = await failureOf(
      approve(host.tenant("acme", { plugins: [missing], policy: POLICY }), "hooked"),
    );
    expect(error).toMatchObject({ code: "ERR_MANIFEST_INVALID", details: { missing: ["hooks/lib.sh"] } });
  });

  test("[T07] it has no network, loopback included", async () => {
    let visits = 0;
    const server = createServer((_request, response) => {
      visits += 1;
      response.end("reached");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const get = `exec 3<>/dev/tcp/127.0.0.1/${port} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3`;
    const tenant = await opened(
      hooked(`/bin/bash -c '${get.replaceAll("'", `'"'"'`)}' >&2; echo "end" >&2; exit 2`),
    );
    expect(await saidBy(tenant)).toMatch(/end$/);
    expect(visits).toBe(0);
    server.close();
  });

  test("[T07] a fork bomb is bounded, and what a hook leaves behind ends with it, whether or not it holds its output", async () => {
    const mark = 271_000 + process.pid;
    const bomb =
      `i=0; while [ $i -lt 500 ]; do sleep ${mark} & i=$((i + 1)); done; echo "$i were made" >&2; exit 2`;
    const bombed = await opened(hooked(bomb));
    expect(await saidBy(bombed)).not.toContain("500 were made");
    const left = await opened(hooked(`sleep ${mark} & setsid sleep ${mark} >/dev/null 2>&1 & exit 0`));
    expect(await outcomeOf(left, { a: 1 })).toEqual({ a: 1 });
    await until(() => !isRunning(String(mark)));
  });

  test("[T07] one that hangs is ended at its deadline, with all that it started, and blocks", async () => {
    const mark = 314_000 + process.pid;
    const tenant = await opened(hooked(`sleep ${mark}`, {
      head: "permissions: { run: [./hooks/look] }\nlimits: { wallMs: 700 }\n",
    }));
    expect(await outcomeOf(tenant, {})).toEqual(["ERR_BLOCKED", false, "ERR_LIMIT_WALL"]);
    await until(() => !isRunning(String(mark)));
    const cancelled = new AbortController();
    const waiting = tenant.call("go", {}, { signal: cancelled.signal });
    cancelled.abort();
    await expect(waiting).rejects.toMatchObject({ code: "ERR_CALL_CANCELLED" });
  });

  test("[T07] it is an op: decided, and written down with its arguments and its sandbox before it starts", async () => {
    const audit = memoryAudit();
    const tenant = await opened(hooked("exit 2", { args: ["--loud"] }), audit);
    await outcomeOf(tenant, {});
    const events = audit.events.filter(({ type }) => type !== "trust" && type !== "expose");
    const [started, asked, real, ended] = events.filter(({ plugin, call }) =>
      plugin === "hooked" && call === events[0]!.call
    );
    expect(started).toMatchObject({
      type: "call",
      value: "hooked/PreToolUse/0/0",
      details: { target: "hooks/look", phase: "start" },
    });
    const op = { type: "op", op: "run", kind: "run", decision: "granted", call: started!.call };
    expect(asked).toMatchObject(op);
    expect(real).toMatchObject({ ...op, details: { arguments: '["--loud"]', sandbox: "bubblewrap" } });
    expect(ended).toMatchObject({ type: "call", details: { phase: "end", ok: true, decision: "block" } });
    expect(new Set([started, asked, real].map((event) => event?.parent)).size).toBe(1);
  });

  test("[T07][T12] where it cannot be written down it is not run, and so nothing passes", async () => {
    const audit = memoryAudit();
    const deaf: AuditSink = {
      write: (event: AuditEvent) => {
        if (event.op === "run") throw new Error("full");
        audit.write(event);
      },
      close() {},
    };
    const tenant = await opened(hooked("exit 0"), deaf);
    expect(await outcomeOf(tenant, {})).toEqual(["ERR_BLOCKED", false, "ERR_AUDIT_FAILED"]);
  });

  test("[T07][T33] without `run` in its grant it is not run, and that is no answer; where it only watches, calls pass", async () => {
    const denied = async (event: string) => {
      const audit = memoryAudit();
      const own = await hosted({ audit: () => audit });
      const tenant = own.tenant("acme", { plugins: [hooked("exit 2", { event })], policy: POLICY });
      const { hash: fingerprint } = await tenant.fingerprint("hooked");
      const { capabilities } = await tenant.facts("hooked");
      const expose = capabilities.map(({ fullId }) => fullId);
      await tenant.trust("hooked", { fingerprint, approver: "test", grants: {}, expose });
      const outcome = await outcomeOf(tenant, { a: 1 });
      await until(() => audit.events.some(({ kind, decision }) => kind === "run" && decision === "denied"));
      return outcome;
    };
    expect(await denied("PreToolUse")).toEqual(["ERR_BLOCKED", false, "ERR_NOT_CAPABLE"]);
    expect(await denied("PostToolUse")).toEqual({ a: 1 });
    // Nobody could grant what the plugin does not ask for, so its author is told.
    const host = await hosted();
    const unasked = host.tenant("other", { plugins: [hooked("exit 0", { head: "permissions: {}\n" })] });
    expect((await unasked.facts("hooked")).findings).toEqual([
      'hooked/PreToolUse/0/0 starts "./hooks/look", which permissions.run does not ask for',
    ]);
    const asked = host.tenant("asked", { plugins: [hooked("exit 0")] });
    expect((await asked.facts("hooked")).findings).toEqual([]);
  });

  test("[T33] where it only watches, what it says and how it fails changes nothing", async () => {
    const audit = memoryAudit();
    const tenant = await opened(hooked(BY_INPUT, { event: "PostToolUse" }), audit);
    for (const what of ["block", "deny", "three", "garbage", "replace"]) {
      expect(await outcomeOf(tenant, { do: what })).toEqual({ do: what });
    }
    const ends = () =>
      audit.events.filter(({ value, details }) => value === undefined && details?.phase === "end");
    await until(() => ends().filter(({ details }) => details?.ok === false).length >= 2);
  });

  test("[L21][T07] one of a plugin that is changed, switched off or hidden never runs; before that it does", async () => {
    const audit = memoryAudit();
    const directory = hooked("exit 2");
    const tenant = await opened(directory, audit);
    const runs = (): number => audit.events.filter(({ op }) => op === "run").length;
    expect(await saidBy(tenant)).toBe("the hook gave no reason");
    const before = runs();
    expect(before).toBeGreaterThan(0);
    await tenant.hide(["hooked/PreToolUse/0/0"]);
    expect(await outcomeOf(tenant, { a: 1 })).toEqual({ a: 1 });
    expect(runs()).toBe(before);
    await tenant.expose(["hooked/PreToolUse/0/0"]);
    writeFileSync(join(directory, "hooks/look"), "#!/bin/sh\nexit 0\n");
    const isOver = async () => (await outcomeOf(tenant, {}) as readonly unknown[])[0];
    await expect.poll(isOver, { timeout: 10_000 }).toBe("ERR_TRUST_CHANGED");
    // Whatever ran until then were the bytes that were approved: none of them let anything pass.
    const after = runs();
    await outcomeOf(tenant, {});
    expect(runs()).toBe(after);
  });

  test("[T07][T11] programs that another plugin starts keep no hook from answering", async () => {
    const audit = memoryAudit();
    const host = await hosted({ audit: () => audit });
    const greedy = pluginOf("greedy", {
      take: `export const take = () =>
        Promise.all(Array.from({ length: 8 }, () => new Deno.Command("sleep", { args: ["60"] }).output()));`,
    }, { head: "permissions: { run: [sleep] }\n" });
    const tenant = host.tenant("acme", { plugins: [hooked("exit 0"), greedy], policy: POLICY });
    for (const name of ["hooked", "greedy"]) await approve(tenant, name);
    const enough = new AbortController();
    const taking = failureOf(tenant.call("take", {}, { signal: enough.signal }));
    const started = () => audit.events.filter(({ details }) => details?.arguments === '["60"]').length;
    await until(() => started() >= COMMAND_LIMITS.commandsPerTenant);
    expect(await outcomeOf(tenant, { a: 1 })).toEqual({ a: 1 });
    enough.abort();
    expect((await taking).code).toBe("ERR_CALL_CANCELLED");
  });

  test("[T07] a host that is closed ends its hooks, with all that they started", async () => {
    const mark = 161_000 + process.pid;
    const host = await hosted();
    const tenant = host.tenant("acme", { plugins: [hooked(`sleep ${mark}`)], policy: POLICY });
    await approve(tenant, "hooked");
    const waiting = failureOf(tenant.call("go", {}));
    await until(() => isRunning(String(mark)));
    await host.close();
    expect((await waiting).details).toMatchObject({ answered: false, code: "ERR_HOST_CLOSED" });
    await until(() => !isRunning(String(mark)));
  });
});

function isRunning(text: string): boolean {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(text);
    } catch {
      return false; // it has ended meanwhile
    }
  });
}

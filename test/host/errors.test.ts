/** Each code of the table is raised by what it is for, or is named here with the reason why nothing can raise it yet. */
import process from "node:process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ErrorCode, ERRORS, errorToJson, exitCodeOf, SallyportError } from "../../permissions/mod.ts";
import { planConfinement } from "../../runtime/mod.ts";
import { runCli } from "../../src/cli/mod.ts";
import { createHost, memoryAudit, type TenantOptions } from "../../src/mod.ts";
import { approve, approved, failureOf, hosted, pluginOf, temporary, write } from "./support.ts";

const host = await hosted({ audit: () => memoryAudit() });
let count = 0;

/** Calls the only tool of a plugin with this code. */
async function call(code: string, head = "", input: object = {}, policy: TenantOptions["policy"] = {}) {
  const plugins = [pluginOf("raiser", { go: code }, { head })];
  const tenant = await approved(host, `c${count++}`, { plugins, policy });
  return await tenant.call("go", input);
}

/** A tenant of exactly this plugin. */
function only(directory: string) {
  return host.tenant(`o${count++}`, { plugins: [directory] });
}

function manifest(text: string): string {
  const directory = temporary();
  write(directory, { "raiser/plugin.yaml": text });
  return join(directory, "raiser");
}

const GO = "export const go = () => 1;";
const HANG = "export const go = () => new Promise(() => {});";

const RAISED: Partial<Record<ErrorCode, () => Promise<unknown> | unknown>> = {
  ERR_USAGE: () => host.tenant("No such id", { plugins: [] }),
  ERR_MANIFEST_NOT_FOUND: () => only(join(temporary(), "none")).manifest("none"),
  ERR_MANIFEST_SYNTAX: () => only(manifest("name: [\n")).manifest("raiser"),
  ERR_MANIFEST_INVALID: () => only(manifest("name: raiser\n")).manifest("raiser"),
  ERR_TRUST_UNKNOWN: async () => {
    const tenant = only(pluginOf("raiser", { go: GO }));
    await tenant.expose(["go"]);
    await tenant.call("go", {});
  },
  ERR_TRUST_CHANGED: async () => {
    const directory = pluginOf("raiser", { go: GO });
    const tenant = await approved(host, `o${count++}`, { plugins: [directory] });
    write(directory, { "tools/go.ts": `${GO} // changed` });
    await tenant.call("go", {});
  },
  ERR_TRUST_INCOMPATIBLE: () =>
    approve(only(pluginOf("raiser", { go: GO }, { head: 'sallyport: ">=99"\n' })), "raiser"),
  ERR_COLLISION: () =>
    approve(
      host.tenant(`o${count++}`, { plugins: [1, 2].map(() => pluginOf("raiser", { go: GO })) }),
      "raiser",
    ),
  ERR_NAME_AMBIGUOUS: () =>
    host.tenant(`o${count++}`, { plugins: ["one", "two"].map((name) => pluginOf(name, { go: GO })) }).expose([
      "go",
    ]),
  ERR_BUNDLE_FAILED: () => call("export const go = ("),
  ERR_IMPORT_REFUSED: () => call(`import "node:fs"; ${GO}`),
  ERR_CAPABILITY_UNKNOWN: () => only(pluginOf("raiser", { go: GO })).call("nope", {}),
  ERR_CAPABILITY_NOT_EXPOSED: async () => {
    const tenant = only(pluginOf("raiser", { go: GO }));
    const { hash } = await tenant.fingerprint("raiser");
    await tenant.trust("raiser", { fingerprint: hash, approver: "test" });
    await tenant.call("go", {});
  },
  ERR_CAPABILITY_NOT_LIVE: async () => {
    const directory = manifest(
      'name: raiser\nversion: "1"\ncapabilities: { commands: [{ name: go, target: "a.ts:go" }] }\n',
    );
    write(directory, { "a.ts": GO });
    await (await approved(host, `o${count++}`, { plugins: [directory] })).call("go", {});
  },
  ERR_CAPABILITY_INPUT_INVALID: () => call(GO, "", []),
  ERR_ACTIVATION_FAILED: () => call("export const other = 1;"),
  ERR_NOT_CAPABLE: () => call('export const go = () => Deno.readTextFile("/etc/shadow");'),
  ERR_GUEST_THREW: () => call('export const go = () => { throw new Error("thrown"); };'),
  ERR_RESULT_INVALID: () => call("export const go = () => 1n;"),
  ERR_LIMIT_MEMORY: () =>
    call(
      "export const go = () => { const all = []; for (;;) all.push(new Array(1000)); };",
      "limits: { memoryMb: 32 }\n",
    ),
  ERR_LIMIT_WALL: () => call(HANG, "limits: { wallMs: 1500 }\n"),
  ERR_LIMIT_OPS: () =>
    call(
      "export const go = () => { for (let n = 0; n < 1e7; n++) Deno.readTextFile('./x').catch(() => {}); };",
    ),
  ERR_LIMIT_SIZE: () => call(GO, "", { text: "x".repeat(9 * 1_048_576) }),
  ERR_LIMIT_RATE: async () => {
    const tenant = await approved(host, `o${count++}`, {
      plugins: [
        pluginOf("raiser", { go: "export const go = () => new Promise((done) => setTimeout(done, 1500));" }),
      ],
    });
    await Promise.all(Array.from({ length: 80 }, () => tenant.call("go", {})));
  },
  ERR_WORKER_LOST: async () => {
    const own = await hosted();
    const tenant = await approved(own, "acme", { plugins: [pluginOf("raiser", { go: HANG })] });
    const lost = tenant.call("go", {});
    lost.catch(() => {});
    for (let pids: number[] = []; pids.length === 0; pids = await own.workerPids()) await pause(20);
    await pause(200);
    for (const pid of await own.workerPids()) process.kill(pid, "SIGKILL");
    await lost;
  },
  ERR_CALL_CANCELLED: async () => {
    const tenant = await approved(host, `o${count++}`, { plugins: [pluginOf("raiser", { go: HANG })] });
    await tenant.call("go", {}, { signal: AbortSignal.abort() });
  },
  ERR_HOST_CLOSED: async () => {
    const own = await createHost({ confinement: "best", home: temporary() });
    await own.close();
    own.tenant("late", { plugins: [] });
  },
  ERR_AUDIT_FAILED: async () => {
    const own = await hosted({
      audit: () => ({
        write() {
          throw new Error("the disk is full");
        },
        close() {},
      }),
    });
    await approve(own.tenant("acme", { plugins: [pluginOf("raiser", { go: GO })] }), "raiser");
  },
  ERR_ENGINE: () => {
    const actual = Object.getOwnPropertyDescriptor(process.versions, "node")!;
    Object.defineProperty(process.versions, "node", { ...actual, value: "22.1.0" });
    const starting = createHost({ confinement: "best", home: temporary() });
    Object.defineProperty(process.versions, "node", actual);
    return starting;
  },
  ERR_STORE: () => createHost({ confinement: "best", home: join(pluginOf("raiser", { go: GO }), "state") }),
  ERR_CONFINEMENT: () => planConfinement("strong", ["bubblewrap"]),
};

const ABSENT: Partial<Record<ErrorCode, string>> = {
  ERR_TRUST_QUARANTINED: "nothing is quarantined yet",
  ERR_TRUST_DISABLED: "there is no disable yet",
  ERR_CAPABILITY_NOT_DECLARED: "lifecycle code, which registers, is not live yet",
  ERR_ACTIVATION_ROLLBACK_FAILED: "lifecycle code, which has disposers, is not live yet",
  ERR_ACTIVATION_CANCELLED:
    "cancelling a first call is ERR_CALL_CANCELLED until activation is a transaction of its own",
  ERR_LIMIT_CPU: "processor time is not polled yet",
  ERR_STALE_GENERATION: "there are no generations yet",
};

test.each(Object.entries(RAISED))(
  "%s is raised by what it is for",
  { timeout: 60_000 },
  async (code, raise) => {
    const error = await failureOf((async () => await raise())());
    expect(error).toBeInstanceOf(SallyportError);
    expect([error.code, error.message]).toEqual([code, error.message]);
    expect(error.name).toBe(ERRORS[error.code].name);
    expect(exitCodeOf(error)).toBe(ERRORS[error.code].exit);
    const json = JSON.stringify(errorToJson(error));
    expect(JSON.parse(json)).toMatchObject({
      name: error.name,
      code,
      retryable: ERRORS[error.code].retryable,
    });
    expect(json).not.toContain("    at ");
  },
);

test("ERR_UNEXPECTED is what the command line makes of a mistake of its own", async () => {
  const written: unknown[] = [];
  const quiet = () => {};
  const terminal = {
    out: quiet,
    err: quiet,
    result: quiet,
    guest: quiet,
    json: (value: unknown) => void written.push(value),
  };
  const context = {
    terminal,
    cwd: temporary(),
    get environment(): never {
      throw new TypeError("a mistake");
    },
    userHome: temporary(),
  };
  expect(await runCli(["list", "--json"], context as never)).toBe(ERRORS.ERR_UNEXPECTED.exit);
  expect(written).toEqual([
    { schema_version: 1, ok: false, denials: [], error: expect.objectContaining({ code: "ERR_UNEXPECTED" }) },
  ]);
});

test("every code of the table is raised here, or named with what it waits for", () => {
  const named = [...Object.keys(RAISED), ...Object.keys(ABSENT), "ERR_UNEXPECTED"].sort();
  expect(named).toEqual(Object.keys(ERRORS).sort());
});

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}

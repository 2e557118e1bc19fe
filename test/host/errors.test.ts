/** Each code of the table is raised by what it is for. */
import { appendFileSync } from "node:fs";
import process from "node:process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ErrorCode, ERRORS, errorToJson, exitCodeOf, SallyportError } from "../../permissions/mod.ts";
import { planConfinement } from "../../runtime/mod.ts";
import { runCli } from "../../src/cli/mod.ts";
import { refuseNotLive } from "../../src/plugin_state.ts";
import type { Capability } from "../../src/surfaces/mod.ts";
import {
  createHost,
  memoryAudit,
  memoryQuarantineStore,
  ResourceRoots,
  type TenantOptions,
} from "../../src/mod.ts";
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

/** Starts a plugin with this lifecycle code. */
async function begin(code: string, signal?: AbortSignal) {
  const plugin = pluginOf("raiser", { go: GO }, {
    head: 'lifecycle: { activate: "main.ts:activate" }\n',
    files: { "main.ts": `export const activate = (context) => { ${code} };` },
  });
  const tenant = await approved(host, `o${count++}`, { plugins: [plugin] });
  await tenant.activate("raiser", signal === undefined ? {} : { signal });
}

function resources(): ResourceRoots {
  return ResourceRoots.capture([{ id: "root", directory: pluginOf("raiser", { go: GO }) }]);
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
  ERR_TRUST_DISABLED: async () => {
    const tenant = await approved(host, `o${count++}`, { plugins: [pluginOf("raiser", { go: GO })] });
    await tenant.disable("raiser");
    await tenant.call("go", {});
  },
  ERR_RESOURCE_PATH: () => resources().read("../x"),
  ERR_RESOURCE_NOT_FOUND: () => resources().readStrict("root", "none"),
  ERR_RESOURCE_REFUSED: () => resources().read("tools"),
  ERR_CAPABILITY_NOT_DECLARED: () => begin("context.register('tools', 'none', () => 1);"),
  ERR_ACTIVATION_ROLLBACK_FAILED: () =>
    begin("context.onDispose(() => { throw new Error(); }); throw new Error();"),
  ERR_ACTIVATION_CANCELLED: () => begin("", AbortSignal.abort()),
  ERR_STALE_GENERATION: async () => {
    const tenant = await approved(host, `o${count++}`, { plugins: [pluginOf("raiser", { go: GO })] });
    const handle = await tenant.handle("go");
    await tenant.reload();
    await handle.call({});
  },
  ERR_TRUST_INCOMPATIBLE: () =>
    approve(only(pluginOf("raiser", { go: GO }, { head: 'sallyport: ">=99"\n' })), "raiser"),
  ERR_COLLISION: () =>
    approved(host, `o${count++}`, {
      plugins: ["one", "two"].map((name) => pluginOf(name, { go: GO })),
      naming: "bare",
    }),
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
  // Every surface of this version is live, so no plugin meets it; a reader of an older version may.
  ERR_CAPABILITY_NOT_LIVE: async () => {
    const { capabilities: [go] } = await only(pluginOf("raiser", { go: GO })).facts("raiser");
    // The cast holds: facts are of capabilities as they were loaded.
    refuseNotLive({ ...go as Capability, surface: "future" });
  },
  ERR_CAPABILITY_INPUT_INVALID: () => call(GO, "", []),
  ERR_ACTIVATION_FAILED: () => call("export const other = 1;"),
  ERR_BLOCKED: async () => {
    const hook = 'export const no = () => ({ decision: "block", reason: "no" });';
    const plugin = pluginOf("raiser", { go: GO }, { files: { "no.ts": hook } });
    appendFileSync(
      join(plugin, "plugin.yaml"),
      '  hooks: { PreToolUse: [{ hooks: [{ type: module, target: "no.ts:no" }] }] }\n',
    );
    await (await approved(host, `o${count++}`, { plugins: [plugin] })).call("go", {});
  },
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
  ERR_LIMIT_CPU: async () => {
    const plugins = [pluginOf("raiser", { go: "export const go = () => { for (;;); };" })];
    const policy = { limits: { cpuMs: 200 } };
    const tenant = await approved(host, `o${count++}`, { plugins, policy });
    await tenant.call("go", {});
  },
  ERR_TRUST_QUARANTINED: async () => {
    const quarantine = memoryQuarantineStore();
    const own = await hosted({ quarantine });
    const tenant = own.tenant("acme", { plugins: [pluginOf("raiser", { go: HANG })] });
    const fingerprint = await approve(tenant, "raiser");
    await quarantine.put({ tenant: "acme", plugin: "raiser", fingerprint, deaths: 3, since: "2026-01-01" });
    await tenant.call("go", {});
  },
  ERR_WORKER_LOST: async () => {
    const own = await hosted();
    const tenant = await approved(own, "acme", { plugins: [pluginOf("raiser", { go: HANG })] });
    const lost = tenant.call("go", {});
    lost.catch(() => {});
    // One that is killed before the call has begun in it is replaced without a word.
    const killer = setInterval(async () => {
      for (const pid of await own.workerPids()) process.kill(pid, "SIGKILL");
    }, 500);
    await lost.finally(() => clearInterval(killer));
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

test("every code of the table is raised here", () => {
  const named = [...Object.keys(RAISED), "ERR_UNEXPECTED"].sort();
  expect(named).toEqual(Object.keys(ERRORS).sort());
});

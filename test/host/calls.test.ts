import { expect, test } from "vitest";
import { limitsOf } from "../../src/policy.ts";
import { createHost, memoryAudit } from "../../src/mod.ts";
import { approve, approved, failureOf, hosted, pluginOf, temporary, until } from "./support.ts";

const host = await hosted();
let count = 0;
const tenantOf = (...plugins: string[]) => approved(host, `t${count++}`, { plugins });

test("[R07] a call is bounded at five minutes by default; manifest and policy lower it, neither raises the other", () => {
  expect(limitsOf({}, {}).wallMs).toBe(5 * 60_000);
  expect(limitsOf({ wallMs: 1_000 }, {}).wallMs).toBe(1_000);
  expect(limitsOf({ wallMs: 3_000_000 }, {}).wallMs).toBe(5 * 60_000);
  expect(limitsOf({ wallMs: 9_000 }, { limits: { wallMs: 2_000 } }).wallMs).toBe(2_000);
  expect(limitsOf({ wallMs: 600_000 }, { limits: { wallMs: 600_000 } }).wallMs).toBe(600_000);
  expect(limitsOf({ memoryMb: 512 }, { limits: { memoryMb: 1_000_000 } }).memoryMb).toBeLessThanOrEqual(
    4_096,
  );
});

test("[R07] the bound is told to the plugin, and held", async () => {
  const code = "export const go = (_input, context) => context.deadline - Date.now();";
  const tenant = await tenantOf(
    pluginOf("asked", { go: code }, { head: "limits: { wallMs: 7000 }\n" }),
    pluginOf("silent", { go: code }),
  );
  const asked = await tenant.call("plugin__asked__go", {}) as number;
  expect(asked).toBeGreaterThan(3_000);
  expect(asked).toBeLessThanOrEqual(7_000);
  const silent = await tenant.call("plugin__silent__go", {}) as number;
  expect(silent).toBeGreaterThan(290_000);
  expect(silent).toBeLessThanOrEqual(300_000);
  const hung = await tenantOf(
    pluginOf("hung", { go: "export const go = () => new Promise(() => {});" }, {
      head: "limits: { wallMs: 1500 }\n",
    }),
  );
  const started = performance.now();
  const error = await failureOf(hung.call("go", {}));
  expect([error.code, error.details.wallMs]).toEqual(["ERR_LIMIT_WALL", 1_500]);
  expect(performance.now() - started).toBeLessThan(3_500);
});

test("[A18] two plugins that both declare `echo` are both callable by their full ids", async () => {
  const tenant = await tenantOf(
    pluginOf("one", { echo: "export const echo = ({ text }) => `one ${text}`;" }),
    pluginOf("two", { echo: "export const echo = ({ text }) => `two ${text}`;" }),
  );
  expect(await tenant.call("plugin__one__echo", { text: "x" })).toBe("one x");
  expect(await tenant.call("plugin__two__echo", { text: "x" })).toBe("two x");
});

test("[A20][A21] a bare name is resolved when one capability has it, and is ambiguous when several have", async () => {
  const one = pluginOf("one", {
    echo: "export const echo = () => 'one';",
    only: "export const only = () => 'o';",
  });
  const two = pluginOf("two", { echo: "export const echo = () => 'two';" });
  const tenant = host.tenant("names", { plugins: [one, two] });
  await tenant.expose(["only"]);
  expect((await tenant.list())[0]!.capabilities.map(({ exposed }) => exposed)).toEqual([false, true]);
  const expose = await failureOf(tenant.expose(["only", "echo"]));
  expect(expose.code).toBe("ERR_NAME_AMBIGUOUS");
  for (const id of ["plugin__one__echo", "plugin__two__echo"]) expect(expose.message).toContain(id);
  for (const name of ["one", "two"]) await approve(tenant, name);
  const call = await failureOf(tenant.call("echo", {}));
  expect([call.code, call.details.candidates]).toEqual([
    "ERR_NAME_AMBIGUOUS",
    ["plugin__one__echo", "plugin__two__echo"],
  ]);
  expect(await tenant.call("only", {})).toBe("o");
});

test("[A20] of several, a bare name means the one that is exposed", async () => {
  const tenant = host.tenant("gates", {
    plugins: [
      pluginOf("one", { echo: "export const echo = () => 'one';" }),
      pluginOf("two", { echo: "export const echo = () => 'two';" }),
    ],
  });
  for (const name of ["one", "two"]) {
    const { hash } = await tenant.fingerprint(name);
    await tenant.trust(name, { fingerprint: hash, approver: "test" });
  }
  await tenant.expose(["plugin__two__echo"]);
  expect(await tenant.call("echo", {})).toBe("two");
});

test("[A11] trusting exposes nothing, and exposing trusts nothing", async () => {
  const tenant = host.tenant("gate", { plugins: [pluginOf("gated", { go: "export const go = () => 1;" })] });
  const { hash } = await tenant.fingerprint("gated");
  await tenant.expose(["go"]);
  expect((await failureOf(tenant.call("go", {}))).code).toBe("ERR_TRUST_UNKNOWN");
  const other = host.tenant("gate2", { plugins: [pluginOf("gated", { go: "export const go = () => 1;" })] });
  expect((await other.fingerprint("gated")).hash).toBe(hash);
  await other.trust("gated", { fingerprint: hash, approver: "test" });
  expect((await failureOf(other.call("go", {}))).code).toBe("ERR_CAPABILITY_NOT_EXPOSED");
  await other.expose(["go"]);
  expect(await other.call("go", {})).toBe(1);
});

test("[R36] an unknown id lists what there is", async () => {
  const tenant = await tenantOf(pluginOf("known", { go: "export const go = () => 1;" }));
  const error = await failureOf(tenant.call("plugin__known__gone", {}));
  expect(error.code).toBe("ERR_CAPABILITY_UNKNOWN");
  expect(error.message).toContain("plugin__known__go");
});

test("of two plugins with one name that nobody has trusted, the name means neither, and others run", async () => {
  const [first, second] = [1, 2].map((n) => pluginOf("twin", { go: `export const go = () => ${n};` }));
  const tenant = host.tenant("twins", {
    plugins: [first!, second!, pluginOf("other", { go: "export const go = () => 3;" })],
  });
  expect((await tenant.list()).map(({ state }) => state)).toEqual(["untrusted", "untrusted", "untrusted"]);
  const { hash } = await tenant.fingerprint("twin");
  const error = await failureOf(tenant.trust("twin", { fingerprint: hash, approver: "test" }));
  expect(error.code).toBe("ERR_NAME_AMBIGUOUS");
  for (const directory of [first!, second!]) expect(error.message).toContain(directory);
  await approve(tenant, "other");
  expect(await tenant.call("plugin__other__go", {})).toBe(3);
});

test("closing twice gives the same promise, and nothing is served afterwards", async () => {
  const audit = memoryAudit();
  const closing = await createHost({ confinement: "best", home: temporary(), audit: () => audit });
  const tenant = await approved(closing, "acme", {
    plugins: [pluginOf("last", { go: "export const go = () => 1;" })],
  });
  expect(await tenant.call("go", {})).toBe(1);
  const closed = closing.close();
  expect(closing.close()).toBe(closed);
  await closed;
  const events = audit.events.length;
  expect((await failureOf(tenant.call("go", {}))).code).toBe("ERR_HOST_CLOSED");
  expect(audit.events).toHaveLength(events);
  expect(() => closing.tenant("next", { plugins: [] })).toThrow(
    expect.objectContaining({ code: "ERR_HOST_CLOSED" }),
  );
});

test("a close during calls ends each of them as closed, and leaves a log that was written to the end", async () => {
  const closing = await createHost({ confinement: "best", home: temporary() });
  const tenant = await approved(closing, "acme", {
    plugins: [pluginOf("busy", {
      hang: "export const hang = () => new Promise(() => {});",
      fresh: "export const fresh = () => 1;",
    })],
  });
  const calls = [tenant.call("hang", {}), tenant.call("hang", {})].map(failureOf);
  await new Promise((resume) => setTimeout(resume, 400));
  calls.push(failureOf(tenant.call("fresh", {})));
  await closing.close();
  const codes = (await Promise.all(calls)).map(({ code }) => code);
  expect(codes).toEqual(["ERR_HOST_CLOSED", "ERR_HOST_CLOSED", "ERR_HOST_CLOSED"]);
});

test("a close during the first bundle ends it as closed", async () => {
  const closing = await createHost({ confinement: "best", home: temporary() });
  const tenant = closing.tenant("acme", {
    plugins: [pluginOf("young", { go: "export const go = () => 1;" })],
  });
  await tenant.list();
  const pinning = failureOf(tenant.fingerprint("young"));
  await closing.close();
  expect((await pinning).code).toBe("ERR_HOST_CLOSED");
  expect((await failureOf(tenant.fingerprint("young"))).code).toBe("ERR_HOST_CLOSED");
});

test("`await using` leaves no process behind", async () => {
  let pids: number[] = [];
  {
    await using scoped = await createHost({ confinement: "best", home: temporary() });
    const tenant = await approved(scoped, "acme", {
      plugins: [pluginOf("scoped", { go: "export const go = () => 1;" })],
    });
    await tenant.call("go", {});
    pids = await scoped.workerPids();
    expect(pids).toHaveLength(1);
    expect(isThere(pids[0]!)).toBe(true);
  }
  await until(() => !isThere(pids[0]!));
});

test("a call is cancelled by its signal, and the next one is served", async () => {
  const tenant = await tenantOf(pluginOf("patient", {
    go: "export const go = ({ forever }) => forever ? new Promise(() => {}) : 'here';",
  }));
  const error = await failureOf(tenant.call("go", { forever: true }, { signal: AbortSignal.timeout(500) }));
  expect(error.code).toBe("ERR_CALL_CANCELLED");
  expect(await tenant.call("go", {})).toBe("here");
});

test("a tenant's id is checked, and taken once", () => {
  expect(() => host.tenant("../x", { plugins: [] })).toThrow(expect.objectContaining({ code: "ERR_USAGE" }));
  host.tenant("once", { plugins: [] });
  expect(() => host.tenant("once", { plugins: [] })).toThrow(expect.objectContaining({ code: "ERR_USAGE" }));
});

test("a loader that fails is asked again at the next question", async () => {
  let fails = true;
  const directory = pluginOf("later", { go: "export const go = () => 1;" });
  const tenant = host.tenant("later", {
    plugins: {
      load: () =>
        fails
          ? Promise.reject(new Error("the disk was away"))
          : Promise.resolve([{ directory, origin: "own" }]),
    },
  });
  expect((await failureOf(tenant.list())).message).toBe("the disk was away");
  fails = false;
  expect(await tenant.list()).toHaveLength(1);
});

test("input beyond an object, and schemas that cannot be checked yet, are refused before anything runs", async () => {
  const plain = await tenantOf(pluginOf("plain", { go: "export const go = () => 1;" }));
  for (const input of [null, 1, "text", [1]]) {
    expect((await failureOf(plain.call("go", input))).code).toBe("ERR_CAPABILITY_INPUT_INVALID");
  }
  expect(await plain.call("go", {})).toBe(1);
});

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

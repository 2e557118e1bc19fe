/** What stands at a blocking point and gives no answer blocks, whatever became of it; only the tenant's policy says otherwise (T11). */
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  directoryLoader,
  type Host,
  memoryAudit,
  settingsTrustStore,
  type Tenant,
  type TenantOptions,
} from "../../src/mod.ts";
import { opened, standing } from "./points_support.ts";
import { approve, failureOf, hosted, refusalOf, temporary, until } from "./support.ts";

const ECHO = "plugin__notes__echo";
const SEES = `{ observe: ["tool.input notes", "tool.output notes"] }`;
const OPEN = { permissions: { observe: true, intercept: true } } as const;

const notes = (under?: string) => standing("notes", { tools: { echo: "return input;" } }, under);

const guard = (code: string, more = "", under?: string) =>
  standing("guard", { permissions: SEES, more, guards: [{ name: "g", on: "[tool.input]", code }] }, under);

const KILL = "new Array(1e9).fill(0);";
const ASK = `if (event.input.stop) return { decision: "block", reason: "stop" };`;

describe("[T11] a guardrail that gives no answer", { timeout: 120_000 }, () => {
  test.each([
    ["throws", `throw new Error("mine");`, "", "ERR_GUEST_THREW"],
    ["never answers", `await new Promise(() => {});`, "limits: { wallMs: 4000 }\n", "ERR_LIMIT_WALL"],
    ["loops", `for (;;);`, "limits: { wallMs: 4000 }\n", "ERR_LIMIT_WALL"],
    ["answers too much", `return "x".repeat(9 * 1048576);`, "", "ERR_LIMIT_SIZE"],
    ["answers what is no verdict", `return { verdict: "continue" };`, "", "ERR_RESULT_INVALID"],
    ["answers a function", `return () => 1;`, "", "ERR_RESULT_INVALID"],
    [
      "takes too much memory",
      `const all = []; for (;;) all.push(new Array(1000).fill(all));`,
      "",
      "ERR_LIMIT_MEMORY",
    ],
    ["uses what it was not granted", `await Deno.readTextFile("/etc/hostname");`, "", "ERR_NOT_CAPABLE"],
  ])("that %s blocks, and its policy alone lets the same call pass", async (_how, code, more, expected) => {
    const make = () => guard(`if (event.input.bad) { ${code} }`, more);
    const { tenant, host, events } = await opened("a", [notes(), make()], OPEN);
    expect(await tenant.call(ECHO, { fine: 1 })).toEqual({ fine: 1 });
    const error = await failureOf(tenant.call(ECHO, { bad: 1 }));
    expect(error).toMatchObject({
      code: "ERR_BLOCKED",
      details: {
        by: "guard/g",
        plugin: "guard",
        point: "tool.input",
        answered: false,
        reason: null,
        code: expected,
      },
    });
    expect(error.message).toContain("gave no answer");
    const passing = (plugin: string) => ({ ...OPEN, onNoAnswer: { [plugin]: "continue" } } as const);
    const other = await opened("b", [notes(), make()], passing("other"), { host });
    expect((await failureOf(other.tenant.call(ECHO, { bad: 1 }))).code).toBe("ERR_BLOCKED");
    const own = await opened("c", [notes(), make()], passing("guard"), { host });
    expect(await own.tenant.call(ECHO, { bad: 1 })).toEqual({ bad: 1 });
    expect(events.filter(({ type }) => type === "intercept").at(-1)).toMatchObject({
      plugin: "guard",
      details: { verdict: "none", code: expected, policy: "continue" },
    });
    expect(host.weakenings).toEqual(
      ["other of b", "guard of c"].map((each) => {
        const [plugin, id] = each.split(" of ");
        return `what plugin "${plugin}" of tenant "${id}" guards passes when it gives no answer (onNoAnswer)`;
      }),
    );
  });

  test("that cannot be started blocks", async () => {
    const broken = guard(ASK, `lifecycle: { activate: "main.ts:activate" }\n`);
    writeFileSync(
      join(broken, "main.ts"),
      `export const activate = () => { throw new Error("no start"); };\n`,
    );
    const { tenant } = await opened("a", [notes(), broken], OPEN);
    expect((await failureOf(tenant.call(ECHO, {}))).details).toMatchObject({
      answered: false,
      code: expect.stringMatching(/^ERR_ACTIVATION_/),
    });
  });

  test("that is quarantined blocks until it is switched off", async () => {
    const { tenant } = await opened("a", [notes(), guard(`if (event.input.kill) ${KILL}`)], OPEN);
    for (let i = 0; i < 3; i++) {
      expect((await failureOf(tenant.call(ECHO, { kill: 1 }))).code).toBe("ERR_BLOCKED");
    }
    const state = async () => (await tenant.list()).find(({ name }) => name === "guard")?.state;
    for (let waited = 0; await state() !== "quarantined" && waited < 100; waited++) await until(() => true);
    expect((await failureOf(tenant.call(ECHO, {}))).details).toMatchObject({
      answered: false,
      code: "ERR_TRUST_QUARANTINED",
    });
    await tenant.disable("guard");
    expect(await tenant.call(ECHO, {})).toEqual({});
  });

  test("of which another plugin kills the worker is asked again, and that plugin cannot switch it off", async () => {
    const killer = standing("killer", { tools: { kill: KILL } });
    const { tenant } = await opened("a", [notes(), guard(ASK), killer], OPEN);
    expect(await tenant.call(ECHO, {})).toEqual({});
    for (let i = 0; i < 3; i++) await failureOf(tenant.call("kill", {}));
    expect((await failureOf(tenant.call(ECHO, { stop: true }))).details).toMatchObject({ answered: true });
    expect(await tenant.call(ECHO, {})).toEqual({});
  });
});

describe("[T11] a guardrail whose plugin was changed behind the tenant", { timeout: 120_000 }, () => {
  /** A tenant of a folder of plugins, with records in a store, as a process finds them. */
  async function kept(host: Host, id: string, root: string, home: string): Promise<Tenant> {
    const options: TenantOptions = {
      plugins: directoryLoader([{ directory: root, origin: "user" }]),
      store: settingsTrustStore(home),
      policy: OPEN,
    };
    return await Promise.resolve(host.tenant(id, options));
  }

  const EDITS: Readonly<Record<string, (directory: string) => void>> = {
    "its code was edited": (directory) => appendFileSync(join(directory, "guards/g.ts"), "// more\n"),
    "its manifest says no guardrail any more": (directory) =>
      writeFileSync(join(directory, "plugin.yaml"), 'name: guard\nversion: "1"\n'),
    "its manifest matches nothing any more": (directory) =>
      writeFileSync(
        join(directory, "plugin.yaml"),
        `name: guard\nversion: "1"\ncapabilities: { panels: [{ name: g, target: "guards/g.ts:run" }] }\n`,
      ),
    "its manifest cannot be read": (directory) => writeFileSync(join(directory, "plugin.yaml"), "name: [\n"),
    "it has another name": (directory) =>
      writeFileSync(join(directory, "plugin.yaml"), 'name: other\nversion: "1"\n'),
    "its manifest is gone": (directory) => rmSync(join(directory, "plugin.yaml")),
    "it is gone": (directory) => rmSync(directory, { recursive: true }),
  };

  test.each(Object.keys(EDITS))(
    "blocks where %s, at once and in the next process; what its owner does takes it out of force",
    async (edit) => {
      const [root, home] = [temporary(), join(temporary(), "home")];
      const first = await hosted({ audit: () => memoryAudit() });
      notes(root);
      const directory = guard(ASK, "", root);
      const tenant = await kept(first, "a", root, home);
      for (const name of ["notes", "guard"]) await approve(tenant, name);
      expect(await tenant.call(ECHO, {})).toEqual({});
      EDITS[edit]!(directory);
      const refused = await refusalOf(() => tenant.call(ECHO, {}));
      expect(refused).toMatchObject({ code: "ERR_BLOCKED", details: { plugin: "guard", answered: false } });
      await first.close();

      const second = await hosted({ audit: () => memoryAudit() });
      const again = await kept(second, "a", root, home);
      expect((await failureOf(again.call(ECHO, {}))).details).toMatchObject({
        by: "guard/g",
        answered: false,
        code: "ERR_TRUST_CHANGED",
      });
      await again.untrust(directory);
      expect(await again.call(ECHO, {})).toEqual({});
    },
  );

  test("that was put back is asked again", async () => {
    const [root, home] = [temporary(), join(temporary(), "home")];
    const host = await hosted({ audit: () => memoryAudit() });
    notes(root);
    const directory = guard(ASK, "", root);
    const tenant = await kept(host, "a", root, home);
    for (const name of ["notes", "guard"]) await approve(tenant, name);
    expect(await tenant.call(ECHO, {})).toEqual({});
    rmSync(join(directory, "guards/g.ts"));
    await refusalOf(() => tenant.call(ECHO, {}));
    guard(ASK, "", root);
    const isBack = async (): Promise<boolean> => await tenant.call(ECHO, {}).then(() => true, () => false);
    for (let tries = 0; !await isBack(); tries++) {
      if (tries > 200) throw new Error("it did not come back");
      await new Promise((resume) => setTimeout(resume, 20));
    }
    expect((await failureOf(tenant.call(ECHO, { stop: true }))).details).toMatchObject({ answered: true });
  });

  test("blocks the calls that it may see, and no others; one that is kept elsewhere is in force where it is looked for", async () => {
    const [root, home] = [temporary(), join(temporary(), "home")];
    const host = await hosted({ audit: () => memoryAudit() });
    notes(root);
    standing("free", { tools: { go: "return 1;" } }, root);
    const directory = guard(ASK, "", root);
    const tenant = await kept(host, "a", root, home);
    for (const name of ["notes", "free", "guard"]) await approve(tenant, name);
    appendFileSync(join(directory, "guards/g.ts"), "// more\n");
    await refusalOf(() => tenant.call(ECHO, {}));
    expect(await tenant.call("go", {})).toBe(1);
    await host.close();
    const other = await hosted({ audit: () => memoryAudit() });
    const elsewhere = other.tenant("a", {
      plugins: [join(root, "notes")],
      store: settingsTrustStore(home),
      policy: OPEN,
    });
    expect(await elsewhere.call(ECHO, { stop: true })).toEqual({ stop: true });
  });
});

/**
 * [T25] What an embedder adds with `definePermission` and `defineOp` is there wherever the built-in kinds are: in manifests,
 * flags, displays, refusals and the audit; and nowhere that it was not passed to.
 */
import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type AuditEvent,
  createHost,
  defineOp,
  definePermission,
  memoryAudit,
  patternKind,
  PowerError,
  settingsTrustStore,
  type Tenant,
  type TenantPolicy,
  type UsageError,
  wordKind,
} from "../../src/mod.ts";
import { runCli } from "../../src/cli/mod.ts";
import { approved, failureOf, hosted, pluginOf, temporary } from "./support.ts";

const toyBox = patternKind({
  name: "toyBox",
  doc: "Playing with the named toys; a name may end in one *.",
  noun: "the name of a toy",
  form: /[a-z]+(\.[a-z]+)*/,
  examples: ["ball", "car.*"],
  phrase: (value) => value === null ? "play with every toy" : `play with "${value}"`,
  isGrave: (entry) => entry !== "ball",
});

const play = defineOp<[toy: string, how?: unknown]>({
  name: "play",
  args: z.tuple([z.string().max(64), z.unknown().optional()]),
  requires: ([toy]) => [{ kind: "toyBox", value: toy }],
  act: async ([toy, how = null], { granted }) => ({ toy, how, proof: granted[0]?.value }),
});
const countToys = defineOp<[]>({
  name: "countToys",
  args: z.tuple([]),
  free: "it tells a constant",
  act: async () => 3,
});
const fail = defineOp<[]>({
  name: "fail",
  args: z.tuple([]),
  free: "it only fails",
  act: async () => Promise.reject(new Error("at /srv/own/place")),
});
const miss = defineOp<[]>({
  name: "miss",
  args: z.tuple([]),
  free: "it only fails",
  act: async () => Promise.reject(new PowerError("NotFound", "ENOTOY", "There is no such toy")),
});
const ADDED = { permissions: [toyBox], ops: [play, countToys, fail, miss] };

const TOOL = "export const play = ({ toy, how }, { host }) => host.play(toy, how);";
const ASKS = 'permissions: { toyBox: { allow: ["ball", "car.*"], deny: ["car.red"] } }\n';
const ALL: TenantPolicy = { permissions: { toyBox: true } };

async function toyTenant(
  { tools = { play: TOOL }, head = ASKS, policy = ALL }: {
    readonly tools?: Readonly<Record<string, string>>;
    readonly head?: string;
    readonly policy?: TenantPolicy;
  } = {},
): Promise<{ readonly tenant: Tenant; readonly events: readonly AuditEvent[] }> {
  const audit = memoryAudit();
  const host = await hosted({ ...ADDED, audit: () => audit });
  const tenant = await approved(host, "acme", { plugins: [pluginOf("toys", tools, { head })], policy });
  return { tenant, events: audit.events };
}

describe("an op of the embedder's", () => {
  test("acts where the kind is granted, on JSON values, and is audited under both names", async () => {
    const { tenant, events } = await toyTenant();
    expect(await tenant.call("play", { toy: "car.blue", how: { fast: [1, null] } })).toEqual({
      toy: "car.blue",
      how: { fast: [1, null] },
      proof: "car.blue",
    });
    expect(events.filter(({ type }) => type === "op")).toMatchObject([
      { op: "play", kind: "toyBox", value: "car.blue", decision: "granted", plugin: "toys" },
    ]);
  });

  test("is refused with rule and remedy, by a deny whatever allows it, and the guest learns neither", async () => {
    const caught = "export const play = async ({ toy }, { host }) => { try { await host.play(toy); } " +
      "catch (error) { const { name, message, code, kind, value } = error; return { name, message, code, kind, value }; } };";
    const { tenant, events } = await toyTenant();
    const lacking = await failureOf(tenant.call("play", { toy: "doll" }));
    expect(lacking).toMatchObject({
      code: "ERR_NOT_CAPABLE",
      message: expect.stringContaining('Plugin "toys" may not play with "doll"'),
      details: {
        kind: "toyBox",
        value: "doll",
        rule: "no entry of manifest permissions.toyBox covers it",
        remedy: 'Its author adds the line toyBox: ["doll"] under permissions in plugin.yaml.',
      },
    });
    const carved = await failureOf(tenant.call("play", { toy: "car.red" }));
    expect(carved.details).toMatchObject({ rule: 'manifest permissions.toyBox.deny[0] "car.red"' });
    expect(events.filter(({ type }) => type === "op")).toMatchObject([
      { op: "play", kind: "toyBox", value: "doll", decision: "denied" },
      { op: "play", kind: "toyBox", value: "car.red", decision: "denied" },
    ]);
    const { tenant: other } = await toyTenant({ tools: { play: caught } });
    const facts = await other.call("play", { toy: "car.red" });
    expect(facts).toMatchObject({
      name: "NotCapable",
      code: "ERR_NOT_CAPABLE",
      kind: "toyBox",
      value: "car.red",
    });
    expect(JSON.stringify(facts)).not.toMatch(/manifest|deny|remedy/);
  });

  test("is refused by the policy's ceiling, and by a policy that says nothing of the kind", async () => {
    const { tenant } = await toyTenant({ policy: { permissions: { toyBox: ["ball"] } } });
    expect(await tenant.call("play", { toy: "ball" })).toMatchObject({ toy: "ball" });
    const { details } = await failureOf(tenant.call("play", { toy: "car.blue" }));
    expect(details).toMatchObject({ rule: "no entry of policy permissions.toyBox covers it" });
    const { tenant: bare } = await toyTenant({ policy: {} });
    expect((await failureOf(bare.call("play", { toy: "ball" }))).details).toMatchObject({
      rule: "policy does not mention toyBox",
    });
  });

  test("with a reason to be free needs no grant; its own failures tell no more than a PowerError does", async () => {
    const tools = {
      count: "export const count = (_input, { host }) => host.countToys();",
      fail: "export const fail = (_input, { host }) => host.fail();",
      miss: "export const miss = (_input, { host }) => host.miss();",
    };
    const { tenant, events } = await toyTenant({ tools, head: "", policy: {} });
    expect(await tenant.call("count", {})).toBe(3);
    expect((await failureOf(tenant.call("miss", {}))).message).toContain("There is no such toy");
    const broken = await failureOf(tenant.call("fail", {}));
    expect(broken.code).toBe("ERR_GUEST_THREW");
    expect(broken.message).not.toContain("/srv/own/place");
    expect(events.filter(({ type }) => type === "op")).toEqual([]);
  });

  test("takes only the arguments of its schema, and values that are JSON", async () => {
    const tools = {
      wrong: "export const wrong = (_input, { host }) => host.play(7);",
      cyclic:
        "export const cyclic = (_input, { host }) => { const a = {}; a.a = a; return host.play('ball', a); };",
      many: "export const many = (_input, { host }) => host.countToys(1, 2, 3);",
    };
    const { tenant, events } = await toyTenant({ tools });
    expect((await failureOf(tenant.call("wrong", {}))).message).toContain('Invalid arguments of "play"');
    expect((await failureOf(tenant.call("cyclic", {}))).message).toContain("circular");
    expect((await failureOf(tenant.call("many", {}))).message).toContain('Invalid arguments of "countToys"');
    expect(events.filter(({ type }) => type === "op")).toEqual([]);
  });

  test("stands on a frozen context.host that lists the embedder's ops and no others", async () => {
    const look = "export const look = (_input, context) => ({ names: Object.keys(context.host), proto: " +
      "Object.getPrototypeOf(context.host), frozen: [context, context.host, context.host.play].map(Object.isFrozen) });";
    const { tenant } = await toyTenant({ tools: { look }, head: "" });
    expect(await tenant.call("look", {})).toEqual({
      names: ["play", "countToys", "fail", "miss"],
      proto: null,
      frozen: [true, true, true],
    });
  });

  test("[T03] never reaches Sallyport's own state by a kind whose values are paths", async () => {
    const path = z.string().max(4_096);
    const vault = definePermission({
      ...wordKind({ name: "vault", doc: "Opening the named vaults." }),
      namesPaths: true,
    });
    const open = defineOp<[path: string]>({
      name: "openVault",
      args: z.tuple([path]),
      requires: ([value]) => [{ kind: "vault", value }],
      act: async ([value]) => value,
    });
    const home = join(realpathSync(temporary()), "home");
    const host = await hosted({ permissions: [vault], ops: [open], home });
    const code = "export const open = ({ path }, { host }) => host.openVault(path);";
    const plugins = [pluginOf("vaults", { open: code }, { head: "permissions: { vault: true }\n" })];
    const tenant = await approved(host, "acme", { plugins, policy: { permissions: { vault: true } } });
    expect(await tenant.call("open", { path: "/srv/vault" })).toBe("/srv/vault");
    const refusal = await failureOf(tenant.call("open", { path: join(home, "audit") }));
    expect(refusal.details).toMatchObject({ kind: "vault", rule: expect.stringContaining("built-in deny") });
  });

  test("is asked about as any other, by Deno.permissions", async () => {
    const ask =
      "export const ask = async () => Promise.all(['ball', 'car.red', 'doll', undefined].map(async (kind) => " +
      "(await Deno.permissions.query({ name: 'toyBox', kind })).state));";
    const { tenant } = await toyTenant({ tools: { ask } });
    expect(await tenant.call("ask", {})).toEqual(["granted", "denied", "denied", "denied"]);
  });

  test("runs under a capability's own subset of the plugin's request", async () => {
    const directory = pluginOf("toys", { play: TOOL }, { head: ASKS });
    const entry = (name: string, permissions: string) =>
      `    - { name: ${name}, target: "tools/play.ts:play", input: { type: object }${permissions} }\n`;
    const write = (permissions: string) =>
      writeFileSync(
        join(directory, "plugin.yaml"),
        `name: toys\nversion: "1.0.0"\n${ASKS}capabilities:\n  tools:\n${entry("all", "")}${
          entry("few", permissions)
        }`,
      );
    write(', permissions: { toyBox: ["car.blue"] }');
    const host = await hosted(ADDED);
    const tenant = await approved(host, "acme", { plugins: [directory], policy: ALL });
    expect(await tenant.call("few", { toy: "car.blue" })).toMatchObject({ toy: "car.blue" });
    expect(await tenant.call("all", { toy: "ball" })).toMatchObject({ toy: "ball" });
    expect((await failureOf(tenant.call("few", { toy: "ball" }))).details).toMatchObject({
      kind: "toyBox",
      rule: expect.stringContaining("capability"),
    });
    write(', permissions: { toyBox: ["doll"] }');
    const [row] = await (await hosted(ADDED)).tenant("acme", { plugins: [directory] }).list();
    expect(row).toMatchObject({
      state: "invalid",
      reason: expect.stringContaining("$.capabilities.tools[1].permissions.toyBox: must not ask for more"),
    });
  });
});

test("are named once: the host tells its trust store of them, and one without them believes no record that grants them", async () => {
  const home = join(temporary(), "home");
  const directory = pluginOf("toys", { play: TOOL }, { head: ASKS });
  const store = settingsTrustStore(home);
  const options = { plugins: [directory], policy: ALL, store };
  const tenant = (await hosted({ ...ADDED, home })).tenant("acme", options);
  const { hash } = await tenant.fingerprint("toys");
  await tenant.trust("toys", { fingerprint: hash, approver: "test", expose: ["play"] });
  expect(await tenant.call("play", { toy: "ball" })).toMatchObject({ toy: "ball" });
  expect((await store.list("acme")).map(({ isSound }) => isSound)).toEqual([false]);
});

describe("two hosts of one process", () => {
  test("do not see each other's kinds, in manifests, policies or guests", async () => {
    const directory = pluginOf("toys", { play: TOOL }, { head: ASKS });
    const [with_, without] = [await hosted(ADDED), await hosted()];
    expect(
      await (await approved(with_, "acme", { plugins: [directory], policy: ALL })).call("play", {
        toy: "ball",
      }),
    )
      .toMatchObject({ toy: "ball" });
    const [row] = await without.tenant("acme", { plugins: [directory] }).list();
    expect(row).toMatchObject({
      state: "invalid",
      reason: expect.stringContaining('$.permissions.toyBox: "toyBox" is no kind of permission'),
    });
    const plain = { plugins: [pluginOf("plain", { play: TOOL })] };
    const tenant = without.tenant("bare", plain);
    const { hash } = await tenant.fingerprint("plain");
    await tenant.trust("plain", { fingerprint: hash, approver: "test", expose: ["play"] });
    expect((await failureOf(tenant.call("play", { toy: "ball" }))).message).toContain("is not a function");
    const strict = without.tenant("strict", { ...plain, policy: ALL });
    const refusal = await failureOf(strict.trust("plain", { fingerprint: hash, approver: "test" }));
    expect(refusal).toMatchObject({
      code: "ERR_USAGE",
      message: expect.stringContaining("permissions.toyBox"),
    });
  });
});

describe("createHost refuses", () => {
  const refusal = async (options: Parameters<typeof createHost>[0]): Promise<UsageError> =>
    await failureOf(createHost({ confinement: "best", home: join(temporary(), "home"), ...options }));
  const named = (name: string) => ({ ...countToys, name });
  test.each([
    ["a kind of a built-in name", {
      permissions: [wordKind({ name: "toy", doc: "A." }), { ...toyBox, name: "net" }],
    }, "net"],
    ["two kinds of one name", { permissions: [toyBox, { ...toyBox }] }, "toyBox"],
    ["an op of a built-in name", { ops: [named("read_file")] }, "read_file"],
    ["an op of a built-in kind's name", { ops: [named("net")] }, "net"],
    ["an op of an added kind's name", { permissions: [toyBox], ops: [named("toyBox")] }, "toyBox"],
    ["two ops of one name", { ops: [countToys, named("countToys")] }, "countToys"],
    ["an op that would make its object a promise", { ops: [named("then")] }, "then"],
    ["an op whose name is none", { ops: [named("__proto__")] }, "__proto__"],
  ])("%s", async (_title, options, name) => {
    const error = await refusal(options);
    expect(error.code).toBe("ERR_USAGE");
    expect(error.message).toContain(`"${name}"`);
  });

  test("an op that says neither what it requires nor why it is free, however it was made", async () => {
    expect(() => defineOp({ name: "bare", args: z.tuple([]), act: async () => null })).toThrow(TypeError);
    const { free: _free, ...bare } = countToys;
    await expect(createHost({ confinement: "best", ops: [bare] })).rejects.toThrow(
      /either what it requires or why/,
    );
  });
});

describe("the command line", () => {
  interface Line {
    readonly exit: number;
    readonly out: string;
    readonly err: string;
    readonly json: unknown;
  }

  function terminal() {
    const lines = { out: [] as string[], err: [] as string[], json: undefined as unknown };
    return {
      lines,
      terminal: {
        out: (line: string) => void lines.out.push(line),
        err: (line: string) => void lines.err.push(line),
        json: (value: unknown) => void (lines.json = value),
        result: (text: string) => void lines.out.push(text),
        guest: (prefix: string | null, text: string) => void lines.err.push(`${prefix} | ${text}`),
      },
    };
  }

  const userHome = realpathSync(temporary());
  const cwd = realpathSync(temporary());

  async function sallyport(argv: readonly string[], added: Partial<typeof ADDED> = ADDED): Promise<Line> {
    const { lines, terminal: written } = terminal();
    const environment = { SALLYPORT_HOME: join(userHome, "state") };
    const exit = await runCli(argv, { terminal: written, cwd, environment, userHome, ...added });
    return { exit, out: lines.out.join("\n"), err: lines.err.join("\n"), json: lines.json };
  }

  const CALL = ["--input", '{"toy":"ball"}'];

  test("has a pair of flags of the kind, in help as in use, and only where it is there", async () => {
    const { out } = await sallyport(["run", "--help"]);
    expect(out).toContain("--allow-toy-box [entries]");
    expect(out).toContain("--deny-toy-box [entries]");
    expect(out.replaceAll(/\s+/g, " ")).toContain("Playing with the named toys");
    expect((await sallyport(["trust", "--help"])).out).toContain("--allow-toy-box [entries]");
    expect((await sallyport(["run", "--help"], {})).out).not.toContain("toy-box");
    const directory = pluginOf("toys", { play: TOOL }, { head: ASKS });
    expect(await sallyport(["run", directory, "--allow-toy-box"], {})).toMatchObject({ exit: 2 });
  });

  test("[T17] run --yes grants nothing grave of the kind but what the line names, and prints that line", async () => {
    const directory = pluginOf("toys", { play: TOOL }, { head: ASKS });
    const bare = await sallyport(["run", directory, "--yes", ...CALL]);
    expect(bare.exit).toBe(4);
    expect(bare.err).toContain("--allow-toy-box=ball '--allow-toy-box=car.*'");
    const given = await sallyport(["run", directory, "--yes", "--allow-toy-box=ball,car.*", ...CALL]);
    expect(given.err).not.toContain("error");
    expect(given).toMatchObject({ exit: 0, out: expect.stringContaining('"toy": "ball"') });
    const denied = await sallyport([
      "run",
      directory,
      "--yes",
      "--allow-toy-box",
      "--deny-toy-box=ball",
      ...CALL,
    ]);
    expect(denied).toMatchObject({ exit: 4, err: expect.stringContaining("leave --deny-toy-box=ball out") });
    const light = pluginOf("ball", { play: TOOL }, { head: 'permissions: { toyBox: ["ball"] }\n' });
    expect(await sallyport(["run", light, "--yes", ...CALL])).toMatchObject({ exit: 0 });
    const unreadable = await sallyport(["run", directory, "--yes", "--allow-toy-box=BALL", ...CALL]);
    expect(unreadable).toMatchObject({ exit: 2, err: expect.stringContaining("BALL") });
  });

  test("[T38] check, list, info and trust show what is asked, granted and grave, and the record keeps it", async () => {
    const directory = pluginOf("toys", { play: TOOL }, { head: ASKS, under: cwd });
    const checked = await sallyport(["check", directory]);
    expect(checked.out).toMatch(/asks for +allow toyBox car\.\*/);
    expect(checked.out).toMatch(/asks for +deny toyBox car\.red/);
    expect(checked.out).toMatch(/grave +toyBox car\.\*/);
    const [, fingerprint = ""] = /fingerprint +(sha256:[0-9a-f]+)/.exec(checked.out) ?? [];
    const listed = await sallyport(["list", directory, "--json"]);
    expect(listed.json).toMatchObject({
      value: { plugins: [{ permissions: { toyBox: { allow: ["ball", "car.*"] } } }] },
    });
    const asked = await sallyport(["trust", directory]);
    expect(asked).toMatchObject({ exit: 2, err: expect.stringContaining("--fingerprint") });
    const trusted = await sallyport([
      "trust",
      directory,
      "--yes",
      "--fingerprint",
      fingerprint,
      "--allow-toy-box=ball",
    ]);
    expect(trusted.exit).toBe(0);
    expect(trusted.out).toMatch(/It asks for:\n +allow toyBox ball\n +allow toyBox car\.\*/);
    expect(trusted.out).toMatch(/You would grant:\n +allow toyBox ball\n +deny toyBox car\.red/);
    const told = await sallyport(["info", directory]);
    expect(told.out).toMatch(/state +active/);
    expect(told.out).toMatch(/asks for +allow toyBox car\.\*/);
    expect(told.out).toMatch(/granted +allow toyBox ball/);
    expect(told.out).not.toMatch(/granted +allow toyBox car/);
    expect(await sallyport(["run", directory, ...CALL])).toMatchObject({ exit: 0 });
    const cut = await sallyport(["run", directory, "--input", '{"toy":"car.blue"}']);
    expect(cut).toMatchObject({ exit: 4, err: expect.stringContaining("trust it again with toyBox") });
    // A command line without the kind neither believes the record nor runs the plugin.
    expect(await sallyport(["run", directory, ...CALL], {})).toMatchObject({ exit: 3 });
  });

  test("explain tells the rule, discover the request that would have done", async () => {
    const directory = pluginOf("toys", { play: TOOL }, { head: ASKS });
    const granted = await sallyport(["explain", directory, "--toy-box=ball"]);
    expect(granted).toMatchObject({ exit: 0, out: expect.stringContaining('may play with "ball"') });
    expect((await sallyport(["explain", directory, "--toy-box=car.red", "--json"])).json).toMatchObject({
      value: { state: "denied", kind: "toyBox", rule: 'manifest permissions.toyBox.deny[0] "car.red"' },
    });
    const file = join(cwd, "found.ts");
    writeFileSync(file, "export default (input, { host }) => host.play(input.toy);");
    const { out: hash } = await sallyport(["run", file, "--lock"]);
    const ceiling = ["--ceiling-toy-box", "--fingerprint", hash];
    const found = await sallyport(["discover", file, ...ceiling, ...CALL]);
    expect(found.out + found.err).toMatch(/toyBox: *(\[ *"?ball"? *\]|\n *- "?ball)/);
  });

  test("checks a manifest's entries, and names the field", async () => {
    const head = 'permissions: { toyBox: ["ball", "BALL"] }\n';
    const { exit, err } = await sallyport(["check", pluginOf("toys", { play: TOOL }, { head })]);
    expect(exit).toBe(3);
    expect(err).toContain('$.permissions.toyBox[1]: "BALL" is not the name of a toy');
  });

  test("a script gets the ops as well, under its flags", async () => {
    const file = join(cwd, "toy.ts");
    writeFileSync(file, "export default (input, { host }) => host.play(input.toy);");
    const refused = await sallyport(["run", file, ...CALL]);
    expect(refused).toMatchObject({
      exit: 4,
      err: expect.stringContaining("Run again with --allow-toy-box=ball."),
    });
    expect(await sallyport(["run", file, "--allow-toy-box=ball", ...CALL])).toMatchObject({ exit: 0 });
  });

  test("names that are taken end it with a usage error, not a stack", async () => {
    const added = { permissions: [{ ...toyBox, name: "net" }], ops: [] };
    const { exit, err } = await sallyport(["list"], added);
    expect(exit).toBe(2);
    expect(err).toContain('Cannot add the permission "net"');
  });
});

/** Providers: the host's own, those of plugins, and the one that answers to everything else. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import {
  CapabilityError,
  directoryLoader,
  type HostProvider,
  type Loader,
  type ProviderOptions,
  type Tenant,
  type TenantOptions,
} from "../../src/mod.ts";
import { approve, approved, failureOf, hosted, temporary, until, write } from "./support.ts";

/** A plugin with providers, each said by `code`. */
function plugin(
  name: string,
  providers: Readonly<Record<string, string>>,
  under = temporary(),
  head = "",
): string {
  const directory = join(under, name);
  mkdirSync(directory, { recursive: true });
  const entries = Object.keys(providers).map((each) =>
    `    - { name: ${each}, target: "${each}.ts:provide" }\n`
  );
  write(directory, {
    "plugin.yaml": `name: ${name}\nversion: "1"\n${head}capabilities:\n  providers:\n${entries.join("")}`,
    ...Object.fromEntries(Object.entries(providers).map(([each, code]) => [`${each}.ts`, code])),
  });
  return directory;
}

const says = (word: string): string => `export async function* provide({ q }) { yield "${word}"; yield q; }`;

/** One of the host's own. */
function own(name: string, more: Partial<HostProvider> = {}): HostProvider {
  return {
    name,
    async *stream(input) {
      yield name;
      yield (input as { q: unknown }).q;
    },
    ...more,
  };
}

async function tenantOf(
  plugins: TenantOptions["plugins"],
  providers: ProviderOptions = {},
  more: Partial<TenantOptions> = {},
): Promise<Tenant> {
  return await approved(await hosted(), "t", { plugins, providers, ...more });
}

async function answer(tenant: Tenant, ref: string | null): Promise<unknown[]> {
  return await Array.fromAsync(tenant.providers.stream(ref, { q: 1 }));
}

describe("who answers to a name", () => {
  let scans = 0;
  let under = "";
  const counting: Loader = {
    get roots() {
      return [under];
    },
    load: async () => {
      scans += 1;
      return await directoryLoader([{ directory: under, origin: "test" }]).load();
    },
  };
  beforeEach(() => {
    scans = 0;
    under = temporary();
  });

  test("[L18] the host's own, then a plugin's, then the fallback, with one look at the plugins for all", async () => {
    plugin("maps", { atlas: says("atlas"), near: says("near") }, under);
    const providers = { builtin: [own("web")], fallback: own("any") };
    const tenant = (await hosted()).tenant("t", { plugins: counting, providers });
    expect(await tenant.providers.match("web")).toMatchObject({ ref: "web", kind: "builtin", plugin: null });
    expect(scans).toBe(0);
    // Nobody has approved it yet, so it answers to nothing.
    expect(await tenant.providers.match("atlas")).toMatchObject({ ref: "any", kind: "fallback" });
    expect(scans).toBe(1);
    await approve(tenant, "maps");
    const all = await Promise.all(
      ["atlas", "near", "atlas", "none", "web"].map((name) => tenant.providers.match(name)),
    );
    expect(all.map(({ ref }) => ref)).toEqual([
      "plugin/maps/atlas",
      "plugin/maps/near",
      "plugin/maps/atlas",
      "any",
      "web",
    ]);
    for (let times = 0; times < 20; times++) await tenant.providers.match(`nobody-${times}`);
    expect(scans).toBe(1);
    await tenant.hide(["plugin/maps/atlas"]);
    expect(await tenant.providers.match("atlas")).toMatchObject({ ref: "any" });
    expect(scans).toBe(1);
  });

  test("[L18] many who ask at once share the first look", async () => {
    plugin("maps", { atlas: says("atlas") }, under);
    const tenant = (await hosted()).tenant("t", { plugins: counting, providers: { fallback: own("any") } });
    await Promise.all(Array.from({ length: 50 }, (_, n) => tenant.providers.match(`name-${n}`)));
    expect(scans).toBe(1);
  });

  test("a plugin's is offered over the fallback, and never over one of the host's own", async () => {
    const tenant = await tenantOf([plugin("maps", { web: says("a plugin's"), atlas: says("atlas") })], {
      builtin: [own("web")],
      fallback: own("any"),
    });
    expect(await answer(tenant, (await tenant.providers.match("atlas")).ref)).toEqual(["atlas", 1]);
    expect(await answer(tenant, (await tenant.providers.match("web")).ref)).toEqual(["web", 1]);
    expect(await failureOf(answer(tenant, "plugin/maps/web"))).toMatchObject({ code: "ERR_COLLISION" });
    expect(await answer(tenant, (await tenant.providers.match("other")).ref)).toEqual(["any", 1]);
    const rows = await tenant.providers.list();
    expect(rows.map(({ ref, withheld }) => [ref, withheld !== null])).toEqual([
      ["web", false],
      ["plugin/maps/web", true],
      ["plugin/maps/atlas", false],
      ["any", false],
    ]);
  });

  test("[L36] of several plugins none answers, which shows when the name is first looked up, and not before", async () => {
    const tenant = await tenantOf([
      plugin("one", { find: says("one") }),
      plugin("two", { find: says("two") }),
    ], {
      fallback: own("any"),
    });
    expect((await tenant.list()).map(({ state }) => state)).toEqual(["active", "active"]);
    expect(await failureOf(tenant.providers.match("find"))).toMatchObject({
      code: "ERR_COLLISION",
      details: { owners: [{ plugin: "one" }, { plugin: "two" }] },
    });
    await tenant.disable("two");
    expect(await tenant.providers.match("find")).toMatchObject({ ref: "plugin/one/find" });
  });

  test("one of the host's own may answer to more names than its own, and so may its fallback to fewer", async () => {
    const tenant = await tenantOf([plugin("maps", { web: says("web") })], {
      builtin: [own("models", { matches: (name) => name.startsWith("m-") })],
      fallback: own("any", { matches: (name) => name !== "never" }),
    });
    const refs = await Promise.all(["m-1", "web", "x"].map((name) => tenant.providers.match(name)));
    expect(refs.map(({ ref }) => ref)).toEqual(["models", "plugin/maps/web", "any"]);
    expect(await failureOf(tenant.providers.match("never"))).toMatchObject({
      code: "ERR_CAPABILITY_UNKNOWN",
    });
  });
});

describe("the catalog", () => {
  test("[R38] has them all, of whichever kind, and any of them can be the default", async () => {
    const tenant = await tenantOf([plugin("maps", { atlas: says("atlas") })], {
      builtin: [own("web", { description: "the web" })],
      fallback: own("any"),
      default: "web",
    });
    const rows = await tenant.providers.list();
    expect(rows).toEqual([
      {
        ref: "web",
        name: "web",
        kind: "builtin",
        plugin: null,
        description: "the web",
        isDefault: true,
        withheld: null,
      },
      {
        ref: "plugin/maps/atlas",
        name: "atlas",
        kind: "plugin",
        plugin: "maps",
        description: null,
        isDefault: false,
        withheld: null,
      },
      {
        ref: "any",
        name: "any",
        kind: "fallback",
        plugin: null,
        description: null,
        isDefault: false,
        withheld: null,
      },
    ]);
    expect((await tenant.snapshot()).providers.map(({ id, live }) => [id, live])).toEqual([[
      "plugin/maps/atlas",
      true,
    ]]);
    for (const { ref, name } of rows) {
      await tenant.providers.setDefault(ref);
      expect((await tenant.providers.list()).filter(({ isDefault }) => isDefault).map((row) => row.ref))
        .toEqual([ref]);
      expect((await answer(tenant, null))[0]).toBe(name);
    }
  });

  test("[R36] what is not in it is refused with what is, by a typed error that keeps the one before it", async () => {
    const tenant = await tenantOf([plugin("maps", { atlas: says("atlas") })], { builtin: [own("web")] });
    for (const ref of ["wob", "plugin/maps/atlus", "plugin/none/x", "plugin__maps__atlas"]) {
      const error = await failureOf(answer(tenant, ref));
      expect(error).toBeInstanceOf(CapabilityError);
      expect(error).toMatchObject({
        code: "ERR_CAPABILITY_UNKNOWN",
        message: `Cannot use provider "${ref}": there are web, plugin/maps/atlas`,
        details: { available: ["web", "plugin/maps/atlas"] },
        cause: { code: "ERR_CAPABILITY_UNKNOWN" },
      });
    }
    expect(await failureOf(tenant.providers.setDefault("wob"))).toMatchObject({
      code: "ERR_CAPABILITY_UNKNOWN",
    });
    expect(await failureOf(answer(tenant, null))).toMatchObject({
      message: "Cannot use the default provider: none is set, and there are web, plugin/maps/atlas",
    });
    const empty = await tenantOf([]);
    expect(await failureOf(answer(empty, "x"))).toMatchObject({
      message: 'Cannot use provider "x": there are none',
    });
  });

  test("has names that are told apart", async () => {
    const host = await hosted();
    for (const builtin of [[own("a"), own("a")], [own("plugin/a/b")], [own("")]]) {
      expect(() => host.tenant("bad", { plugins: [], providers: { builtin } })).toThrow(
        /as a provider's name/,
      );
    }
    expect(() => host.tenant("bad", { plugins: [], providers: { builtin: [own("a")], fallback: own("a") } }))
      .toThrow(/as a provider's name/);
  });
});

describe("what a provider needs", () => {
  test("[R37] a credential, where it is the host's and says so; never a plugin's", async () => {
    const asked: string[] = [];
    const tenant = await tenantOf([plugin("maps", { atlas: says("atlas") })], {
      builtin: [own("keyed", { requiresKey: true }), own("lacking", { requiresKey: true }), own("free")],
      hasKey: (name) => (asked.push(name), name !== "lacking"),
    });
    expect(await answer(tenant, "plugin/maps/atlas")).toEqual(["atlas", 1]);
    expect(await answer(tenant, "free")).toEqual(["free", 1]);
    expect(asked).toEqual([]);
    expect(await answer(tenant, "keyed")).toEqual(["keyed", 1]);
    expect(await failureOf(answer(tenant, "lacking"))).toMatchObject({
      code: "ERR_USAGE",
      details: { provider: "lacking" },
    });
    expect(asked).toEqual(["keyed", "lacking"]);
  });

  test("approval and exposure, as everything of a plugin does; it is read, and not called", async () => {
    const directory = plugin("maps", { atlas: says("atlas") });
    const tenant = (await hosted()).tenant("t", { plugins: [directory] });
    expect(await failureOf(answer(tenant, "plugin/maps/atlas"))).toMatchObject({ code: "ERR_TRUST_UNKNOWN" });
    await approve(tenant, "maps");
    expect(await answer(tenant, "plugin/maps/atlas")).toEqual(["atlas", 1]);
    expect(await Array.fromAsync(tenant.stream("plugin/maps/atlas", { q: 2 }))).toEqual(["atlas", 2]);
    expect(await failureOf(tenant.call("plugin/maps/atlas", { q: 1 }))).toMatchObject({ code: "ERR_USAGE" });
    await tenant.hide(["plugin/maps/atlas"]);
    expect(await failureOf(answer(tenant, "plugin/maps/atlas"))).toMatchObject({
      code: "ERR_CAPABILITY_NOT_EXPOSED",
    });
    expect(await tenant.providers.list()).toEqual([]);
  });

  test("no target, where lifecycle code registers it", async () => {
    const directory = join(temporary(), "maps");
    write(directory, {
      "plugin.yaml": `name: maps
version: "1"
lifecycle: { activate: "main.ts:activate" }
capabilities:
  providers: [{ name: atlas }]
`,
      "main.ts":
        `export const activate = ({ register }) => register("providers", "atlas", function* ({ q }) { yield q; });`,
    });
    expect(await answer(await tenantOf([directory]), "plugin/maps/atlas")).toEqual([1]);
  });
});

describe("a provider's stream", () => {
  test("[R39] works at its first start; what was begun lives until it ends, whatever is built meanwhile", async () => {
    const code = "let n = 0; export async function* provide({ q }) { while (n < q) yield ++n; }";
    const tenant = await tenantOf([plugin("maps", { atlas: code })]);
    const old = tenant.providers.stream("plugin/maps/atlas", { q: 100 });
    const values = [(await old.next()).value];
    await tenant.reload();
    expect(await Array.fromAsync(tenant.providers.stream("plugin/maps/atlas", { q: 2 }))).toEqual([1, 2]);
    for await (const value of old) values.push(value);
    expect(values).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
  });

  test.each([
    ["throws", "yield 1; throw new Error('x');", "ERR_GUEST_THREW", false],
    ["loses its worker", "yield 1; await Deno.readTextFile('go'); yield 2;", "ERR_WORKER_LOST", true],
  ])(
    "ends by name when it %s in the middle, and says whether it may be asked again",
    async (_what, body, code, retryable) => {
      const host = await hosted();
      const directory = plugin(
        "maps",
        {
          atlas: `export async function* provide() { ${
            body.replace("await Deno.readTextFile('go')", "await new Promise(() => {})")
          } }`,
        },
      );
      const tenant = await approved(host, "t", { plugins: [directory] });
      const stream = tenant.providers.stream("plugin/maps/atlas", { q: 1 });
      expect(await stream.next()).toMatchObject({ value: 1 });
      const next = failureOf(stream.next());
      if (retryable) { for (const pid of await host.workerPids()) process.kill(pid, "SIGKILL"); }
      expect(await next).toMatchObject({ code, retryable });
      if (retryable) {
        expect((await tenant.providers.stream("plugin/maps/atlas", { q: 1 }).next()).value)
          .toBe(1);
      }
    },
  );

  test("of the host's own is read as slowly, left as cleanly and fails as plainly", async () => {
    let made = 0;
    let isLeft = false;
    const mine = new TypeError("mine");
    const tenant = await tenantOf([], {
      builtin: [
        own("endless", {
          async *stream() {
            try {
              for (;;) yield ++made;
            } finally {
              isLeft = true;
            }
          },
        }),
        own("fails", {
          async *stream() {
            yield 1;
            throw mine;
          },
        }),
        own("deaf", {
          stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }),
        }),
      ],
    });
    const endless = tenant.providers.stream("endless", {});
    expect((await endless.next()).value).toBe(1);
    await new Promise((resume) => setTimeout(resume, 50));
    expect(made).toBeLessThan(30);
    await endless.return();
    await until(() => isLeft);
    const fails = tenant.providers.stream("fails", {});
    await fails.next();
    await expect(fails.next()).rejects.toBe(mine);
    const deaf = tenant.providers.stream("deaf", {});
    const pending = deaf.next();
    await deaf.return();
    expect(await pending).toMatchObject({ done: true });
  });
});

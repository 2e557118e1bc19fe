/** [T03] Sallyport's own state is out of every grant's reach, under every name that it has. */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryAudit } from "../../src/mod.ts";
import { approve, failureOf, hosted, pluginOf, temporary } from "./support.ts";

const ALL = { read: true, write: true, run: true, storage: true } as const;
const TOOLS = {
  act: `export async function act({ calls }) {
    const told = {};
    for (const [name, ...args] of calls) {
      const key = name + " " + args[0];
      try { told[key] = (await Deno[name](...args)) ?? "done"; } catch (e) { told[key] = e.name; }
      if (typeof told[key] === "object") told[key] = "done";
    }
    return told;
  }`,
};

/** A host with a plugin that may do everything; `act` gives each call's outcome. */
async function setUp() {
  const root = realpathSync(temporary());
  const home = join(root, "home");
  const host = await hosted({ home, audit: () => memoryAudit() });
  const greedy = pluginOf("greedy", TOOLS, {
    head: "permissions: { read: true, write: true, storage: true }\n",
    under: root,
    files: { "own.txt": "own" },
  });
  const neighbour = pluginOf("neighbour", TOOLS, { under: root });
  const tenant = host.tenant("t", { policy: { permissions: ALL }, plugins: [greedy, neighbour] });
  await approve(tenant, "greedy");
  for (const path of STATE) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), "state");
  }
  const act = async (...calls: unknown[][]) =>
    await tenant.call("plugin__greedy__act", { calls }) as Record<string, string>;
  return { root, home, host, greedy, neighbour, tenant, act };
}

const STATE = [
  "settings.yaml",
  "audit.key",
  "keys/k",
  "storage/t.sqlite",
  "audit/x.jsonl",
  "cache/c",
  "plugins/other/plugin.yaml",
  "data/t/other/f",
];

/** Every way in which a guest can touch a path. */
function touches(path: string): unknown[][] {
  return [
    ["readTextFile", path],
    ["readFile", path],
    ["stat", path],
    ["lstat", path],
    ["writeTextFile", path, "x"],
    ["mkdir", path],
    ["remove", path, { recursive: true }],
    ["rename", path, "/tmp/elsewhere"],
  ];
}

async function expectSealed(act: (...calls: unknown[][]) => Promise<Record<string, string>>, path: string) {
  const told = await act(...touches(path));
  expect(told).toEqual(Object.fromEntries(touches(path).map(([name]) => [`${name} ${path}`, "NotCapable"])));
}

describe("[T03] by its own name", () => {
  test("every part of it, there or not yet, and its neighbours of the same names are free", async () => {
    const { home, root, act } = await setUp();
    const more = ["", "settings.yaml.tmp", "storage/t.sqlite-wal", "plugins", "plugins/new", "data/t"];
    for (const path of [...STATE, ...more]) {
      await expectSealed(act, join(home, path));
      const beside = join(root, "home-of-others", path, "x");
      expect(
        await act(["mkdir", dirname(beside), { recursive: true }], ["writeTextFile", beside, "x"], [
          "readTextFile",
          beside,
        ]),
      ).toEqual({
        [`mkdir ${dirname(beside)}`]: "done",
        [`writeTextFile ${beside}`]: "done",
        [`readTextFile ${beside}`]: "x",
      });
    }
    for (const path of STATE) expect(readFileSync(join(home, path), "utf8"), path).toBe("state");
  });

  test("a tree around it is neither removed nor moved", async () => {
    const { root, home, act } = await setUp();
    expect(
      await act(["remove", root, { recursive: true }], ["rename", root, root + "-moved"], ["remove", home]),
    ).toEqual({
      [`remove ${root}`]: "NotCapable",
      [`rename ${root}`]: "NotCapable",
      [`remove ${home}`]: "NotCapable",
    });
    expect(existsSync(join(home, "settings.yaml"))).toBe(true);
    mkdirSync(join(root, "free/deep"), { recursive: true });
    expect(await act(["remove", join(root, "free"), { recursive: true }])).toEqual({
      [`remove ${join(root, "free")}`]: "done",
    });
  });

  test("a plugin's folder is sealed for others and, but for reading, for itself", async () => {
    const { greedy, neighbour, act } = await setUp();
    for (
      const path of [
        neighbour,
        join(neighbour, "plugin.yaml"),
        join(neighbour, "new"),
        join(greedy, "..", "neighbour/tools"),
      ]
    ) {
      await expectSealed(act, path);
    }
    const own = join(greedy, "own.txt");
    expect(
      await act(["readTextFile", own], ["readTextFile", "own.txt"], ["writeTextFile", own, "x"], [
        "remove",
        own,
      ]),
    )
      .toEqual({
        [`readTextFile ${own}`]: "own",
        "readTextFile own.txt": "own",
        [`writeTextFile ${own}`]: "NotCapable",
        [`remove ${own}`]: "NotCapable",
      });
  });

  test("a plugin of another tenant is sealed as well, and so is a folder of plugins", async () => {
    const { host, root, act } = await setUp();
    const foreign = pluginOf("foreign", TOOLS, { under: join(root, "theirs") });
    await host.tenant("u", { plugins: [foreign] }).list();
    await expectSealed(act, join(foreign, "plugin.yaml"));
    const { directoryLoader } = await import("../../src/mod.ts");
    const folder = join(root, "many");
    mkdirSync(folder);
    host.tenant("v", { plugins: directoryLoader([{ directory: folder, origin: "user" }]) });
    await expectSealed(act, join(folder, "new-plugin"));
  });

  test("a project's .sallyport is sealed before it exists, for plugins and for scripts", async () => {
    const { root, host, act } = await setUp();
    const project = join(root, "project");
    mkdirSync(project);
    await expectSealed(act, join(project, ".sallyport"));
    await expectSealed(act, join(project, ".sallyport/plugins/evil"));
    await expectSealed(act, join(project, ".SallyPort/plugins"));
    writeFileSync(
      join(project, "script.ts"),
      `export default async () => {
        await Deno.mkdir("ok/plugins", { recursive: true });
        return await Deno.mkdir(".sallyport/plugins", { recursive: true }).catch((e) => e.name);
      }`,
    );
    const script = host.script("s", join(project, "script.ts"), {
      permissions: { read: ["."], write: ["."] },
      cwd: project,
      environment: {},
      limits: {},
    });
    expect(await script.run(null)).toBe("NotCapable");
    expect(readdirSync(project).sort()).toEqual(["ok", "script.ts"]);
  });

  test("the kind run does not reach it either, nor the plugin's own data", async () => {
    const { host, home, root } = await setUp();
    const { Broker, memoryAudit, defineOp, diskFiles } = await import("../../runtime/mod.ts");
    const { grantOf, layerOf } = await import("../../permissions/mod.ts");
    const { z } = await import("zod");
    void host;
    const data = join(home, "data/t/mine");
    const context = { cwd: "/", data };
    const broker = new Broker({
      ops: [defineOp<[string]>({
        name: "run_it",
        args: z.tuple([z.string()]),
        requires: ([value]) => [{ kind: "run", value }],
        act: () => Promise.resolve("ran"),
      })],
      audit: memoryAudit(),
      powers: { files: diskFiles() } as never,
      sealed: () => [home],
    });
    const principal = {
      tenant: "t",
      plugin: "p",
      title: "p",
      fingerprint: null,
      confinement: "test",
      context,
      bundle: null,
      grant: grantOf(layerOf("policy", { run: true }, context)),
      denialPrefix: "d-",
    };
    const scope = { id: "1", signal: new AbortController().signal, deny: () => {} };
    const run = (path: string) =>
      broker.dispatch({ principal, scope, op: 1, text: JSON.stringify(["run_it", [path]]) });
    expect(await run(join(home, "plugins/other/hook"))).toContain("NotCapable");
    expect(await run(join(data, "made-by-itself"))).toContain("NotCapable");
    expect(await run(join(root, "tool"))).toContain("ran");
  });
});

describe("[T03] by other names", () => {
  test("a link, relative or not, on the way or in the last place", async () => {
    const { root, home, act } = await setUp();
    mkdirSync(join(root, "in"));
    symlinkSync(home, join(root, "in/whole"));
    symlinkSync("../home/settings.yaml", join(root, "in/file"));
    symlinkSync("../home/not-yet", join(root, "in/dangling"));
    symlinkSync("in", join(root, "twice"));
    symlinkSync("script.txt", join(root, "in/good"));
    writeFileSync(join(root, "in/script.txt"), "good");
    const paths = ["in/whole/settings.yaml", "in/file", "in/dangling", "twice/whole/audit.key"];
    for (const path of paths) {
      expect(await act(["readTextFile", join(root, path)], ["writeTextFile", join(root, path), "x"]), path)
        .toEqual({
          [`readTextFile ${join(root, path)}`]: "NotCapable",
          [`writeTextFile ${join(root, path)}`]: "NotCapable",
        });
    }
    expect(existsSync(join(home, "not-yet"))).toBe(false);
    const good = join(root, "twice/good");
    expect(await act(["readTextFile", good])).toEqual({ [`readTextFile ${good}`]: "good" });
  });

  test("a hard link to one of its files is neither read nor written; one to another file is read", async () => {
    const { root, home, neighbour, act } = await setUp();
    writeFileSync(join(root, "plain"), "plain");
    linkSync(join(root, "plain"), join(root, "plain-too"));
    linkSync(join(home, "audit.key"), join(root, "key-too"));
    linkSync(join(neighbour, "tools/act.ts"), join(root, "code-too"));
    for (const name of ["key-too", "code-too"]) {
      const path = join(root, name);
      expect(await act(["readTextFile", path], ["stat", path], ["writeTextFile", path, "x"])).toEqual({
        [`readTextFile ${path}`]: "NotCapable",
        [`stat ${path}`]: "NotCapable",
        [`writeTextFile ${path}`]: "NotCapable",
      });
    }
    expect(await act(["readTextFile", join(root, "plain-too")])).toEqual({
      [`readTextFile ${join(root, "plain-too")}`]: "plain",
    });
  });

  test("a home that is reached by a link is sealed at its real place", async () => {
    const root = realpathSync(temporary());
    mkdirSync(join(root, "dotfiles"));
    symlinkSync("dotfiles", join(root, "home"));
    const host = await hosted({ home: join(root, "home") });
    const greedy = pluginOf("greedy", TOOLS, {
      head: "permissions: { read: true, write: true }\n",
      under: root,
    });
    const tenant = host.tenant("t", { policy: { permissions: ALL }, plugins: [greedy] });
    await approve(tenant, "greedy");
    const act = async (...calls: unknown[][]) =>
      await tenant.call("plugin__greedy__act", { calls }) as Record<string, string>;
    await expectSealed(act, join(root, "dotfiles/settings.yaml"));
    await expectSealed(act, join(root, "home/settings.yaml"));
  });

  test("a bind mount of it, of a folder in it, or of a file in it", async ({ skip }) => {
    const { root, home, act } = await setUp();
    const mount = (from: string, to: string): void => {
      execFileSync("mount", ["--bind", from, to], { stdio: "ignore" });
      onTestFinished(() => void execFileSync("umount", [to]));
    };
    for (const name of ["whole", "part", "free", "ok"]) {
      mkdirSync(join(root, "in", name), { recursive: true });
    }
    writeFileSync(join(root, "in/file"), "");
    try {
      mount(home, join(root, "in/whole"));
      mount(join(home, "keys"), join(root, "in/part"));
      mount(join(home, "audit.key"), join(root, "in/file"));
      mount(join(root, "in/ok"), join(root, "in/free"));
    } catch {
      skip("this user may not mount");
    }
    await new Promise((resolve) => setTimeout(resolve, 1_100)); // what is mounted is remembered for a second
    for (const path of ["in/whole/settings.yaml", "in/part/k", "in/part/new", "in/file"]) {
      const place = join(root, path);
      expect(await act(["readTextFile", place], ["writeTextFile", place, "x"]), path).toEqual({
        [`readTextFile ${place}`]: "NotCapable",
        [`writeTextFile ${place}`]: "NotCapable",
      });
    }
    expect(await act(["remove", join(root, "in/part"), { recursive: true }])).toEqual({
      [`remove ${join(root, "in/part")}`]: "NotCapable",
    });
    expect(existsSync(join(home, "keys/k"))).toBe(true);
    const free = join(root, "in/free/new");
    expect(await act(["writeTextFile", free, "x"])).toEqual({ [`writeTextFile ${free}`]: "done" });
  });

  test("a relative path that climbs", async () => {
    const { greedy, home, act } = await setUp();
    await expectSealed(act, relative(greedy, join(home, "settings.yaml")));
  });
});

test("[T03] the refusal names the built-in rule to the operator, and the guest learns none of it", async () => {
  const { home, tenant } = await setUp();
  const path = join(home, "settings.yaml");
  const { details } = await failureOf(
    tenant.call("plugin__greedy__act", { calls: [["stat", path]] }).then(() => {
      throw Object.assign(new Error(), { details: null });
    }),
  );
  expect(details).toBeNull(); // the tool caught it
  const denials: { decision: { rule: string } }[] = [];
  await tenant.call("plugin__greedy__act", { calls: [["stat", path]] }, {
    onDenial: (denial) => denials.push(denial),
  });
  expect(denials.map(({ decision }) => decision.rule)).toEqual([
    "built-in deny of Sallyport's own state and of plugins' directories (home)",
  ]);
});

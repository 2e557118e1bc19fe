import { mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createHost } from "../../src/mod.ts";
import { runCli } from "../../src/cli/public.ts";
import { findHome } from "../../src/home.ts";
import { approve, approved, failureOf, hosted, pluginOf, ROOT, temporary, write } from "./support.ts";

/** A user with a home, and a project that brings plugins. */
function machine() {
  const place = temporary();
  const userHome = join(place, "ada");
  const project = join(place, "project");
  mkdirSync(join(project, ".sallyport/plugins"), { recursive: true });
  mkdirSync(join(project, "src/deep"), { recursive: true });
  mkdirSync(join(userHome, ".sallyport/plugins"), { recursive: true });
  return { place, userHome, project };
}

test("[T34] SALLYPORT_HOME inside the project is refused, however it is spelled; outside it is taken", () => {
  const { place, userHome, project } = machine();
  symlinkSync(project, join(place, "alias"));
  for (const cwd of [project, join(project, "src/deep")]) {
    for (
      const fromEnvironment of [
        join(project, "state"),
        join(project, ".sallyport"),
        join(project, ".sallyport/home"),
        project,
        "../project/x/../state",
        join(place, "alias/state"),
      ].map((path) => path.startsWith("..") ? join(project, path) : path)
    ) {
      expect(() => findHome({ userHome, cwd, fromEnvironment })).toThrow(
        expect.objectContaining({ code: "ERR_STORE" }),
      );
    }
    expect(findHome({ userHome, cwd, fromEnvironment: join(place, "state") }).root).toBe(
      join(place, "state"),
    );
    expect(findHome({ userHome, cwd }).root).toBe(join(userHome, ".sallyport"));
  }
});

test("[T34] SALLYPORT_HOME inside a plugin is refused", () => {
  const { place, userHome } = machine();
  const directory = pluginOf("carrier", { go: "export const go = () => 1;" }, { under: place });
  for (const fromEnvironment of [directory, join(directory, "state"), join(directory, "a/b/c")]) {
    expect(() => findHome({ userHome, cwd: place, fromEnvironment })).toThrow(
      expect.objectContaining({ code: "ERR_STORE" }),
    );
  }
});

test("[T34] the user's own home is no project, though it has a .sallyport/plugins", () => {
  const { userHome } = machine();
  mkdirSync(join(userHome, "notes"));
  expect(findHome({ userHome, cwd: join(userHome, "notes") }).root).toBe(join(userHome, ".sallyport"));
  expect(findHome({ userHome, cwd: userHome, fromEnvironment: join(userHome, ".sallyport") }).root)
    .toBe(join(userHome, ".sallyport"));
});

test("[T34] a host's home is checked as the environment's is", async () => {
  const directory = pluginOf("carrier", { go: "export const go = () => 1;" });
  const error = await failureOf(createHost({ confinement: "best", home: join(directory, "state") }));
  expect(error.code).toBe("ERR_STORE");
});

test("[T34] no manifest key weakens the boundary: each is refused as unknown", async () => {
  const host = await hosted();
  for (
    const [index, line] of [
      "isolation: in-process",
      "confinement: weak",
      "unconfinedCommands: allow",
      "cordon: host",
      "audit: none",
      "limits: { sliceMs: 1 }",
    ].entries()
  ) {
    const directory = pluginOf("weak", { go: "export const go = () => 1;" }, { head: `${line}\n` });
    const [row] = await host.tenant(`w${index}`, { plugins: [directory] }).list();
    expect([line, row!.state]).toEqual([line, "invalid"]);
  }
});

test("[T34] no variable of the environment and no file of a project or plugin changes the confinement", async () => {
  const level = (await hosted()).confinement.level;
  const names = [
    "SALLYPORT_CONFINEMENT",
    "SALLYPORT_ISOLATION",
    "SALLYPORT_INSECURE",
    "SALLYPORT_AUDIT",
    "NODE_OPTIONS",
  ];
  const before = names.map((name) => process.env[name]);
  try {
    for (const name of names) process.env[name] = name === "NODE_OPTIONS" ? "--no-warnings" : "weak";
    const host = await hosted();
    expect(host.confinement.level).toBe(level);
    const directory = pluginOf("plain", { go: "export const go = () => typeof globalThis.process;" }, {
      files: {
        ".sallyport/settings.yaml": "confinement: weak\n",
        "settings.yaml": "trusted_plugins: []\n",
        ".env": "SALLYPORT_CONFINEMENT=weak\n",
      },
    });
    const tenant = await approved(host, "acme", { plugins: [directory] });
    expect(await tenant.call("go", {})).toBe("undefined");
  } finally {
    names.forEach((name, index) => {
      if (before[index] === undefined) delete process.env[name];
      else process.env[name] = before[index];
    });
  }
});

test("[T34] the sources read no other SALLYPORT_ variable than SALLYPORT_HOME", async () => {
  const { readFileSync } = await import("node:fs");
  const found = ["src", "runtime", "permissions", "bin"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.(ts|js)$/.test(name)
    )
      .flatMap((name) => readFileSync(join(ROOT, folder, name), "utf8").match(/SALLYPORT_[A-Z_]+/g) ?? [])
  );
  expect([...new Set(found)]).toEqual(["SALLYPORT_HOME"]);
});

test("[T34] each audit event carries the confinement that was reached", async () => {
  const events: { confinement: string }[] = [];
  const host = await hosted({ audit: () => ({ write: (event) => void events.push(event), close() {} }) });
  const tenant = await approved(host, "acme", {
    plugins: [pluginOf("plain", { go: "export const go = () => 1;" })],
  });
  await tenant.call("go", {});
  expect(events.length).toBeGreaterThan(2);
  expect(new Set(events.map(({ confinement }) => confinement))).toEqual(new Set([host.confinement.level]));
});

test("[T03] neither Sallyport's state nor any plugin's directory is reached by a grant; the plugin's own is", async () => {
  const home = join(temporary(), "home");
  const host = await hosted({ home });
  const other = pluginOf("other", { go: "export const go = () => 1;" });
  const code = "export const go = ({ path }) => Deno.readTextFile(path);";
  const reader = pluginOf("reader", { go: code }, {
    head: "permissions: { read: true }\n",
    files: { "own.txt": "own" },
  });
  const tenant = host.tenant("acme", { plugins: [reader, other], policy: { permissions: { read: true } } });
  for (const name of ["reader", "other"]) await approve(tenant, name);
  const place = temporary();
  write(place, { "free.txt": "free" });
  const call = (path: string) => tenant.call("plugin__reader__go", { path });
  expect(await call(join(place, "free.txt"))).toBe("free");
  expect(await call("./own.txt")).toBe("own");
  for (const path of [join(home, "audit.key"), join(home, "audit"), join(other, "plugin.yaml"), home]) {
    const error = await failureOf(call(path));
    expect([path, error.code]).toEqual([path, "ERR_NOT_CAPABLE"]);
    expect(error.details.rule).toContain("built-in deny");
  }
});

test("[T34] the person's own settings may accept unconfined programs, said at each start and in the audit; no project's may", async () => {
  const { place, project } = machine();
  const home = join(place, "state");
  mkdirSync(home, { mode: 0o700 });
  const plugin = pluginOf("plain", { go: "export const go = () => 1;" }, { under: project });
  const weak = "policy: { unconfinedCommands: allow }\n";
  const audited = () => {
    const folder = join(home, "audit/local");
    const [last] = readdirSync(folder).sort().slice(-1);
    const [, event] = readFileSync(join(folder, last!), "utf8").split("\n"); // the first line is the segment's own
    return (JSON.parse(event!) as { confinement: string }).confinement;
  };
  const run = async () => {
    const lines: string[] = [];
    const line = (text: string): void => void lines.push(text);
    const exit = await runCli(["run", plugin, "--yes"], {
      terminal: { out: line, err: line, json: () => {}, result: line, guest: (_prefix, text) => line(text) },
      cwd: realpathSync(project),
      environment: { SALLYPORT_HOME: home, SALLYPORT_POLICY: weak },
      userHome: join(place, "ada"),
    });
    return [exit, lines.some((text) => text.includes("unconfined")), audited().includes("may be unconfined")];
  };
  write(project, { "settings.yaml": weak, ".sallyport/settings.yaml": weak });
  write(plugin, { "settings.yaml": weak });
  expect(await run()).toEqual([0, false, false]);
  writeFileSync(join(home, "settings.yaml"), weak, { mode: 0o600 });
  expect(await run()).toEqual([0, true, true]);
  writeFileSync(join(home, "settings.yaml"), weak.replace("allow", "always"), { mode: 0o600 });
  expect((await run())[0]).toBe(6);
});

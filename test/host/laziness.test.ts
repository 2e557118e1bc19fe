import { spawnSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { type GuestLine, memoryAudit } from "../../src/mod.ts";
import { approve, approved, failureOf, hosted, pluginOf, ROOT, temporary, write } from "./support.ts";

const PLAIN = "export const go = () => 1;";

/**
 * Every function of node:fs and node:child_process is wrapped before anything is imported, so that each path that is
 * asked of the disk, and each process, is written down. Paths inside this repository are its own modules;
 * `main.mjs` is who imports them.
 */
const WITNESS = `
const fs = require("node:fs"), children = require("node:child_process"), { syncBuiltinESMExports } = require("node:module");
const seen = globalThis.seen = [];
const wrap = (object, names, note) => {
  for (const name of names) {
    const real = object[name];
    if (typeof real !== "function" || /^[A-Z]/.test(name)) continue;
    object[name] = Object.assign(function (...args) { note(name, args); return Reflect.apply(real, this, args); }, real);
  }
};
const path = (name, [where]) => {
  const text = String(where);
  if (typeof where === "number" || text.startsWith(${
  JSON.stringify(ROOT)
}) || text.startsWith("file:") || text.includes("/node_modules/") || text.endsWith("/main.mjs")) return;
  seen.push(name + " " + text);
};
wrap(fs, Object.keys(fs), path);
wrap(fs.promises, Object.keys(fs.promises), path);
wrap(children, ["spawn", "spawnSync", "fork", "exec", "execFile", "execSync"], (name, [file]) => seen.push("process " + file));
syncBuiltinESMExports();
`;

test("[L16][L51] importing the library reads nothing and loads nothing; the first question alone scans", () => {
  const directory = temporary();
  const plugins = join(directory, "plugins");
  pluginOf("lazy", { go: PLAIN }, { under: plugins });
  write(directory, {
    "witness.cjs": WITNESS,
    "main.mjs": `
      const told = {};
      const { createHost, directoryLoader } = await import(${JSON.stringify(join(ROOT, "src/mod.ts"))});
      told.imported = seen.splice(0);
      await using host = await createHost({ confinement: "best", home: ${
      JSON.stringify(join(directory, "home"))
    } });
      const tenant = host.tenant("acme", {
        plugins: directoryLoader([{ directory: ${JSON.stringify(plugins)}, origin: "project" }]),
      });
      told.opened = seen.splice(0);
      await tenant.list();
      told.listed = seen.splice(0);
      told.workers = await host.workerPids();
      console.log(JSON.stringify(told));`,
  });
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--require", "./witness.cjs", "main.mjs"], {
    cwd: directory,
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([0, ""]);
  const told = JSON.parse(stdout) as Record<"imported" | "opened" | "listed" | "workers", string[]>;
  expect(told.imported).toEqual([]);
  // Looking at what the machine confines with is no look at a plugin.
  expect(told.opened.filter((line) => line.includes(plugins))).toEqual([]);
  expect(told.listed.some((line) => line.endsWith("lazy/plugin.yaml"))).toBe(true);
  expect(told.listed.filter((line) => line.includes("tools/go.ts") && !line.startsWith("lstat"))).toEqual([]);
  expect(told.listed.filter((line) => line.startsWith("process"))).toEqual([]);
  expect(told.workers).toEqual([]);
});

test("[L23] calling tool A leaves tool B's module unloaded", async () => {
  const host = await hosted();
  const tenant = await approved(host, "acme", {
    plugins: [pluginOf("pair", {
      a: 'console.log("A is loaded"); export const a = () => "a";',
      b: 'console.log("B is loaded"); export const b = () => "b";',
    })],
  });
  const lines: GuestLine[] = [];
  const onLine = (line: GuestLine) => void lines.push(line);
  expect(await tenant.call("a", {}, { onLine })).toBe("a");
  expect(lines.map(({ text }) => text)).toEqual(["A is loaded"]);
  expect(await tenant.call("a", {}, { onLine })).toBe("a");
  expect(await tenant.call("b", {}, { onLine })).toBe("b");
  expect(lines.map(({ text }) => text)).toEqual(["A is loaded", "B is loaded"]);
});

test("[R28] fifty parallel first calls share one activation: one bundle, one isolate, one evaluation", async () => {
  const audit = memoryAudit();
  const host = await hosted({ audit: () => audit });
  const tenant = await approved(host, "acme", {
    plugins: [pluginOf("shared", {
      go: 'console.log("evaluated"); let n = 0; export const go = () => ++n;',
    })],
  });
  const lines: string[] = [];
  const results = await Promise.all(
    Array.from({ length: 50 }, () => tenant.call("go", {}, { onLine: ({ text }) => lines.push(text) })),
  );
  expect(results).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
  expect(lines).toEqual(["evaluated"]);
  expect(audit.events.filter(({ type }) => type === "activate")).toHaveLength(1);
  expect(await host.workerPids()).toHaveLength(1);
});

test("one caller's cancellation or deadline during a shared activation is not its neighbour's", async () => {
  const host = await hosted();
  const tenant = await approved(host, "acme", {
    plugins: [pluginOf("slow", {
      go: "await new Promise((done) => setTimeout(done, 600)); export const go = () => 'done';",
    })],
  });
  const controller = new AbortController();
  const first = failureOf(tenant.call("go", {}, { signal: controller.signal }));
  const second = tenant.call("go", {});
  const hasty = failureOf(tenant.call("go", {}, { wallMs: 150 }));
  setTimeout(() => controller.abort(), 300);
  const started = performance.now();
  expect((await hasty).code).toBe("ERR_LIMIT_WALL");
  expect(performance.now() - started).toBeLessThan(500);
  expect((await first).code).toBe("ERR_CALL_CANCELLED");
  expect(await second).toBe("done");
});

test("a caller that gives up while it waits for another's activation is answered at once", async () => {
  const host = await hosted();
  const tenant = await approved(host, "acme", {
    plugins: [pluginOf("slow", {
      go: "await new Promise((done) => setTimeout(done, 1500)); export const go = () => 'done';",
    })],
  });
  const controller = new AbortController();
  const first = tenant.call("go", {});
  const second = failureOf(tenant.call("go", {}, { signal: controller.signal }));
  setTimeout(() => controller.abort(), 100);
  const started = performance.now();
  expect((await second).code).toBe("ERR_CALL_CANCELLED");
  expect(performance.now() - started).toBeLessThan(1_000);
  expect(await first).toBe("done");
});

test("[R09][L25] what failed to start contributes nothing, says why, and is not tried again: three calls, one load", async () => {
  const audit = memoryAudit();
  const host = await hosted({ audit: () => audit });
  const tenant = await approved(host, "acme", {
    plugins: [pluginOf("broken", {
      go: 'console.log("tried"); throw new Error("no start today"); export const go = () => 1;',
      fine: "export const fine = () => 'fine';",
    })],
  });
  const lines: string[] = [];
  const codes: string[] = [];
  for (let n = 0; n < 3; n++) {
    const error = await failureOf(tenant.call("go", {}, { onLine: ({ text }) => lines.push(text) }));
    codes.push(error.code);
    expect(error.message).toContain("no start today");
  }
  expect(codes).toEqual(Array(3).fill(codes[0]));
  expect(lines).toEqual(["tried"]);
  expect(
    audit.events.filter(({ type, details }) =>
      type === "activate" && JSON.stringify(details).includes("go.ts")
    ),
  )
    .toHaveLength(1);
  expect(await tenant.call("fine", {})).toBe("fine");
});

test("[L24] a missing export names the plugin, the target and the manifest", async () => {
  const host = await hosted();
  const directory = pluginOf("lacking", { go: "export const other = 1;" });
  const tenant = await approved(host, "acme", { plugins: [directory] });
  const error = await failureOf(tenant.call("go", {}));
  expect(error.code).toBe("ERR_ACTIVATION_FAILED");
  for (const part of ['"lacking"', "tools/go.ts:go", join(directory, "plugin.yaml")]) {
    expect(error.message).toContain(part);
  }
});

test("[L24] an export that is no function is refused alike; a function under `default` is taken", async () => {
  const host = await hosted();
  const directory = pluginOf("values", { go: "export const go = 5;" }, {
    files: { "d.ts": "export default () => 'd';" },
  });
  write(directory, {
    "plugin.yaml": `name: values
version: "1"
capabilities:
  tools: [{ name: go, target: "tools/go.ts:go" }, { name: dflt, target: "d.ts:default" }]
`,
  });
  const tenant = await approved(host, "acme", { plugins: [directory] });
  expect((await failureOf(tenant.call("go", {}))).code).toBe("ERR_ACTIVATION_FAILED");
  expect(await tenant.call("dflt", {})).toBe("d");
});

test("[L24] a declared file that is missing is named, with its plugin, before anything can be approved", async () => {
  const host = await hosted();
  const directory = pluginOf("absent", { go: PLAIN });
  write(directory, {
    "plugin.yaml":
      'name: absent\nversion: "1"\ncapabilities: { tools: [{ name: go, target: "tools/gone.ts:go" }] }\n',
  });
  const tenant = host.tenant("acme", { plugins: [directory] });
  expect((await tenant.list())[0]!.state).toBe("untrusted");
  const error = await failureOf(approve(tenant, "absent"));
  expect(error.code).toBe("ERR_MANIFEST_INVALID");
  for (const part of ['"absent"', "tools/gone.ts", "plugin.yaml"]) expect(error.message).toContain(part);
});

import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { approve, approved, hosted, pluginOf, temporary } from "./support.ts";

const READ = "export const read = ({ path }) => Deno.readTextFile(path);";
const WRITE = "export const write = ({ path }) => Deno.writeTextFile(path, 'x');";

describe("absolute entries whose path holds a link", () => {
  test("[T08] a link that the plugin ships gives nothing, however its entry is spelled", async () => {
    const under = temporary();
    const victim = join(under, "victim");
    mkdirSync(victim);
    writeFileSync(join(victim, "secret"), "SECRET");
    for (const [kind, tool, code] of [["read", "read", READ], ["write", "write", WRITE]] as const) {
      const plugin = pluginOf(`ships-${kind}`, { [tool]: code }, {
        under,
        head: `permissions: { ${kind}: { allow: ["${join(under, `ships-${kind}`, "link")}"]${
          kind === "read" ? ", mutable: true" : ""
        } } }\n`,
      });
      symlinkSync(victim, join(plugin, "link"));
      const tenant = await approved(await hosted(), "acme", {
        plugins: [plugin],
        policy: { permissions: { read: true, write: true } },
      });
      for (const path of [join(victim, "secret"), join(plugin, "link/secret")]) {
        await expect(tenant.call(tool, { path })).rejects.toMatchObject({ code: "ERR_NOT_CAPABLE" });
      }
    }
    expect(readFileSync(join(victim, "secret"), "utf8")).toBe("SECRET");
  });

  test("[T08] a link in a place that the plugin may write to gives nothing either; one above it, which is the system's, does", async () => {
    const under = temporary();
    mkdirSync(join(under, "real/work"), { recursive: true });
    mkdirSync(join(under, "private"));
    writeFileSync(join(under, "private/diary"), "DIARY");
    symlinkSync(join(under, "real"), join(under, "system"));
    const work = join(under, "system/work");
    const plugin = pluginOf("worker", { read: READ, write: WRITE }, {
      under,
      head: `permissions: { read: ["${work}"], write: ["${work}"] }\n`,
    });
    const open = async () =>
      await approved(await hosted(), "acme", {
        plugins: [plugin],
        policy: { permissions: { read: true, write: true } },
      });
    const tenant = await open();
    await tenant.call("write", { path: join(work, "a") });
    expect(await tenant.call("read", { path: join(work, "a") })).toBe("x");
    // As a plugin could leave it: the entry's own place is a link now.
    renameSync(join(under, "real/work"), join(under, "real/before"));
    symlinkSync(join(under, "private"), join(under, "real/work"));
    await expect((await open()).call("read", { path: join(work, "diary") })).rejects.toMatchObject({
      code: "ERR_NOT_CAPABLE",
    });
    unlinkSync(join(under, "real/work"));
  });

  test("[T20] an entry with dot segments is pinned like any other spelling of its place", async () => {
    const plugin = pluginOf("dots", { read: READ }, {
      head: 'permissions: { read: ["./x/../data"] }\n',
      files: { "data/f.txt": "v1" },
    });
    const tenant = (await hosted()).tenant("acme", {
      plugins: [plugin],
      policy: { permissions: { read: true } },
    });
    await approve(tenant, "dots");
    expect(await tenant.call("read", { path: "./data/f.txt" })).toBe("v1");
    const { trees } = await tenant.fingerprint("dots");
    expect(Object.keys(trees)).toEqual(["data"]);
  });

  test("[T03] what is passing of one plugin is out of every other one's reach", async () => {
    const home = join(temporary(), "home");
    const host = await hosted({ home });
    const keep = pluginOf("keeper", {
      keep: "export const keep = () => Deno.writeTextFile('$data/token', 'TOKEN');",
    }, { head: 'permissions: { write: ["$data"] }\n' });
    const policy = { permissions: { read: true, write: true } } as const;
    await (await approved(host, "first", { plugins: [keep], policy })).call("keep", {});
    const [run] = readdirSync(join(home, "temporary"));
    const [lineage] = readdirSync(join(home, "temporary", run!));
    const token = join(home, "temporary", run!, lineage!, "token");
    expect(readFileSync(token, "utf8")).toBe("TOKEN");
    const spy = pluginOf("spy", { read: READ }, { head: "permissions: { read: true }\n" });
    const second = await approved(host, "second", { plugins: [spy], policy });
    await expect(second.call("read", { path: token })).rejects.toMatchObject({ code: "ERR_NOT_CAPABLE" });
    writeFileSync(join(home, "../beside"), "BESIDE");
    expect(await second.call("read", { path: join(home, "../beside") })).toBe("BESIDE");
  });
});

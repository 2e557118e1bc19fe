/** `$project` in a trust record is the project that was shown (T13). */
import { join } from "node:path";
import { expect, test } from "vitest";
import { settingsTrustStore, type TrustStore } from "../../src/mod.ts";
import { failureOf, hosted, pluginOf, temporary, write } from "./support.ts";

const host = await hosted();
const READ = "export const look = async ({ path }) => (await Deno.readTextFile(path)).trim();";
let count = 0;

function project(text: string): string {
  const directory = temporary();
  write(directory, { "notes/a.txt": text });
  return directory;
}

/** The plugin as it is met from a project: the tenant is the same one, in another process. */
async function meet(store: TrustStore, plugin: string, project: string) {
  const other = await hosted({ home: join(temporary(), `home${count++}`) });
  const tenant = other.tenant("local", {
    plugins: [plugin],
    store,
    policy: { permissions: { read: true }, project },
  });
  const look = () => tenant.call("look", { path: "$project/notes/a.txt" });
  const trust = async () => {
    const { hash } = await tenant.fingerprint("noter");
    await tenant.trust("noter", { fingerprint: hash, approver: "test", expose: ["look"] });
  };
  return { tenant, look, trust };
}

function noter(entry: string): string {
  return pluginOf("noter", { look: READ }, { head: `permissions: { read: ["${entry}"] }\n` });
}

test("[T13] what was approved for one project is asked about again in another, and then holds for both", async () => {
  const store = settingsTrustStore(join(temporary(), "home"));
  const plugin = noter("$project/notes");
  const [here, there] = [project("here"), project("there")];
  const first = await meet(store, plugin, here);
  await first.trust();
  expect(await first.look()).toBe("here");
  expect((await first.tenant.record("noter"))!.projects).toEqual([here]);

  const second = await meet(store, plugin, there);
  const error = await failureOf(second.look());
  expect(error.code).toBe("ERR_TRUST_UNKNOWN");
  expect(error.message).toContain(`another $project ("${here}"), and here it is "${there}"`);
  expect((await second.tenant.list())[0]).toMatchObject({
    state: "untrusted",
    reason: expect.stringContaining(here),
  });
  await second.trust();
  expect(await second.look()).toBe("there");
  expect((await second.tenant.record("noter"))!.projects).toEqual([here, there]);
  expect(await (await meet(store, plugin, here)).look()).toBe("here");
});

test("[T13] approving something else in one project takes it from the others", async () => {
  const store = settingsTrustStore(join(temporary(), "home"));
  const plugin = noter("$project/notes");
  const [here, there] = [project("here"), project("there")];
  await (await meet(store, plugin, here)).trust();
  const second = await meet(store, plugin, there);
  const { hash } = await second.tenant.fingerprint("noter");
  const grants = { read: ["$project/notes/a.txt"] };
  await second.tenant.trust("noter", { fingerprint: hash, approver: "test", expose: ["look"], grants });
  expect(await second.look()).toBe("there");
  expect((await failureOf((await meet(store, plugin, here)).look())).code).toBe("ERR_TRUST_UNKNOWN");
});

test("[T13] a plugin that asks for nothing of a project is trusted in each, and its record names none", async () => {
  const store = settingsTrustStore(join(temporary(), "home"));
  const [here, there] = [project("here"), project("there")];
  const plugin = noter(join(there, "notes"));
  const first = await meet(store, plugin, here);
  await first.trust();
  expect(await first.tenant.record("noter")).not.toHaveProperty("projects");
  const second = await meet(store, plugin, there);
  expect(await second.look()).toBe("there");
});

test("[T13] a review says which project an approval would be for", async () => {
  const place = project("x");
  const tenant = host.tenant(`review${count++}`, {
    plugins: [noter("$project/notes")],
    policy: { permissions: { read: true }, project: place },
  });
  expect((await tenant.review("noter")).grants().project).toBe(place);
  const plain = host.tenant(`review${count++}`, {
    plugins: [noter("/srv/notes")],
    policy: { permissions: { read: true }, project: place },
  });
  expect((await plain.review("noter")).grants().project).toBeNull();
});

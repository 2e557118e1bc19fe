import { readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { settingsTrustStore, type Tenant, type TenantOptions } from "../../src/mod.ts";
import { DOCUMENT_LIMITS as LIMITS } from "../../src/documents/limits.ts";
import { failureOf, type Files, hosted, temporary, write } from "../host/support.ts";
import { documentsOf, PNG, trusted } from "./support.ts";

const home = join(temporary(), "home");
const host = await hosted({ home });
let count = 0;

function tenantOf(plugins: readonly string[], options: Omit<TenantOptions, "plugins"> = {}): Tenant {
  return host.tenant(`t${count++}`, { plugins, ...options });
}

const THEME = {
  title: "Dusk",
  colors: { background: "#1e1e2e" },
  fonts: { body: { family: "Inter", file: "inter.woff2" }, code: { family: "monospace" } },
  images: { hero: "img/hero.png" },
};
const FILES = {
  "themes/dusk/theme.json": JSON.stringify(THEME),
  "themes/dusk/inter.woff2": Buffer.from("font"),
  "themes/dusk/img/hero.png": PNG,
  "themes/dusk/img/other.png": PNG,
};

function themed(files: Files = FILES, name = "web"): string {
  return documentsOf(name, "{ themes: [themes/dusk/theme.json] }", files);
}

/** Every file below a folder, with its bytes. */
function treeOf(directory: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(directory, { recursive: true, encoding: "utf8" }).sort()
      .filter((path) => statSync(join(directory, path)).isFile())
      .map((path) => [path, readFileSync(join(directory, path)).toString("base64")]),
  );
}

test("[R13] a theme is read in place with its images, under its own id; nothing is written, and it is gone when the plugin is disabled", async () => {
  const directory = themed();
  const tenant = tenantOf([directory], { store: settingsTrustStore(join(temporary(), "settings")) });
  await trusted(tenant, "web");
  const before = [treeOf(directory), treeOf(home)];
  const theme = await tenant.documents.theme("plugin:web:dusk");
  expect(theme).toMatchObject({
    id: "plugin:web:dusk",
    plugin: "web",
    title: "Dusk",
    colors: { background: "#1e1e2e" },
    fonts: {
      body: { family: "Inter", file: { path: "themes/dusk/inter.woff2", type: "font/woff2" } },
      code: { family: "monospace", file: null },
    },
    images: { hero: { path: "themes/dusk/img/hero.png", type: "image/png" } },
  });
  expect(Buffer.from(theme.images.hero!.bytes).equals(PNG)).toBe(true);
  expect(Buffer.from(theme.fonts.body!.file!.bytes).toString()).toBe("font");
  expect([treeOf(directory), treeOf(home)]).toEqual(before);
  await tenant.disable("web");
  expect((await failureOf(tenant.documents.theme("plugin:web:dusk"))).code).toBe("ERR_TRUST_DISABLED");
  expect(await tenant.documents.list("themes")).toEqual([]);
  await tenant.enable("web");
  expect((await tenant.documents.theme("plugin:web:dusk")).title).toBe("Dusk");
});

test("what a reader does with an image changes it for nobody else", async () => {
  const tenant = tenantOf([themed()]);
  await trusted(tenant, "web");
  const { images } = await tenant.documents.theme("dusk");
  images.hero!.bytes.fill(0);
  expect(Buffer.from((await tenant.documents.theme("dusk")).images.hero!.bytes).equals(PNG)).toBe(true);
});

test("[L29] what a theme names is pinned with it: one byte of an image makes the plugin changed, and a file that it does not name makes it nothing", async () => {
  const directory = themed();
  const tenant = tenantOf([directory]);
  await trusted(tenant, "web");
  expect(Object.keys((await tenant.fingerprint("web")).files)).toEqual([
    "themes/dusk/img/hero.png",
    "themes/dusk/inter.woff2",
    "themes/dusk/theme.json",
  ]);
  const roles = (await tenant.review("web")).files.map(({ path, role }) => [path, role]);
  expect(roles).toContainEqual(["themes/dusk/img/hero.png", "asset"]);
  write(directory, { "themes/dusk/img/other.png": "changed" });
  expect((await tenant.documents.theme("dusk")).title).toBe("Dusk");
  write(directory, { "themes/dusk/img/hero.png": Buffer.from([...PNG, 0]) });
  expect((await tenant.list())[0]!.state).toBe("changed");
  expect(await failureOf(tenant.documents.theme("dusk"))).toMatchObject({
    code: "ERR_TRUST_CHANGED",
    details: { changed: ["themes/dusk/img/hero.png"] },
  });
});

describe("a theme that names what it may not is refused before it is trusted, and fine without that", () => {
  const problemsOf = async (directory: string) =>
    (await tenantOf([directory]).check("web")).problems.join("\n");
  const refusal = async (directory: string) => (await failureOf(tenantOf([directory]).review("web"))).code;

  test("an image that is outside, by its name or by a link", async () => {
    const outside = temporary();
    write(outside, { "hero.png": PNG });
    for (const image of ["../../../hero.png", join(outside, "hero.png")]) {
      const directory = themed({
        ...FILES,
        "themes/dusk/theme.json": JSON.stringify({ images: { hero: image } }),
      });
      expect(await problemsOf(directory)).toContain("$.images.hero");
      expect(await refusal(directory)).toBe("ERR_MANIFEST_INVALID");
    }
    const directory = themed();
    rmSync(join(directory, "themes/dusk/img/hero.png"));
    symlinkSync(join(outside, "hero.png"), join(directory, "themes/dusk/img/hero.png"));
    expect(await problemsOf(directory)).toContain("leaves the plugin");
    expect(await refusal(directory)).toBe("ERR_MANIFEST_INVALID");
    expect(await problemsOf(themed())).toBe("");
  });

  test("an image that is a link inside the plugin, or lies behind one", async () => {
    for (const at of ["hero.png", "."]) {
      const directory = themed();
      const place = join(directory, "themes/dusk/img", at);
      rmSync(place, { recursive: true });
      write(directory, { "elsewhere/hero.png": PNG });
      symlinkSync(join(directory, "elsewhere", at), place);
      expect(await problemsOf(directory), at).toContain("reached by a link");
      expect(await refusal(directory), at).toBe("ERR_MANIFEST_INVALID");
    }
  });

  test("an image that is not there, is a folder, or is too large", async () => {
    const gone = themed();
    rmSync(join(gone, "themes/dusk/img/hero.png"));
    expect(await problemsOf(gone)).toContain('$.images.hero: "themes/dusk/img/hero.png" is not there');
    const folder = themed({ ...FILES, "themes/dusk/img/hero.png": "", "themes/dusk/img/a.png/b": "" });
    write(folder, { "themes/dusk/theme.json": JSON.stringify({ images: { hero: "img/a.png" } }) });
    expect(await problemsOf(folder)).toContain("is no file");
    const sized = (bytes: number) => themed({ ...FILES, "themes/dusk/img/hero.png": Buffer.alloc(bytes) });
    expect(await problemsOf(sized(LIMITS.assetBytesMax))).toBe("");
    expect(await problemsOf(sized(LIMITS.assetBytesMax + 1))).toContain("assetBytesMax");
  });
});

test("a theme of the user's own has its images beside it, and none from elsewhere", async () => {
  const directory = temporary();
  write(directory, {
    "themes/mine/theme.json": '{"images":{"hero":"hero.png"}}',
    "themes/mine/hero.png": PNG,
  });
  const tenant = tenantOf([], { documents: [{ id: "user", directory }] });
  expect(Buffer.from((await tenant.documents.theme("mine")).images.hero!.bytes).equals(PNG)).toBe(true);
  rmSync(join(directory, "themes/mine/hero.png"));
  expect((await failureOf(tenant.documents.theme("mine"))).code).toBe("ERR_RESOURCE_NOT_FOUND");
  const outside = temporary();
  write(outside, { "hero.png": PNG });
  symlinkSync(join(outside, "hero.png"), join(directory, "themes/mine/hero.png"));
  expect((await failureOf(tenant.documents.theme("mine"))).code).toBe("ERR_RESOURCE_REFUSED");
});

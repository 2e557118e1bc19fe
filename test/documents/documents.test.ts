import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { settingsTrustStore, type Tenant, type TenantOptions } from "../../src/mod.ts";
import { approve, failureOf, hosted, pluginOf, temporary, write } from "../host/support.ts";
import { documentsOf, PNG, trusted } from "./support.ts";

const host = await hosted();
let count = 0;

function tenantOf(plugins: readonly string[], options: Omit<TenantOptions, "plugins"> = {}): Tenant {
  return host.tenant(`t${count++}`, { plugins, ...options });
}

/** Two folders of the user's own, for the project and for the user. */
function roots(project: Readonly<Record<string, string>>, user: Readonly<Record<string, string>> = {}) {
  return ([["project", project], ["user", user]] as const).map(([id, files]) => {
    const directory = temporary();
    write(directory, files);
    return { id, directory };
  });
}

const AGENT = (title: string): string =>
  `---\ntitle: ${title}\ndescription: Looks things up\n---\nYou are ${title}.\n`;
const BRIEF =
  "---\ndescription: Says it\narguments:\n  - { name: topic, required: true }\n  - { name: tone }\n---\nAbout {{topic}} in a {{tone}} tone. ($1; $ARGUMENTS)\n";
const PLAYBOOK = (agent: string): string =>
  `steps:\n  - { name: one, agent: "${agent}", instructions: Begin }\n`;
const THEME = JSON.stringify({
  title: "Dusk",
  colors: { background: "#1e1e2e" },
  fonts: { body: { family: "Inter", file: "inter.woff2" }, code: { family: "monospace" } },
  images: { hero: "img/hero.png" },
});

/** A plugin with one document on each surface. */
function everything(name = "web"): string {
  return documentsOf(
    name,
    "{ prompts: [prompts/brief.md], skills: [skills/weather/SKILL.md], agents: [agents/researcher.md], playbooks: [playbooks/deep.playbook.yaml], packs: [packs/owl.yaml], themes: [themes/dusk/theme.json] }",
    {
      "prompts/brief.md": BRIEF,
      "skills/weather/SKILL.md": "---\nname: weather\ndescription: Weather\n---\n# Weather\n",
      "agents/researcher.md": AGENT("Researcher"),
      "playbooks/deep.playbook.yaml": PLAYBOOK(`${name}/researcher`),
      "packs/owl.yaml": `roles: { ${name}/researcher: { title: Owl, color: "#112233" } }\n`,
      "themes/dusk/theme.json": THEME,
      "themes/dusk/inter.woff2": Buffer.from("font"),
      "themes/dusk/img/hero.png": PNG,
    },
  );
}

const IDS = ["web/brief", "web/weather", "web/researcher", "web/deep", "web/owl", "plugin:web:dusk"];

describe("what may be read", () => {
  test("[L26] of a plugin that is not trusted, was switched off or changed, or does not expose it, nothing is read on any surface; else all of it is", async () => {
    const directory = everything();
    const tenant = tenantOf([directory]);
    const refusals = async () => {
      expect(await tenant.documents.list()).toEqual([]);
      const codes = await Promise.all(
        IDS.map(async (id) => (await failureOf(tenant.documents.read(id))).code),
      );
      codes.push((await failureOf(tenant.documents.prompt("/web:brief", { words: ["a"] }))).code);
      codes.push((await failureOf(tenant.documents.theme("plugin:web:dusk"))).code);
      return [...new Set(codes)];
    };
    expect(await refusals()).toEqual(["ERR_TRUST_UNKNOWN"]);
    await trusted(tenant, "web", []);
    expect(await refusals()).toEqual(["ERR_CAPABILITY_NOT_EXPOSED"]);
    await tenant.expose(IDS);
    expect((await tenant.documents.list()).map(({ id, problem }) => [id, problem])).toEqual(
      IDS.map((id) => [id, null]),
    );
    for (const id of IDS) expect((await tenant.documents.read(id)).id).toBe(id);
    await tenant.disable("web");
    expect(await refusals()).toEqual(["ERR_TRUST_DISABLED"]);
    await tenant.enable("web");
    expect((await tenant.documents.read("web/weather")).text).toBe("# Weather\n");
    write(directory, { "skills/weather/SKILL.md": "# Other\n" });
    expect(await refusals()).toEqual(["ERR_TRUST_CHANGED"]);
  });

  test("[A27][A28] a document that is gone is not found, though a peer and the user have one of that name", async () => {
    const files = { "skills/weather/SKILL.md": "---\ndescription: x\n---\nmine\n" };
    const capabilities = "{ skills: [skills/weather/SKILL.md] }";
    const [one, two] = [documentsOf("one", capabilities, files), documentsOf("two", capabilities, files)];
    const tenant = tenantOf([one, two], { documents: roots({ "skills/weather/SKILL.md": "local\n" }) });
    await trusted(tenant, "one");
    expect((await tenant.documents.read("one/weather")).text).toBe("mine\n");
    rmSync(join(one, "skills/weather/SKILL.md"));
    expect((await failureOf(tenant.documents.read("one/weather"))).code).toBe("ERR_TRUST_CHANGED");
    expect((await tenant.documents.read("weather")).text).toBe("local\n");
  });

  test("one file on two surfaces is read as each of them has it", async () => {
    const tenant = tenantOf([
      documentsOf("web", "{ skills: [notes/a.md], agents: [notes/a.md] }", {
        "notes/a.md": "---\ntitle: A\n---\n",
      }),
      documentsOf("odd", "{ skills: [b.md], agents: [b.md] }", { "b.md": "---\nlicense: MIT\n---\n" }),
    ]);
    await trusted(tenant, "web");
    for (const surface of ["skills", "agents"]) {
      expect((await tenant.documents.read("web/a", { surface })).surface).toBe(surface);
    }
    expect((await tenant.check("odd")).problems).toEqual([
      '"b.md" line 2, column 1, $.license: unknown key "license"',
    ]);
  });

  test("what is read is frozen, and says whose it is", async () => {
    const tenant = tenantOf([everything()]);
    await trusted(tenant, "web");
    const found = await tenant.documents.read("web/researcher");
    expect(found).toMatchObject({
      id: "web/researcher",
      surface: "agents",
      name: "researcher",
      owner: "plugin",
      plugin: "web",
      root: null,
      path: "agents/researcher.md",
      frontMatter: { title: "Researcher" },
      text: "You are Researcher.\n",
      shadows: [],
    });
    for (const part of [found, found.frontMatter, found.style, found.references]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  test("an id that several surfaces have is ambiguous until the surface is said, and an unknown one lists what there is", async () => {
    const tenant = tenantOf([
      documentsOf("web", "{ skills: [deep.md], playbooks: [deep.yaml] }", {
        "deep.md": "skill\n",
        "deep.yaml": PLAYBOOK("x"),
      }),
    ]);
    await trusted(tenant, "web");
    expect(await failureOf(tenant.documents.read("web/deep"))).toMatchObject({
      code: "ERR_NAME_AMBIGUOUS",
      details: {
        candidates: [{ surface: "skills", id: "web/deep" }, { surface: "playbooks", id: "web/deep" }],
      },
    });
    expect((await tenant.documents.read("web/deep", { surface: "skills" })).text).toBe("skill\n");
    const unknown = await failureOf(tenant.documents.read("web/deap"));
    expect(unknown).toMatchObject({ code: "ERR_CAPABILITY_UNKNOWN" });
    expect(unknown.message).toContain('Did you mean "web/deep"?');
    expect((await failureOf(tenant.documents.read("web/deep", { surface: "tools" }))).code).toBe("ERR_USAGE");
  });
});

describe("whose document a name means", () => {
  const plugin = (name = "web") =>
    documentsOf(name, "{ agents: [agents/deep.md], playbooks: [playbooks/deep.playbook.yaml] }", {
      "agents/deep.md": AGENT(name),
      "playbooks/deep.playbook.yaml": PLAYBOOK(`${name}/deep`),
    });

  test("[L19] agents are the project's, then the user's, then a plugin's", async () => {
    const documents = roots({ "agents/deep.md": AGENT("P") }, {
      "agents/deep.md": AGENT("U"),
      "agents/own.md": AGENT("O"),
    });
    const tenant = tenantOf([plugin()], { documents });
    await trusted(tenant, "web");
    const read = async (id: string) => {
      const { owner, root, text, shadows } = await tenant.documents.read(id, { surface: "agents" });
      return [owner, root, text, shadows];
    };
    expect(await read("deep")).toEqual(["local", "project", "You are P.\n", [
      "user: agents/deep.md",
      "web/deep",
    ]]);
    rmSync(join(documents[0]!.directory, "agents/deep.md"));
    expect(await read("deep")).toEqual(["local", "user", "You are U.\n", ["web/deep"]]);
    rmSync(join(documents[1]!.directory, "agents/deep.md"));
    expect(await read("deep")).toEqual(["plugin", null, "You are web.\n", []]);
    expect(await read("own")).toEqual(["local", "user", "You are O.\n", []]);
    expect((await tenant.documents.list("agents")).map(({ id, owner }) => [id, owner])).toEqual([
      ["own", "local"],
      ["web/deep", "plugin"],
    ]);
  });

  test("[L20][L40] playbooks are found in all three places alike, and a plugin's by its own token, whatever has its name", async () => {
    const documents = roots({ "playbooks/deep.playbook.yaml": PLAYBOOK("p") }, {
      "playbooks/long.yml": PLAYBOOK("u"),
    });
    const tenant = tenantOf([plugin(), plugin("other")], { documents });
    await trusted(tenant, "web");
    const rootOf = async (id: string) => {
      const { root, plugin } = await tenant.documents.read(id, { surface: "playbooks" });
      return root ?? plugin;
    };
    expect(await rootOf("deep")).toBe("project");
    expect(await rootOf("long")).toBe("user");
    expect(await rootOf("web/deep")).toBe("web");
    const rows = await tenant.documents.list("playbooks");
    expect(rows.map(({ id, isShadowed }) => [id, isShadowed])).toEqual([
      ["deep", false],
      ["long", false],
      ["web/deep", true],
    ]);
    // A token is never a path: neither its parts nor what it could lead to are looked for.
    write(documents[0]!.directory, {
      "playbooks/web/deep.playbook.yaml": PLAYBOOK("no"),
      "playbooks/web.yaml": PLAYBOOK("no"),
    });
    expect(await rootOf("web/deep")).toBe("web");
    for (
      const id of [
        "../playbooks/deep",
        "playbooks/deep",
        "web/../web/deep",
        "other/deep",
        "deep.playbook.yaml",
      ]
    ) {
      expect((await failureOf(tenant.documents.read(id, { surface: "playbooks" }))).code, id).toMatch(
        /^ERR_(CAPABILITY_UNKNOWN|TRUST_UNKNOWN)$/,
      );
    }
  });

  test("[L40] a bare name that two plugins have means neither, and each is read by its token", async () => {
    const store = settingsTrustStore(join(temporary(), "home"));
    const plugins = [plugin("one"), plugin("two")];
    for (const [place, name] of ["one", "two"].entries()) {
      await trusted((await hosted()).tenant("local", { plugins: [plugins[place]!], store }), name);
    }
    const tenant = (await hosted()).tenant("local", { plugins, store });
    expect((await failureOf(tenant.documents.read("deep", { surface: "agents" }))).code).toBe(
      "ERR_COLLISION",
    );
    await tenant.disable("two");
    expect((await tenant.documents.read("deep", { surface: "agents" })).id).toBe("one/deep");
  });

  test("[L39] the user's own file wins, and one line of the log names what it hides", async () => {
    const lines: { readonly details?: unknown }[] = [];
    const logging = await hosted({
      audit: () => ({ write: (event) => void lines.push(event), close: () => {} }),
    });
    const documents = roots({ "agents/deep.md": AGENT("Mine") });
    const tenant = logging.tenant("one", { plugins: [plugin()], documents });
    await trusted(tenant, "web");
    const shadows = () =>
      lines.filter(({ details }) => JSON.stringify(details ?? null).includes('"shadowed"'));
    expect((await tenant.documents.read("web/deep", { surface: "agents" })).text).toBe("You are web.\n");
    expect(shadows()).toEqual([]);
    for (let time = 0; time < 2; time++) {
      expect((await tenant.documents.read("deep", { surface: "agents" })).text).toBe("You are Mine.\n");
    }
    expect(shadows()).toMatchObject([
      { type: "expose", plugin: "web", details: { shadowed: "deep", surface: "agents", id: "web/deep" } },
    ]);
    expect(await tenant.resolve("deep", "agents")).toEqual({
      owner: "local",
      name: "deep",
      surface: "agents",
    });
  });

  test("[L36] a document is looked at when its plugin is found, before anybody trusts it", async () => {
    const directory = plugin();
    write(directory, { "agents/deep.md": "---\ndescripton: x\n---\n" });
    const tenant = tenantOf([directory, plugin("fine")]);
    const [broken, fine] = await tenant.list();
    expect(broken).toMatchObject({ state: "untrusted" });
    expect(broken!.reason).toContain(
      '"agents/deep.md" line 2, column 1, $.descripton: unknown key "descripton" (did you mean "description"?)',
    );
    expect(fine!.reason).toBeNull();
    const refused = await failureOf(tenant.review("web"));
    expect(refused).toMatchObject({
      code: "ERR_MANIFEST_INVALID",
      details: { issues: [{ file: "agents/deep.md", line: 2, column: 1, path: "$.descripton" }] },
    });
    expect((await failureOf(trusted(tenant, "web"))).code).toBe("ERR_MANIFEST_INVALID");
    expect((await tenant.check("web")).problems.join()).toContain('did you mean "description"?');
    expect((await tenant.facts("web")).findings.join()).toContain('did you mean "description"?');
    await trusted(tenant, "fine");
  });

  test("[R50] what a document names of a plugin that is gone is unavailable, whoever else has that name", async () => {
    const playbook = documentsOf("book", "{ playbooks: [p.yaml] }", {
      "p.yaml":
        'steps:\n  - { name: a, agent: "gone/deep" }\n  - { name: b, agent: "web/deep", tool: plugin__gone__x }\n  - { name: c, agent: own }\n',
    });
    const documents = roots({ "agents/own.md": AGENT("O") });
    const tenant = tenantOf([playbook, plugin()], { documents });
    await trusted(tenant, "book");
    await trusted(tenant, "web");
    const states = async () =>
      (await tenant.documents.read("book/p")).references.map(({ field, state, id }) => [field, state, id]);
    expect(await states()).toEqual([
      ["$.steps[0].agent", "unavailable", null],
      ["$.steps[1].agent", "available", "web/deep"],
      ["$.steps[1].tool", "unavailable", null],
      ["$.steps[2].agent", "available", "own"],
    ]);
    await tenant.untrust("web");
    expect((await states())[1]).toEqual(["$.steps[1].agent", "unavailable", null]);
    expect((await failureOf(tenant.documents.read("gone/deep"))).code).toBe("ERR_CAPABILITY_UNKNOWN");
  });
});

describe("the user's own files", () => {
  test("a folder or a file is a document; what is neither, or hidden, is none; two of one name are neither", async () => {
    const documents = roots({
      "skills/weather/SKILL.md": "folder\n",
      "skills/short.md": "file\n",
      "skills/empty/notes.md": "no\n",
      "skills/.hidden.md": "no\n",
      "skills/notes.txt": "no\n",
      "playbooks/twice.yaml": PLAYBOOK("a"),
      "playbooks/twice.playbook.yaml": PLAYBOOK("a"),
      "prompts/broken.md": "---\ntitel: x\n---\n",
    });
    const tenant = tenantOf([], { documents });
    expect((await tenant.documents.list()).map(({ id, problem }) => [id, problem?.slice(0, 19) ?? null]))
      .toEqual([
        ["broken", 'Cannot use "broken"'],
        ["short", null],
        ["weather", null],
        ["twice", 'Cannot tell which "'],
      ]);
    expect((await failureOf(tenant.documents.read("twice"))).code).toBe("ERR_NAME_AMBIGUOUS");
    expect((await failureOf(tenant.documents.read("broken"))).code).toBe("ERR_MANIFEST_INVALID");
    write(documents[1]!.directory, { "skills/late.md": "late\n" });
    expect((await tenant.documents.read("late")).text).toBe("late\n");
  });

  test("a link that leaves the root, a pipe and a root that was replaced are refused, and a root that is not there is empty", async () => {
    const outside = temporary();
    write(outside, { "secret.md": "secret\n" });
    const documents = roots({ "skills/own.md": "own\n" });
    const tenant = tenantOf([], {
      documents: [...documents, { id: "none", directory: join(outside, "none") }],
    });
    const { directory } = documents[0]!;
    symlinkSync(join(outside, "secret.md"), join(directory, "skills/leak.md"));
    expect((await failureOf(tenant.documents.read("leak"))).code).toBe("ERR_RESOURCE_REFUSED");
    expect((await tenant.documents.list()).map(({ id, problem }) => [id, problem === null])).toEqual([
      ["leak", false],
      ["own", true],
    ]);
    expect((await tenant.documents.read("own")).text).toBe("own\n");
    rmSync(directory, { recursive: true });
    mkdirSync(join(directory, "skills"), { recursive: true });
    write(directory, { "skills/own.md": "other\n" });
    expect((await failureOf(tenant.documents.read("own"))).code).toBe("ERR_RESOURCE_REFUSED");
  });

  test("where one folder cannot be looked at, its names mean nobody else's, and all other documents are there", async () => {
    const documents = roots({ "agents/own.md": AGENT("Own") });
    symlinkSync(temporary(), join(documents[0]!.directory, "skills"));
    const tenant = tenantOf([everything()], { documents });
    await trusted(tenant, "web");
    expect((await failureOf(tenant.documents.read("weather"))).code).toBe("ERR_RESOURCE_REFUSED");
    expect((await failureOf(tenant.documents.list("skills"))).code).toBe("ERR_RESOURCE_REFUSED");
    expect((await tenant.documents.read("web/weather")).id).toBe("web/weather");
    expect((await tenant.documents.read("own")).root).toBe("project");
    expect((await tenant.documents.list("agents")).map(({ id }) => id)).toEqual(["own", "web/researcher"]);
    expect((await tenant.list())[0]!.state).toBe("active");
  });

  test("what an embedder keeps elsewhere, or has built in, is its own to read, and keeps its name", async () => {
    const skill = documentsOf("web", "{ skills: [weather.md, news.md, free.md] }", {
      "weather.md": "w\n",
      "news.md": "n\n",
      "free.md": "f\n",
    });
    const tenant = tenantOf([skill], { local: { skills: ["weather"] }, builtins: { skills: ["news"] } });
    await trusted(tenant, "web", ["web/weather", "web/free"]);
    for (const id of ["weather", "news"]) {
      expect((await failureOf(tenant.documents.read(id))).code, id).toBe("ERR_CAPABILITY_UNKNOWN");
    }
    expect((await tenant.documents.read("web/weather")).text).toBe("w\n");
    expect((await tenant.documents.read("free")).text).toBe("f\n");
    expect((await failureOf(tenant.expose(["web/news"]))).code).toBe("ERR_COLLISION");
  });

  test("two roots of one id, and a root that is not absolute, are refused", () => {
    const [root] = roots({});
    expect(() => tenantOf([], { documents: [root!, root!] })).toThrow("two roots have the id");
    expect(() => tenantOf([], { documents: [{ id: "a", directory: "a" }] })).toThrow("not absolute");
  });

  test("a plugin that may write in the project cannot put a document there", async () => {
    const project = temporary();
    mkdirSync(join(project, ".sallyport/agents"), { recursive: true });
    const directory = pluginOf("writer", {
      go: "export const go = ({ path }) => Deno.writeTextFile(path, 'planted');",
    }, { head: 'permissions: { write: ["$project"] }\n' });
    const tenant = tenantOf([directory], {
      policy: { permissions: { write: true }, project },
      documents: [{ id: "project", directory: join(project, ".sallyport") }],
    });
    await approve(tenant, "writer");
    const file = join(project, ".sallyport/agents/evil.md");
    expect((await failureOf(tenant.call("plugin__writer__go", { path: file }))).code).toBe("ERR_NOT_CAPABLE");
    await tenant.call("plugin__writer__go", { path: join(project, "notes.md") });
    expect(await tenant.documents.list()).toEqual([]);
  });
});

test("[R12] prompts are found with commands, with what they say of themselves and what may follow their names", async () => {
  const tenant = tenantOf([
    documentsOf("web", '{ prompts: [brief.md, plain.md], commands: [{ name: go, target: "go.ts:go" }] }', {
      "brief.md": BRIEF,
      "plain.md": "---\nargument-hint: <file>\n---\ntext\n",
      "go.ts": "export const go = () => 1;",
    }),
  ]);
  expect(await tenant.commands.list()).toEqual([]);
  await trusted(tenant, "web");
  expect(
    (await tenant.commands.list()).map((
      { typed, kind, description, usage },
    ) => [typed, kind, description, usage]),
  )
    .toEqual([
      ["/web:go", "command", null, null],
      ["/web:brief", "prompt", "Says it", "<topic> [tone]"],
      ["/web:plain", "prompt", null, "<file>"],
    ]);
});

test("characters that nobody sees are told to whoever approves a document, and to its author", async () => {
  const directory = documentsOf("web", "{ skills: [a.md, b.md] }", {
    "a.md": "---\ndescription: a\n---\nplain \u{1f441}\ufe0f\n",
    "b.md": "do this\u{e0041}\u{e0042}\u202e\n",
  });
  const tenant = tenantOf([directory]);
  const { files } = await tenant.review("web");
  expect(files.map(({ path, hiddenCount }) => [path, hiddenCount])).toEqual([["a.md", undefined], [
    "b.md",
    3,
  ]]);
  expect((await tenant.check("web")).advice).toEqual([
    '"b.md" has no description, by which it would be picked',
    '"b.md" holds 3 characters that nobody sees',
  ]);
});

test("[R12] a prompt is asked for as it is typed, with its arguments put in once", async () => {
  const tenant = tenantOf([everything()], { documents: roots({ "prompts/own.md": "Own: $ARGUMENTS\n" }) });
  await trusted(tenant, "web");
  const { documents } = tenant;
  expect(await documents.prompt("/web:brief", { words: ["bees", "dry"] })).toBe(
    "About bees in a dry tone. (bees; bees dry)\n",
  );
  expect(await documents.prompt("web/brief", { values: { topic: "$1 {{tone}}" } })).toBe(
    "About $1 {{tone}} in a  tone. ($1 {{tone}}; $1 {{tone}} )\n",
  );
  expect(await documents.prompt("own", { words: ["a"] })).toBe("Own: a\n");
  expect(await tenant.commands.run("/web:brief", "bees dry")).toBe(
    "About bees in a dry tone. (bees; bees dry)\n",
  );
  expect((await failureOf(documents.prompt("/web:brief"))).message).toContain('"topic" is missing');
  expect((await failureOf(documents.prompt("web/weather"))).code).toBe("ERR_CAPABILITY_UNKNOWN");
});

describe("packs", () => {
  const ROLE = "web/researcher";
  const packs = (name: string, roles: string) =>
    documentsOf(name, `{ packs: [${name}.yaml] }`, { [`${name}.yaml`]: `roles: ${roles}\n` });

  test("[L49] a pack that names a role which does not exist is refused as a whole, and adds none; one that restyles what exists is shown beside it", async () => {
    const documents = roots({ "agents/own.md": AGENT("Own") });
    const fine = packs(
      "fine",
      `{ ${ROLE}: { description: Caws, theme: "plugin:web:dusk" }, own: { color: "#fff" } }`,
    );
    const adding = packs("ghosts", `{ ${ROLE}: { title: Ghost }, web/ghost: { title: Boo } }`);
    const tenant = tenantOf([adding, fine, everything()], { documents });
    for (const name of ["ghosts", "fine", "web"]) await trusted(tenant, name);
    const refused = await failureOf(tenant.documents.read("ghosts/ghosts"));
    expect(refused).toMatchObject({ code: "ERR_CAPABILITY_UNKNOWN", details: { missing: ["web/ghost"] } });
    expect(refused.message).toContain("may add nothing");
    expect((await tenant.documents.list("packs")).map(({ id, problem }) => [id, problem === null])).toEqual([
      ["ghosts/ghosts", false],
      ["fine/fine", true],
      ["web/owl", true],
    ]);
    expect((await tenant.documents.list("agents")).map(({ id }) => id)).toEqual(["own", ROLE]);
    expect((await failureOf(tenant.documents.read("web/ghost"))).code).toBe("ERR_CAPABILITY_UNKNOWN");
    expect((await tenant.documents.read(ROLE)).style).toEqual({
      title: "Owl",
      description: "Caws",
      color: "#112233",
      theme: "plugin:web:dusk",
      packs: ["fine/fine", "web/owl"],
    });
    expect((await tenant.documents.read("own")).style).toEqual({ color: "#fff", packs: ["fine/fine"] });
    expect((await tenant.documents.read("fine/fine")).references).toMatchObject([
      { field: '$.roles["web/researcher"].theme', state: "available", id: "plugin:web:dusk" },
    ]);
    await tenant.hide(["fine/fine"]);
    expect((await tenant.documents.read("own")).style).toBeNull();
  });

  test("[L49] a pack that adds a role to its own plugin is refused before anybody trusts it", async () => {
    const roles = (name: string) => `{ ${name}/researcher: { title: Owl }, ${name}/ghost: { title: Boo } }`;
    const directory = everything("book");
    const tenant = tenantOf([directory]);
    expect((await tenant.check("book")).problems).toEqual([]);
    write(directory, { "packs/owl.yaml": `roles: ${roles("book")}\n` });
    expect((await failureOf(tenantOf([directory]).review("book"))).message).toContain(
      '"packs/owl.yaml" line 1, column 55, $.roles["book/ghost"]: there is no "book/ghost", and this adds none',
    );
  });

  test("of each part the first pack's word counts, and what packs say never takes the place of what the role says", async () => {
    const one = documentsOf("one", "{ packs: [a.yaml] }", {
      "a.yaml": "roles: { web/researcher: { title: Raven } }\n",
    });
    const two = documentsOf("two", "{ packs: [b.yaml] }", {
      "b.yaml": 'roles: { web/researcher: { title: Crow, color: "#fff", theme: gone } }\n',
    });
    const web = documentsOf("web", "{ agents: [researcher.md] }", { "researcher.md": AGENT("Researcher") });
    const tenant = tenantOf([one, two, web]);
    for (const name of ["one", "two", "web"]) await trusted(tenant, name);
    const found = await tenant.documents.read("web/researcher");
    expect(found.style).toEqual({ title: "Raven", color: "#fff", theme: "gone", packs: ["one/a", "two/b"] });
    expect(found.frontMatter).toEqual({ title: "Researcher", description: "Looks things up" });
    expect((await tenant.documents.read("two/b")).references).toMatchObject([{
      ref: "gone",
      state: "unavailable",
    }]);
    await tenant.disable("one");
    expect((await tenant.documents.read("web/researcher")).style).toMatchObject({ title: "Crow" });
  });
});

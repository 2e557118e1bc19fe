import { describe, expect, test } from "vitest";
import { DOCUMENT_LIMITS as LIMITS } from "../../src/documents/limits.ts";
import { documentFormat, documentSurfaces } from "../../src/documents/own_documents.ts";
import { readDocument } from "../../src/documents/read_document.ts";

const NAMES: Readonly<Record<string, string>> = { playbooks: "deep", packs: "look", themes: "dusk" };

function read(surface: string, content: string | Uint8Array, name = NAMES[surface] ?? "brief") {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return readDocument(documentFormat(surface)!, bytes, { file: "the/file", name });
}

/** What is wrong, as `line:column field message (hint)`. */
function faults(surface: string, content: string | Uint8Array): readonly string[] {
  const reading = read(surface, content);
  return reading.ok
    ? []
    : reading.issues.map(({ line, column, path, message, hint }) =>
      `${line}:${column} ${path} ${message}${hint === undefined ? "" : ` (${hint})`}`
    );
}

const ACCEPTED: Readonly<Record<string, string>> = {
  prompts:
    "---\nname: brief\ntitle: Brief\ndescription: Says it\narguments:\n  - { name: topic, description: what, required: true }\n  - { name: tone, x-default: dry }\nargument-hint: [topic]\nallowed-tools: Read, Grep\nmodel: small\nx-own: 1\n---\nAbout {{topic}}\n",
  skills:
    '---\nname: brief\ndescription: Weather\nlicense: MIT\nversion: "1"\nallowed-tools: [Read]\nmetadata: { author: ada, stable: true }\n---\n# Weather\n',
  agents:
    '---\ndescription: Looks things up\ntools: [Read]\nskills: weather\nmodel: small\ncolor: "#abc"\n---\nYou look things up.\n',
  playbooks:
    "name: deep\ndescription: Deep work\nsteps:\n  - { name: one, instructions: Begin }\n  - { name: two, agent: web/researcher, prompt: brief, tool: web_search, needs: [one] }\n",
  packs:
    'description: Looks\nroles:\n  web/researcher: { title: Owl, color: "#112233", theme: dusk, wording: { hello: Hoo } }\n',
  themes:
    '{"title":"Dusk","colors":{"background":"#1e1e2e","text.muted":"#abcd"},"fonts":{"body":{"family":"Inter, sans-serif","file":"inter.woff2"}},"images":{"hero":"img/hero.png"}}',
};

const MISSPELLED: Readonly<Record<string, readonly [text: string, fault: string]>> = {
  prompts: [
    "---\ndescripton: x\n---\n",
    '2:1 $.descripton unknown key "descripton" (did you mean "description"?)',
  ],
  skills: ["---\nlicence: MIT\n---\n", '2:1 $.licence unknown key "licence" (did you mean "license"?)'],
  agents: ['---\ncolour: "#abc"\n---\n', '2:1 $.colour unknown key "colour" (did you mean "color"?)'],
  playbooks: [
    "steps: [{ name: a, instruction: b, tool: c }]\n",
    '1:20 $.steps[0].instruction unknown key "instruction" (did you mean "instructions"?)',
  ],
  packs: ["agents: {}\nroles: {}\n", '1:1 $.agents unknown key "agents" (did you mean "roles"?)'],
  themes: ['{"colours":{}}', '1:2 $.colours unknown key "colours" (did you mean "colors"?)'],
};

test("every surface of documents has a document that is accepted, and a key that is not", () => {
  expect(documentSurfaces()).toEqual(Object.keys(ACCEPTED));
  for (const surface of documentSurfaces()) {
    expect(faults(surface, ACCEPTED[surface]!), surface).toEqual([]);
    const [text, fault] = MISSPELLED[surface]!;
    expect(faults(surface, text), surface).toEqual([fault]);
  }
});

test("Markdown without front matter, or with nothing in it, is a document", () => {
  for (
    const text of [
      "# Title\n",
      "",
      "---\n---\n# Title\n",
      "---\r\n---\r\n",
      "text\n---\nnot: front matter\n---\n",
    ]
  ) {
    expect(read("prompts", text), text).toMatchObject({ ok: true, document: { frontMatter: {} } });
  }
  expect(read("prompts", "\ufeff---\ntitle: A\n---\nbody")).toMatchObject({
    document: { frontMatter: { title: "A" }, text: "body" },
  });
  expect(read("prompts", "---\r\ntitle: A\r\n---\r\nbody\r\n")).toMatchObject({
    document: { frontMatter: { title: "A" }, text: "body\r\n" },
  });
});

test("what was read is frozen through and through", () => {
  const reading = read("prompts", ACCEPTED.prompts!);
  if (!reading.ok) throw new Error("not read");
  const { frontMatter } = reading.document;
  expect(Object.isFrozen(reading.document) && Object.isFrozen((frontMatter.arguments as unknown[])[0])).toBe(
    true,
  );
});

describe("front matter is a stranger's", () => {
  const front = (yaml: string): string => `---\n${yaml}\n---\nbody\n`;

  test("aliases, anchors, tags, merge keys, duplicates, __proto__ and a second document are refused at their line", () => {
    for (
      const [yaml, message] of [
        ["a: &x [1]\ndescription: *x", "anchor"],
        ["description: !!js/function x", "tag"],
        ["<<: { description: x }", "merge"],
        ["description: a\ndescription: b", "twice"],
        ["__proto__: { title: x }", "__proto__"],
        ["description: a\n--- # another\ntitle: b", "more than one document"],
      ] as const
    ) {
      const found = faults("prompts", front(yaml));
      expect(found.join("\n"), yaml).toContain(message);
      expect(found.length, yaml).toBeGreaterThan(0);
    }
    expect(faults("prompts", front("description: a"))).toEqual([]);
  });

  test("a bomb of nesting, of values or of size is refused by its bound, and what is just inside is not", () => {
    const deep = (levels: number): string => `x-a: ${"[".repeat(levels)}${"]".repeat(levels)}`;
    expect(faults("prompts", front(deep(LIMITS.depthMax + 1)))[0]).toContain("deeper than");
    expect(faults("prompts", front(deep(LIMITS.depthMax - 1)))).toEqual([]);
    expect(faults("prompts", front(`x-a: [${"1,".repeat(LIMITS.nodesMax)}]`))[0]).toContain(
      "more than 20000 values",
    );
    const long = (bytes: number): string => front(`x-a: "${"a".repeat(bytes)}"`);
    const rest = '---\nx-a: ""\n'.length;
    expect(faults("prompts", long(LIMITS.frontMatterBytesMax - rest))).toEqual([]);
    expect(faults("prompts", long(LIMITS.frontMatterBytesMax - rest + 1))[0]).toContain("at most 65536");
  });

  test("front matter that never ends is refused, and a rule in the text is none", () => {
    expect(faults("prompts", "---\ntitle: A\n")).toEqual([
      '1:1 $ front matter begins here, and no other line is "---"',
    ]);
    expect(faults("prompts", "---\ntitle: A\n----\n---\ntext\n").length).toBeGreaterThan(0);
    expect(faults("prompts", "---\ntitle: A\n---\ntext\n---\nmore: text\n")).toEqual([]);
  });

  test("a name must be the one that the file gives, since two names would be two documents", () => {
    expect(faults("prompts", front("name: other"))).toEqual([
      '2:7 $.name must be "brief", the name that its file gives it',
    ]);
    expect(faults("prompts", front("name: brief"))).toEqual([]);
  });
});

test("exactly 1,048,576 bytes are a document, one more is not", () => {
  expect(read("skills", "a".repeat(LIMITS.documentBytesMax)).ok).toBe(true);
  expect(faults("skills", "a".repeat(LIMITS.documentBytesMax + 1))).toEqual([
    "1:1 $ the file has 1048577 bytes; at most 1048576 are read",
  ]);
});

test("text that is not UTF-8, and control characters, are refused at their place; marks of direction are counted", () => {
  expect(faults("skills", Buffer.from([0x61, 0x0a, 0xc3, 0x28]))).toEqual([
    "2:1 $ the bytes are not valid UTF-8 from here on",
  ]);
  expect(faults("skills", "---\ntitle: A\n---\nfine\nclear \u001b[2J\n")).toEqual([
    "5:7 $ the character U+001B is not allowed",
  ]);
  expect(faults("skills", '---\ntitle: "a\u202eb"\n---\n')[0]).toContain("U+202E");
  expect(read("skills", "a\u202eb\u200bc\u{e0041}\n")).toMatchObject({ document: { hiddenCount: 3 } });
  expect(read("skills", "tab\tline\r\n☀️ \u00e9\n")).toMatchObject({ document: { hiddenCount: 0 } });
});

test("the arguments of a prompt have one name each, that a placeholder can have", () => {
  const args = (list: string): string => `---\narguments: ${list}\n---\n`;
  expect(faults("prompts", args("[{ name: a }, { name: b }]"))).toEqual([]);
  expect(faults("prompts", args("[{ name: a }, { name: a }]"))[0]).toContain("$.arguments[1].name");
  expect(faults("prompts", args("[{ name: 'a b' }]"))[0]).toContain("$.arguments[0].name");
  expect(faults("prompts", args("[{ name: a, require: true }]"))[0]).toContain('did you mean "required"?');
});

test("the steps of a playbook have one name each, say what is done, and wait for none that waits for them", () => {
  const step = (name: string, more = "instructions: x"): string => `  - { name: ${name}, ${more} }\n`;
  const steps = (...all: readonly string[]): string => `steps:\n${all.join("")}`;
  expect(faults("playbooks", steps(step("a"), step("b", "tool: t, needs: [a]")))).toEqual([]);
  expect(faults("playbooks", steps(step("a"), step("a")))[0]).toContain("$.steps[1].name");
  expect(faults("playbooks", steps(step("a", "description: d")))[0]).toContain("must say what is done");
  expect(faults("playbooks", steps(step("a", "tool: t, needs: [c]")))[0]).toContain('no step "c"');
  expect(faults("playbooks", steps(step("a", "tool: t, needs: [b]"), step("b", "tool: t, needs: [a]")))[0])
    .toContain("would wait for itself");
  expect(faults("playbooks", "steps: []\n")[0]).toContain("at least one step");
  expect(faults("playbooks", "name: deep\n")).toEqual(["1:1 $.steps is required"]);
});

test("a pack says how a role looks, and nothing of what it does", () => {
  expect(faults("packs", "roles: { a: { title: A } }\n")).toEqual([]);
  for (const key of ["tools", "model", "prompt", "instructions"]) {
    expect(faults("packs", `roles: { a: { ${key}: x } }\n`)[0], key).toContain("does not say what it does");
  }
});

test("a theme is JSON that holds colours, typefaces and files beside it, and nothing a style sheet could take for more", () => {
  expect(faults("themes", '{\n\t"title": "A \\ud83d\\ude00 \\/",\n\t"colors": {}\n}\n')).toEqual([]);
  for (const yaml of ["title: A\n", "{title: A}", '{"title": "A",}', "{} # more"]) {
    expect(faults("themes", yaml), yaml).toEqual(["1:1 $ must be JSON"]);
  }
  for (
    const [theme, field] of [
      ['{"colors":{"a":"red"}}', "$.colors.a"],
      ['{"colors":{"a":"#fff;}"}}', "$.colors.a"],
      ['{"fonts":{"a":{"family":"x;}"}}}', "$.fonts.a.family"],
      ['{"images":{"a":"../a.png"}}', "$.images.a"],
      ['{"images":{"a":"/etc/a.png"}}', "$.images.a"],
      ['{"images":{"a":"https://e.example/a.png"}}', "$.images.a"],
      ['{"images":{"a":"a.svg"}}', "$.images.a"],
      ['{"title":1,"title":2}', "$.title"],
    ] as const
  ) expect(faults("themes", theme)[0], theme).toContain(field);
});

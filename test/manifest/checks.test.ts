import { describe, expect, test } from "vitest";
import { accept, fields, HEAD, refuse } from "./support.ts";

describe("one name stands once on a surface", () => {
  test("[L14] targets by name, documents by the name that their file gives", () => {
    const CASES: readonly (readonly [string, string])[] = [
      ['panels: [{name: a, target: "a.ts:b"}, {name: a, target: "c.ts:d"}]', "$.capabilities.panels[1].name"],
      ["agents: [a/x.md, b/x.md]", "$.capabilities.agents[1]"],
      ["agents: [a/x.md, a/x.md]", "$.capabilities.agents[1]"],
      ["skills: [a/w/SKILL.md, b/w/SKILL.md]", "$.capabilities.skills[1]"],
      ["playbooks: [x.playbook.yaml, x.yaml]", "$.capabilities.playbooks[1]"],
      ["themes: [dusk/theme.json, dusk/other.json]", "$.capabilities.themes[1]"],
    ];
    for (const [section, field] of CASES) {
      expect(fields(`${HEAD}capabilities: {${section}}`)).toEqual([field]);
    }
    accept(`${HEAD}capabilities: {skills: [a/SKILL.md, b/SKILL.md], agents: [a.md], prompts: [a.md]}`);
    accept(`${HEAD}capabilities: {tools: [{name: a, target: "a.ts:b"}, {name: A, target: "a.ts:b"}]}`);
    accept(
      `${HEAD}capabilities: {tools: [{name: constructor, target: "a.ts:b"}, {name: valueOf, target: "a.ts:b"}]}`,
    );
  });

  test("the check holds beside entries that are wrong in other ways", () => {
    const tools = '[{name: a, target: 7}, 12, {name: a, target: "a.ts:b"}, {name: [a]}]';
    expect(fields(`${HEAD}capabilities: {tools: ${tools}}`)).toContain("$.capabilities.tools[2].name");
  });
});

describe("a tool's permissions only narrow the plugin's", () => {
  const manifest = (plugin: string, tool: string) =>
    `${HEAD}permissions: ${plugin}\ncapabilities: {tools: [{name: t, target: "a.ts:b", permissions: ${tool}}]}`;
  const WITHIN: readonly (readonly [string, string])[] = [
    ['{net: ["a.example:443"]}', '{net: ["a.example:443"]}'],
    ['{net: ["a.example"]}', '{net: ["a.example:443"]}'],
    ["{net: true}", '{net: ["a.example:443"]}'],
    ["{read: [./data]}", "{read: [./data/sub]}"],
    ['{read: ["$project"]}', '{read: ["$project/docs"]}'],
    ["{env: ['A_*']}", "{env: [A_B]}"],
    ["{net: true, env: [A]}", "{}"],
    ["{net: true}", "{net: []}"],
    ["{wasm: true}", "{wasm: true}"],
  ];
  const BEYOND: readonly (readonly [string, string, string])[] = [
    ["{}", '{net: ["a.example:443"]}', "net"],
    ['{net: ["a.example:443"]}', '{net: ["a.example"]}', "net"],
    ['{net: ["a.example:443"]}', "{net: true}", "net"],
    ['{net: ["a.example:443"]}', '{net: ["b.example:443"]}', "net"],
    ['{net: {allow: ["a.example"], deny: ["a.example:22"]}}', '{net: ["a.example"]}', "net"],
    ["{read: [./data]}", "{read: [./]}", "read"],
    ["{read: [./data]}", "{read: [./database]}", "read"],
    ["{read: [./data]}", "{read: [/etc]}", "read"],
    ["{env: [A]}", "{env: ['A*']}", "env"],
    ["{}", "{wasm: true}", "wasm"],
    ["{}", "{dynamicCode: true}", "dynamicCode"],
  ];
  for (const [plugin, tool] of WITHIN) {
    test(`${tool} is within ${plugin}`, () => void accept(manifest(plugin, tool)));
  }
  for (const [plugin, tool, kind] of BEYOND) {
    test(`${tool} is beyond ${plugin}`, () => {
      expect(fields(manifest(plugin, tool))).toEqual([`$.capabilities.tools[0].permissions.${kind}`]);
    });
  }
  test("[L04] the entries of all are bounded together, so comparing them takes no second", () => {
    const list = (count: number) =>
      `{net: [${Array.from({ length: count }, (_, index) => `a${index}.example:443`).join()}]}`;
    accept(manifest(list(1000), list(1000)));
    const tools = Array.from(
      { length: 8 },
      (_, index) => `{name: t${index}, target: "a.ts:b", permissions: ${list(1000)}}`,
    );
    const started = performance.now();
    expect(fields(`${HEAD}permissions: ${list(1000)}\ncapabilities: {tools: [${tools.join()}]}`)).toEqual([
      "$.permissions",
    ]);
    expect(performance.now() - started).toBeLessThan(1000);
  });
  test("without permissions of its own a tool asks for nothing more", () => {
    accept(`${HEAD}capabilities: {tools: [{name: t, target: "a.ts:b"}]}`);
  });
});

describe("[T19] a JSON Schema is bounded and closed, and never run", () => {
  const tool = (input: string) =>
    `${HEAD}capabilities: {tools: [{name: t, target: "a.ts:b", input: ${input}}]}`;
  const base = "$.capabilities.tools[0].input";
  test("local references and ordinary keywords pass", () => {
    accept(
      tool('{type: object, $defs: {a: {type: string}}, properties: {q: {$ref: "#/$defs/a"}}, required: [q]}'),
    );
    accept(tool("{type: object, properties: {$ref: {type: string}, constructor: {type: string}}}"));
    accept(tool('{type: object, properties: {q: {pattern: "(a+)+$"}}, additionalProperties: false}'));
  });
  test("a reference to elsewhere is refused where it stands", () => {
    for (const ref of ["https://example.com/s.json", "file:///etc/passwd", "other.json#/a", "", "//evil/s"]) {
      expect(fields(tool(`{type: object, properties: {q: {$ref: "${ref}"}}}`))).toEqual([
        `${base}.properties.q.$ref`,
      ]);
    }
    expect(fields(tool("{type: object, $dynamicRef: 'x#a'}"))).toEqual([`${base}.$dynamicRef`]);
    expect(fields(tool("{type: object, $ref: 5}"))).toEqual([`${base}.$ref`]);
  });
  test("an input is a map that describes an object", () => {
    for (const input of ["true", "[]", "text", "null", "5"]) {
      expect(fields(tool(input)), input).toEqual([base]);
    }
    for (const input of ["{}", "{type: array}", "{type: [object]}"]) {
      expect(fields(tool(input)), input).toEqual([`${base}.type`]);
    }
  });
  test("depth, keywords and size are bounded", () => {
    const nested = (depth: number) => `{type: object, items: ${"[".repeat(depth)}${"]".repeat(depth)}}`;
    accept(tool(nested(30)));
    expect(refuse(tool(nested(40)))[0]?.message).toContain("deeper");
    const wide = (count: number) => `{type: object, enum: [${"1,".repeat(count)}]}`;
    accept(tool(wide(1900)));
    expect(refuse(tool(wide(2100)))[0]?.message).toContain("2000 keywords");
    accept(tool(`{type: object, title: ${"a".repeat(60_000)}}`));
    expect(refuse(tool(`{type: object, title: ${"a".repeat(70_000)}}`))[0]?.message).toContain(
      "65536 characters",
    );
  });
});

describe("tools and hooks, field by field", () => {
  const tool = (rest: string) => `${HEAD}capabilities: {tools: [{name: t, target: "a.ts:b", ${rest}}]}`;
  const hook = (rest: string) => `${HEAD}capabilities: {hooks: {Stop: [{hooks: [${rest}]}]}}`;
  test("callers are any, or plugins and full ids", () => {
    for (const callers of ["any", "[]", "[web-notes]", "[plugin__web-notes__save]"]) {
      accept(tool(`callers: ${callers}`));
    }
    for (const callers of ["all", "true", "7"]) {
      expect(fields(tool(`callers: ${callers}`))).toEqual(["$.capabilities.tools[0].callers"]);
    }
    for (const callers of ["['*']", "[Web]", "[plugin__*__x]", "[5]"]) {
      expect(fields(tool(`callers: ${callers}`))).toEqual(["$.capabilities.tools[0].callers[0]"]);
    }
  });
  test("annotations are hints of fixed names", () => {
    accept(tool("annotations: {title: Search, readOnlyHint: true}"));
    expect(fields(tool("annotations: {readOnlyHint: yes}"))).toEqual([
      "$.capabilities.tools[0].annotations.readOnlyHint",
    ]);
  });
  test("a command hook is a list that begins with a file of the bundle", () => {
    accept(hook("{type: command, command: [bin/x]}"));
    accept(hook('{type: command, command: [bin/x, "--a b", "$(not a shell)", ""]}'));
    const base = "$.capabilities.hooks.Stop[0].hooks[0]";
    for (const first of ["/bin/sh", "../x", "~/x", "C:/x", "plugin.yaml", "''", "5"]) {
      expect(fields(hook(`{type: command, command: [${first}, -c]}`)), first).toEqual([`${base}.command[0]`]);
    }
    expect(fields(hook("{type: command, command: [bin/x, 5]}"))).toEqual([`${base}.command[1]`]);
    expect(fields(hook("{type: command, command: bin/x}"))).toEqual([`${base}.command`]);
    expect(fields(hook("{type: command, command: []}"))).toEqual([
      expect.stringContaining(`${base}.command`),
    ]);
    expect(fields(hook(`{type: command, command: [bin/x, ${"a, ".repeat(70)}]}`))).toEqual([
      `${base}.command`,
    ]);
  });
  test("a hook is a module or a command, and nothing of the other", () => {
    const base = "$.capabilities.hooks.Stop[0].hooks[0]";
    expect(fields(hook("{type: shell, command: [bin/x]}"))).toEqual([`${base}.type`]);
    expect(fields(hook("{command: [bin/x]}"))).toEqual([`${base}.type`]);
    expect(fields(hook('{type: module, target: "a.ts:b", command: [bin/x]}'))).toEqual([`${base}.command`]);
    expect(fields(hook("bin/x"))).toEqual([base]);
    expect(fields(`${HEAD}capabilities: {hooks: {Stop: [{hooks: []}]}}`)).toEqual([
      "$.capabilities.hooks.Stop[0].hooks",
    ]);
  });
  test("the number of entries is bounded", () => {
    const agents = (count: number) =>
      `${HEAD}capabilities: {agents: [${
        Array.from({ length: count }, (_, index) => `a/${index}.md`).join()
      }]}`;
    accept(agents(256));
    expect(fields(agents(257))).toEqual(["$.capabilities.agents"]);
  });
});

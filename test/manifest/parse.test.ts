import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { capabilitiesOf, declaredFiles, fieldName, parseManifest } from "../../src/manifest/mod.ts";
import { accept, fields, HEAD, refusal, refuse } from "./support.ts";

const WHOLE = readFileSync(new URL("fixtures/whole.yaml", import.meta.url));

/** One key of a manifest: YAML that is accepted, YAML that is refused, and the field that the refusal names. */
interface KeyCase {
  readonly accepted: string;
  readonly refused: string;
  readonly field: string;
}

const tool = (rest: string) => `capabilities: {tools: [{name: t, target: "a.ts:b", ${rest}}]}`;

const KEYS: Readonly<Record<string, KeyCase>> = {
  manifestVersion: {
    accepted: "manifestVersion: 1",
    refused: "manifestVersion: '1'",
    field: "$.manifestVersion",
  },
  description: {
    accepted: "description: |\n  two\n  lines",
    refused: "description: [x]",
    field: "$.description",
  },
  sallyport: { accepted: 'sallyport: ">=0.1 <1"', refused: "sallyport: latest", field: "$.sallyport" },
  permissions: { accepted: "permissions: {env: [A]}", refused: "permissions: [env]", field: "$.permissions" },
  limits: {
    accepted: "limits: {memoryMb: 64}",
    refused: "limits: {memoryMb: 0}",
    field: "$.limits.memoryMb",
  },
  capabilities: { accepted: "capabilities: {}", refused: "capabilities: []", field: "$.capabilities" },
  lifecycle: {
    accepted: 'lifecycle: {activate: "m.ts:up", stop: "m.ts:down"}',
    refused: "lifecycle: {activate: m.ts}",
    field: "$.lifecycle.activate",
  },
  tools: {
    accepted: tool("input: {type: object}, output: true_"),
    refused: tool("input: {type: string}"),
    field: "$.capabilities.tools[0].input.type",
  },
  commands: {
    accepted: 'capabilities: {commands: [{name: go, target: "a.ts:b", description: d, usage: "<topic>"}]}',
    refused: 'capabilities: {commands: [{name: go, target: "a.ts:b", usage: ""}]}',
    field: "$.capabilities.commands[0].usage",
  },
  hooks: {
    accepted:
      'capabilities: {hooks: {PreToolUse: [{matcher: "*", hooks: [{type: command, command: [h/run, -q]}]}]}}',
    refused: "capabilities: {hooks: {PreToolUse: [{hooks: [{type: command, command: [/bin/sh, -c, x]}]}]}}",
    field: "$.capabilities.hooks.PreToolUse[0].hooks[0].command[0]",
  },
  prompts: {
    accepted: "capabilities: {prompts: [p/a.md]}",
    refused: "capabilities: {prompts: [../a.md]}",
    field: "$.capabilities.prompts[0]",
  },
  skills: {
    accepted: "capabilities: {skills: [s/a/SKILL.md]}",
    refused: "capabilities: {skills: [s/a]}",
    field: "$.capabilities.skills[0]",
  },
  agents: {
    accepted: "capabilities: {agents: [a/b.md]}",
    refused: "capabilities: {agents: {a: b.md}}",
    field: "$.capabilities.agents",
  },
  playbooks: {
    accepted: "capabilities: {playbooks: [p/a.playbook.yaml]}",
    refused: "capabilities: {playbooks: [p/a.md]}",
    field: "$.capabilities.playbooks[0]",
  },
  packs: {
    accepted: "capabilities: {packs: [p/a.yaml]}",
    refused: "capabilities: {packs: [plugin.yaml]}",
    field: "$.capabilities.packs[0]",
  },
  themes: {
    accepted: "capabilities: {themes: [t/dusk/theme.json]}",
    refused: "capabilities: {themes: [t/dusk/theme.css]}",
    field: "$.capabilities.themes[0]",
  },
  providers: {
    accepted: 'capabilities: {providers: [{name: p, target: "a.ts:b"}]}',
    refused: 'capabilities: {providers: [{name: p q, target: "a.ts:b"}]}',
    field: "$.capabilities.providers[0].name",
  },
  guardrails: {
    accepted: 'capabilities: {guardrails: [{name: g, target: "a.ts:b", on: [tool.input, tool.output]}]}',
    refused: 'capabilities: {guardrails: [{name: g, target: "a.ts:b", on: [tool.call]}]}',
    field: "$.capabilities.guardrails[0].on[0]",
  },
  interceptors: {
    accepted: 'capabilities: {interceptors: [{point: tool.call, target: "a.ts:b", priority: 10}]}',
    refused: 'capabilities: {interceptors: [{point: tool.call, target: "a.ts:b", priority: high}]}',
    field: "$.capabilities.interceptors[0].priority",
  },
  panels: {
    accepted: 'capabilities: {panels: [{name: s, target: "a.ts:b"}]}',
    refused: "capabilities: {panels: [{name: s}]}",
    field: "$.capabilities.panels[0].target",
  },
};

describe("[L14] each key has a schema", () => {
  for (const [key, { accepted, refused, field }] of Object.entries(KEYS)) {
    test(key, () => {
      accept(HEAD + accepted.replace(", output: true_", ", output: {type: array}"));
      expect(fields(HEAD + refused)).toEqual([field]);
    });
  }

  test("every surface and every key of the schema has its row here", async () => {
    const { SURFACES } = await import("../../src/surfaces/mod.ts");
    expect(Object.keys(KEYS)).toEqual(expect.arrayContaining(Object.keys(SURFACES)));
    const missing = Object.keys(parseManifest(WHOLE, { file: "whole.yaml" }))
      .filter((key) => !key.startsWith("x-") && key !== "name" && key !== "version" && !(key in KEYS));
    expect(missing).toEqual([]);
  });
});

test("[L14] the manifest with everything is read, and nothing of it is lost", () => {
  const manifest = parseManifest(WHOLE, { file: "whole.yaml" });
  expect(Object.keys(manifest.capabilities).length).toBe(13);
  expect(manifest.permissions["storage"]).toEqual({ maxBytes: 1048576 });
  expect(manifest["x-provenance"]).toBe("anything");
  expect(manifest.manifestVersion).toBe(1);
});

test("[L07] a name has 1 to 32 characters, begins with a letter or digit and is lower case", () => {
  const named = (name: string) => `name: ${JSON.stringify(name)}\nversion: "1"`;
  for (const name of ["a", "0", "a".repeat(32), "a-b--c-"]) expect(accept(named(name)).name).toBe(name);
  for (const name of ["", "a".repeat(33), "-a", "A", "aB", "a_b", "a.b", "a b", "a\n", "é", "ａ"]) {
    expect(fields(named(name)), name).toEqual(["$.name"]);
  }
});

test("[L08] version is required and free text of at most 64; description is optional, at most 4096", () => {
  expect(accept('name: a\nversion: "not a semver"').version).toBe("not a semver");
  expect(accept(`name: a\nversion: "${"1".repeat(64)}"`).version.length).toBe(64);
  expect(fields(`name: a\nversion: "${"1".repeat(65)}"`)).toEqual(["$.version"]);
  expect(fields('name: a\nversion: ""')).toEqual(["$.version"]);
  expect(fields('name: a\nversion: "a\\nb"')).toEqual(["$.version"]);
  expect(fields("name: a")).toEqual(["$.version"]);
  expect(refuse("name: a\nversion: 1.0")[0]?.message).toContain("put it in quotes");
  expect(accept(`${HEAD}description: ${"d".repeat(4096)}`).description?.length).toBe(4096);
  expect(fields(`${HEAD}description: ${"d".repeat(4097)}`)).toEqual(["$.description"]);
});

test("[L09] sallyport is a semver range", () => {
  for (const range of [">=0.1 <1", "^1.2.3", "1.x", "*", "1.0.0 - 2.0.0", ">=99", ">=1.0.0-rc.1 || 3"]) {
    expect(accept(`${HEAD}sallyport: "${range}"`).sallyport).toBe(range);
  }
  for (const range of ["latest", ">=", "1.2.3.4", "", " ", "^^1", "=>1", "1".repeat(129), "npm:x@1"]) {
    expect(fields(`${HEAD}sallyport: "${range}"`), range).toEqual(["$.sallyport"]);
  }
  expect(fields(`${HEAD}sallyport: 1`)).toEqual(["$.sallyport"]);
});

test("[R22] manifestVersion is 1 unless it says so; an unknown one is refused, naming the known ones", () => {
  expect(accept(HEAD).manifestVersion).toBe(1);
  expect(accept(`${HEAD}manifestVersion: 1`).manifestVersion).toBe(1);
  const issues = refuse(`${HEAD}manifestVersion: 2\nnewKey: 1`);
  expect(issues.map((issue) => issue.path)).toEqual(["$.manifestVersion"]);
  expect(issues[0]?.message).toBe("version 2 is unknown; this Sallyport reads 1");
  expect(issues[0]?.line).toBe(3);
  for (const version of ["0", "1.5", "-1", "'1'", "null", "[1]"]) {
    expect(fields(`${HEAD}manifestVersion: ${version}`)).toEqual(["$.manifestVersion"]);
  }
});

describe("[L11] unknown keys are errors, with the key that was meant", () => {
  const CASES: readonly (readonly [string, string, string])[] = [
    ["playbook: p.yaml", "$.playbook", 'did you mean "capabilities.playbooks"?'],
    ["tools: []", "$.tools", 'did you mean "capabilities.tools"?'],
    ["permission: {}", "$.permission", 'did you mean "permissions"?'],
    ["Description: x", "$.Description", 'did you mean "description"?'],
    ["capabilities: {playbook: []}", "$.capabilities.playbook", 'did you mean "playbooks"?'],
    [
      "capabilities: {hooks: {PreTooluse: []}}",
      "$.capabilities.hooks.PreTooluse",
      'did you mean "PreToolUse"?',
    ],
    [tool("inputSchema: {}"), "$.capabilities.tools[0].inputSchema", 'did you mean "input"?'],
    [
      tool("annotations: {readonly: true}"),
      "$.capabilities.tools[0].annotations.readonly",
      'did you mean "readOnlyHint"?',
    ],
    ["limits: {memoryMB: 1}", "$.limits.memoryMB", 'did you mean "memoryMb"?'],
    ["lifecycle: {onStop: a.ts:b}", "$.lifecycle.onStop", 'did you mean "stop"?'],
    ["x_a: 1", "$.x_a", 'keys of your own begin with "x-"'],
    ["wasm: true", "$.wasm", "`wasm` is a permission"],
    ["enabled: true", "$.enabled", "user's settings"],
    ["somethingElse: 1", "$.somethingElse", ""],
    ["toString: 1", "$.toString", ""],
  ];
  for (const [text, field, hint] of CASES) {
    test(field, () => {
      const issues = refuse(HEAD + text);
      expect(issues.map((issue) => issue.path)).toEqual([field]);
      expect(issues[0]?.message).toContain("unknown key");
      if (hint === "") expect(issues[0]?.hint).toBe(undefined);
      else expect(issues[0]?.hint).toContain(hint);
    });
  }
  test("the place is the key's", () => {
    expect(refuse(`${HEAD}limits:\n  memory: 12`)[0]).toMatchObject({ line: 4, column: 3 });
  });
});

test("[L12] x- keys are kept and ignored at every level that takes keys", () => {
  const text = `${HEAD}x-foo: {a: [1]}
permissions: {x-foo: 1, net: {allow: [], x-foo: 2}}
limits: {x-foo: 1}
lifecycle: {x-foo: 1}
capabilities:
  x-foo: 1
  tools: [{name: t, target: "a.ts:b", x-foo: {deep: true}, annotations: {x-foo: 1}}]
  hooks: {x-foo: 1, Stop: [{x-foo: 1, hooks: [{type: module, target: "a.ts:b", x-foo: 1}]}]}
`;
  const manifest = accept(text);
  expect(JSON.stringify(manifest).match(/x-foo/g)?.length).toBe(text.match(/x-foo/g)?.length);
  expect(manifest["x-foo"]).toEqual({ a: [1] });
  for (const key of ["x-", "x", "X-a", "x-é", "x-a\u00a0", "x- ", "х-a"]) {
    expect(refuse(`${HEAD}${JSON.stringify(key)}: 1`).length, key).toBe(1);
  }
});

test("[L13] plugins name no dependencies; the hint is the call permission", () => {
  for (const key of ["requires", "dependencies"]) {
    for (const text of [`${HEAD}${key}: [other]`, HEAD + tool(`${key}: [other]`)]) {
      const [issue, ...others] = refuse(text);
      expect(others).toEqual([]);
      expect(issue?.path.endsWith(`.${key}`)).toBe(true);
      expect(issue?.hint).toContain("`call` permission");
    }
  }
  accept(`${HEAD}permissions: {call: [plugin__other__do_it]}`);
});

test("[L04] every issue comes at once, each with file, line, column and field; nothing is loaded", () => {
  const error = refusal(
    'name: Bad\ndescripton: x\ncapabilities:\n  tools:\n    - {name: t, target: "a.ts:b"}\n    - {name: t, target: "../a.ts:b"}\n' +
      "  agents: a.md\npermissions: {read: 7}\nsallyport: soon\n",
    "plugins/bad/plugin.yaml",
  );
  expect(error.code).toBe("ERR_MANIFEST_INVALID");
  const issues = error.details["issues"] as { path: string; line: number; column: number; file: string }[];
  expect(issues.map((issue) => [issue.path, issue.line, issue.column])).toEqual(expect.arrayContaining([
    ["$.name", 1, 7],
    ["$.version", 1, 1],
    ["$.descripton", 2, 1],
    ["$.capabilities.tools[1].target", 6, 25],
    ["$.capabilities.tools[1].name", 6, 14],
    ["$.capabilities.agents", 7, 11],
    ["$.permissions.read", 8, 21],
    ["$.sallyport", 9, 12],
  ]));
  expect(issues.length).toBe(8);
  expect(new Set(issues.map((issue) => issue.file))).toEqual(new Set(["plugins/bad/plugin.yaml"]));
  for (const issue of issues) {
    expect(error.message).toContain(`line ${issue.line}, column ${issue.column}, ${issue.path}: `);
  }
  expect(error.message).toContain('Cannot use manifest "plugins/bad/plugin.yaml": 8 problems');
});

test("[L04] faults of the YAML and of the fields come together, each once", () => {
  const error = refusal('name: &n "a\\u0000"\nversion: 1\nlimits: {cpuMs: &c -1}\n');
  expect(error.code).toBe("ERR_MANIFEST_SYNTAX");
  const issues = error.details["issues"] as { path: string; message: string }[];
  expect(issues.map((issue) => issue.path).sort()).toEqual([
    "$.limits.cpuMs",
    "$.name",
    "$.name",
    "$.version",
  ]);
  expect(issues.filter((issue) => issue.path === "$.limits.cpuMs")[0]?.message).toContain("anchor");
});

test("[L04] a manifest with thousands of faults is answered within a second, with the first hundred", () => {
  const started = performance.now();
  const error = refusal(
    HEAD + Array.from({ length: 6000 }, (_, index) => `descriptio${index}: 1`).join("\n"),
  );
  expect(performance.now() - started).toBeLessThan(1000);
  expect((error.details["issues"] as unknown[]).length).toBe(100);
  expect(error.message).toContain("and 5900 more");
});

test("[T16] no text of a manifest reaches a message unescaped", () => {
  const hostile = ['"\\e[2J"', '"\\u202e"', '"a\\nb"', '"\\u200b"', '"\\ud800"', '"\\x9b"'];
  const texts = hostile.flatMap((key) => [
    `${HEAD}${key}: 1`,
    `${HEAD}capabilities: {${key}: 1}`,
    `${HEAD}permissions: {${key}: 1}`,
    `${HEAD}permissions: {net: [${key}]}`,
    `${HEAD}sallyport: ${key}`,
    HEAD + tool(`input: {type: object, properties: {a: {$ref: ${key}}}}`),
    HEAD + tool(`callers: [${key}]`),
    `${HEAD}capabilities: {agents: [${key}]}`,
    `${HEAD}capabilities: {hooks: {Stop: [{matcher: ${key}, hooks: [{type: ${key}}]}]}}`,
  ]);
  for (const text of texts) {
    const error = refusal(text, "a\x1b[2J/plugin.yaml");
    const all = error.message.replaceAll("\n", "") + JSON.stringify(error.details);
    // deno-lint-ignore no-control-regex
    expect(all, text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e]/);
    expect(all.isWellFormed()).toBe(true);
    expect(error.message).toContain("a\\u{1b}[2J/plugin.yaml");
    // One line for the head and one for each issue: a value cannot add lines of its own.
    expect(error.message.split("\n").length).toBe((error.details["issues"] as unknown[]).length + 1);
  }
});

test("limits are whole numbers in bounds", () => {
  expect(accept(`${HEAD}limits: {memoryMb: 64, cpuMs: 1000, wallMs: 30000}`).limits).toEqual({
    memoryMb: 64,
    cpuMs: 1000,
    wallMs: 30000,
  });
  for (const value of ["0", "-1", "1.5", "'64'", "1e9", "true", "null", "[64]"]) {
    for (const key of ["memoryMb", "cpuMs", "wallMs"]) {
      expect(fields(`${HEAD}limits: {${key}: ${value}}`), value).toEqual([`$.limits.${key}`]);
    }
  }
});

test("permissions are read by the permissions' own schema, and a fault names its entry", () => {
  accept(
    `${HEAD}permissions: {read: {allow: [./data], mutable: true}, wasm: true, dynamicCode: true, net: []}`,
  );
  expect(fields(`${HEAD}permissions: {net: ["a.example", "http://"]}`)).toEqual(["$.permissions.net[1]"]);
  expect(fields(`${HEAD}permissions: {net: ["a.example,b.example"]}`)).toEqual(["$.permissions.net[0]"]);
  expect(fields(`${HEAD}permissions: {wasm: [x]}`)).toEqual(["$.permissions.wasm[0]"]);
  expect(fields(`${HEAD}permissions: {wasm: yes, dynamicCode: 1}`).map((field) => field)).toEqual(
    expect.arrayContaining(["$.permissions.wasm", "$.permissions.dynamicCode"]),
  );
  expect(fields(`${HEAD}permissions: {nett: true}`)).toEqual(["$.permissions.nett"]);
  expect(refuse(`${HEAD}permissions: {write: [./out]}`)[0]?.message).toContain("$data");
});

test("the manifest is deeply frozen, and Object.prototype is out of its reach", () => {
  const manifest = parseManifest(WHOLE, { file: "whole.yaml" });
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    expect(Object.isFrozen(value)).toBe(true);
    Object.values(value).forEach(visit);
  };
  visit(manifest);
  const tricky = accept(
    `${HEAD}x-a: {constructor: {prototype: {polluted: 1}}, toString: 1, hasOwnProperty: 2}`,
  );
  expect(({} as Record<string, unknown>)["polluted"]).toBe(undefined);
  expect(JSON.stringify(tricky["x-a"])).toContain("polluted");
});

test("fields are written as JSON paths, odd keys quoted and escaped", () => {
  expect(fieldName([])).toBe("$");
  expect(fieldName(["a", 0, "b-c", "x-"])).toBe("$.a[0].b-c.x-");
  expect(fieldName(["a b", "", "\x1b"])).toBe('$["a b"][""]["\\\\u{1b}"]');
});

test("[L05] every declared file is listed with the place that declares it", () => {
  const files = declaredFiles(parseManifest(WHOLE, { file: "whole.yaml" }));
  expect(files.map((file) => `${file.role} ${file.path} ${fieldName(file.at)}`)).toEqual([
    "target tools/search.ts $.capabilities.tools[0].target",
    "target commands/research.ts $.capabilities.commands[0].target",
    "target hooks/guard.ts $.capabilities.hooks.PreToolUse[0].hooks[0].target",
    "executable hooks/rate_guard $.capabilities.hooks.PostToolUse[0].hooks[0].command[0]",
    "document prompts/brief.md $.capabilities.prompts[0]",
    "document skills/weather/SKILL.md $.capabilities.skills[0]",
    "document agents/researcher.md $.capabilities.agents[0]",
    "document playbooks/deep-research.playbook.yaml $.capabilities.playbooks[0]",
    "document packs/research.yaml $.capabilities.packs[0]",
    "document themes/dusk/theme.json $.capabilities.themes[0]",
    "target providers/searchapi.ts $.capabilities.providers[0].target",
    "target guards/pii.ts $.capabilities.guardrails[0].target",
    "target intercept/cache.ts $.capabilities.interceptors[0].target",
    "target ui/status.ts $.capabilities.panels[0].target",
    "target main.ts $.lifecycle.activate",
    "target main.ts $.lifecycle.stop",
  ]);
  const places = new Set(files.map((file) => fieldName(file.at)));
  expect(places.size).toBe(files.length);
});

test("capabilities carry their full ids, and how they are typed", async () => {
  const { SURFACES } = await import("../../src/surfaces/mod.ts");
  const capabilities = capabilitiesOf(parseManifest(WHOLE, { file: "whole.yaml" }));
  expect(capabilities.map((capability) => [capability.fullId, ...capability.aliases].join(" "))).toEqual([
    "plugin__web-research__web_search",
    "web-research/research /web-research:research",
    "web-research/PreToolUse/0/0",
    "web-research/PostToolUse/0/0",
    "web-research/brief /web-research:brief",
    "web-research/weather",
    "web-research/researcher",
    "web-research/deep-research",
    "web-research/research",
    "plugin:web-research:dusk",
    "plugin/web-research/searchapi",
    "web-research/no-pii",
    "web-research/tool.call/0",
    "web-research/status /web-research:status",
  ]);
  const [search] = capabilities;
  expect(search).toMatchObject({
    surface: "tools",
    name: "web_search",
    target: { path: "tools/search.ts", exportName: "webSearch" },
    files: ["tools/search.ts"],
    description: "Search the web",
    at: ["capabilities", "tools", 0],
  });
  for (const [name, surface] of Object.entries(SURFACES)) expect(surface.name).toBe(name);
});

test("[L14][T07] a command hook declares the files that it sees beside itself; each is one of the bundle's", () => {
  const hook = (text: string): string =>
    `${HEAD}capabilities: {hooks: {Stop: [{hooks: [{type: command, command: [h/run], ${text}}]}]}}`;
  const manifest = accept(hook("files: [h/lib.sh, h/data/table]"));
  expect(declaredFiles(manifest).map((file) => `${file.role} ${file.path} ${fieldName(file.at)}`)).toEqual([
    "executable h/run $.capabilities.hooks.Stop[0].hooks[0].command[0]",
    "executable h/lib.sh $.capabilities.hooks.Stop[0].hooks[0].files[0]",
    "executable h/data/table $.capabilities.hooks.Stop[0].hooks[0].files[1]",
  ]);
  expect(capabilitiesOf(manifest).map(({ files }) => files)).toEqual([["h/run", "h/lib.sh", "h/data/table"]]);
  const at = "$.capabilities.hooks.Stop[0].hooks[0].files";
  for (const path of ["../lib.sh", "/etc/passwd", "a\\\\b", "h/"]) {
    expect(fields(hook(`files: ["${path}"]`))).toEqual([`${at}[0]`]);
  }
  const many = Array.from({ length: 33 }, (_, index) => `h/${index}`);
  expect(fields(hook(`files: [${many.join(", ")}]`))).toEqual([at]);
  expect(fields(hook("files: h/lib.sh"))).toEqual([at]);
});

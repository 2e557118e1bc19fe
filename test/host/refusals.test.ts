import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Denial, memoryAudit, toOperator } from "../../src/mod.ts";
import { approve, approved, failureOf, hosted, pluginOf, temporary, write } from "./support.ts";

const TRY = `
const facts = (error) => ({
  name: error.name, message: error.message, code: error.code, kind: error.kind, value: error.value,
  own: Object.getOwnPropertyNames(error).sort(), text: String(error.stack), isNotCapable: error instanceof Deno.errors.NotCapable,
});
export const go = async ({ act, path, name }) => {
  try {
    if (act === "env") return { value: Deno.env.get(name) };
    const result = act === "readDir" ? await Array.fromAsync(Deno.readDir(path)) : await Deno[act](path);
    return { value: typeof result };
  } catch (error) {
    return facts(error);
  }
};
export const escape = async ({ path }) => await Deno.readTextFile(path);
export const forge = async ({ path, kind }) => {
  const real = await Deno.readTextFile(path).catch((error) => error);
  const made = kind === "class"
    ? new Deno.errors.NotCapable(real.message)
    : Object.assign(new Error(real.message), {
      name: "NotCapable", code: "ERR_NOT_CAPABLE", kind: "read", value: "/etc/shadow", denial: "d000000000000000000000000-1",
    });
  throw made;
};
export const rethrow = async ({ path }) => {
  try {
    await Deno.readTextFile(path);
  } catch (error) {
    throw error;
  }
};`;

interface Facts {
  readonly name: string;
  readonly message: string;
  readonly code: string;
  readonly kind: string;
  readonly value: string | null;
  readonly own: readonly string[];
  readonly text: string;
  readonly isNotCapable: boolean;
}

const place = temporary();
write(place, {
  "open/a.txt": "open",
  "closed/secret.txt": "secret",
  "open/kept/b.txt": "kept",
});
symlinkSync(join(place, "closed/secret.txt"), join(place, "open/way-out"));
const directory = pluginOf("asker", { go: TRY }, {
  head: `permissions:
  read: { allow: [${JSON.stringify(join(place, "open"))}, "./data"], deny: [${
    JSON.stringify(join(place, "open/kept"))
  }] }
  env: [WORD]
`,
  files: { "data/own.txt": "own" },
});
write(directory, {
  "plugin.yaml": `name: asker
version: "1"
permissions:
  read: { allow: [${JSON.stringify(join(place, "open"))}, "./data"], deny: [${
    JSON.stringify(join(place, "open/kept"))
  }] }
  env: [WORD]
capabilities:
  tools:
${
    ["go", "escape", "forge", "rethrow"].map((name) =>
      `    - { name: ${name}, target: "tools/go.ts:${name}" }\n`
    ).join("")
  }`,
});
const audit = memoryAudit();
const host = await hosted({ audit: () => audit });
const policy = {
  permissions: { read: true, env: ["WORD", "HIDDEN_RULE_*"] },
  environment: { WORD: "w" },
} as const;
const tenant = await approved(host, "acme", { plugins: [directory], policy });

async function attempt(
  input: object,
): Promise<{ readonly facts: Facts; readonly denials: readonly Denial[] }> {
  const denials: Denial[] = [];
  const facts = await tenant.call("go", input, { onDenial: (denial) => denials.push(denial) }) as Facts;
  return { facts, denials };
}

const REFUSED = [
  { act: "readTextFile", path: join(place, "closed/secret.txt") },
  { act: "readTextFile", path: join(place, "open/../closed/secret.txt") },
  { act: "readTextFile", path: join(place, "open/kept/b.txt") },
  { act: "readTextFile", path: join(place, "open/way-out") },
  { act: "readTextFile", path: "../../../etc/passwd" },
  { act: "readTextFile", path: join(place, "closed/nothing-here.txt") },
  { act: "readFile", path: "/proc/self/environ" },
  { act: "readDir", path: join(place, "closed") },
  { act: "stat", path: place },
  { act: "lstat", path: join(place, "closed") },
  { act: "env", name: "HOME" },
];

test.each(REFUSED)(
  "[T18] the guest learns name, code, kind and its own spelling: $act $path$name",
  async (input) => {
    const { facts, denials } = await attempt(input);
    const spelled = input.path ?? input.name!;
    expect(facts).toMatchObject({
      name: "NotCapable",
      code: "ERR_NOT_CAPABLE",
      kind: input.act === "env" ? "env" : "read",
      value: spelled,
      isNotCapable: true,
    });
    expect(facts.message).toBe(`Requires ${facts.kind} access to ${JSON.stringify(spelled)}`);
    // Beside what it wrote itself there is no path, rule or remedy, in any own property or in the stack.
    const told = JSON.stringify(facts).replaceAll(JSON.stringify(JSON.stringify(spelled)).slice(1, -1), "")
      .replaceAll(JSON.stringify(spelled), "");
    for (
      const word of [
        place,
        directory,
        "policy",
        "manifest",
        "permissions",
        "plugin.yaml",
        "allow",
        'deny"',
        "--",
      ]
    ) {
      expect(told).not.toContain(word);
    }
    // The caller is told all of it.
    const { details, message } = toOperator(denials[0]!);
    expect(details.rule).toBeTruthy();
    expect(details.remedy).toBeTruthy();
    expect(message).toContain('Plugin "asker" may not');
  },
);

test("[T18] what is granted is the twin: the same acts inside the grant tell their result", async () => {
  for (
    const input of [
      { act: "readTextFile", path: join(place, "open/a.txt") },
      { act: "readTextFile", path: "./data/own.txt" },
      { act: "readFile", path: join(place, "open/a.txt") },
      { act: "readDir", path: join(place, "open") },
      { act: "stat", path: join(place, "open/a.txt") },
      { act: "lstat", path: join(place, "open/way-out") },
      { act: "env", name: "WORD" },
    ]
  ) {
    const { facts, denials } = await attempt(input);
    expect([input, facts, denials]).toEqual([input, { value: expect.any(String) }, []]);
  }
});

test("[T18] other failures of an op hold no host path either", async () => {
  for (
    const input of [
      { act: "readTextFile", path: "./data/missing.txt" },
      { act: "readTextFile", path: "./data" },
      { act: "readDir", path: "./data/own.txt" },
      { act: "stat", path: join(place, "open/missing") },
      { act: "readTextFile", path: join(place, "open") },
    ]
  ) {
    const { facts } = await attempt(input);
    expect(facts.isNotCapable).toBe(false);
    const told = JSON.stringify(facts).replaceAll(JSON.stringify(input.path).slice(1, -1), "");
    for (const word of [place, directory, "/home", "node:", "src/", "runtime/"]) {
      expect(told).not.toContain(word);
    }
  }
});

test("[T18] an escaping refusal reaches the caller with rule, resolved value and remedy", async () => {
  const error = await failureOf(tenant.call("escape", { path: "../../closed" }));
  expect(error.code).toBe("ERR_NOT_CAPABLE");
  expect(error.details).toMatchObject({
    kind: "read",
    value: join(directory, "../../closed"),
    rule: "no entry of manifest permissions.read covers it",
  });
  expect(error.details.remedy).toContain("plugin.yaml");
  const deny = await failureOf(tenant.call("escape", { path: join(place, "open/kept/b.txt") }));
  expect(deny.details.rule).toContain("manifest permissions.read.deny[0]");
});

test("[T25] a link out of the grant is decided about again, and both decisions are in the audit", async () => {
  const before = audit.events.length;
  await attempt({ act: "readTextFile", path: join(place, "open/way-out") });
  const ops = audit.events.slice(before).filter(({ type }) => type === "op");
  expect(ops.map(({ decision, value }) => [decision, value])).toEqual([
    ["granted", join(place, "open/way-out")],
    ["denied", join(place, "closed/secret.txt")],
  ]);
});

test("a refusal that the plugin caught leaves a value, and is listed under denials", async () => {
  const denials: Denial[] = [];
  const value = await tenant.call("go", { act: "readTextFile", path: "/etc/shadow" }, {
    onDenial: (denial) => denials.push(denial),
  });
  expect(value).toMatchObject({ name: "NotCapable" });
  expect(denials.map(({ decision, spelled }) => [decision.kind, spelled])).toEqual([["read", "/etc/shadow"]]);
});

test("a rethrown refusal is the refusal; a forged one is the guest's own error", async () => {
  expect((await failureOf(tenant.call("rethrow", { path: "/etc/shadow" }))).code).toBe("ERR_NOT_CAPABLE");
  for (const kind of ["class", "object"]) {
    const error = await failureOf(tenant.call("forge", { path: "/etc/shadow", kind }));
    expect([kind, error.code]).toEqual([kind, "ERR_GUEST_THREW"]);
    expect(error.details.rule).toBeUndefined();
  }
});

test("[T18] bundle errors name files as the plugin does", async () => {
  for (
    const [name, code] of [
      ["syntax", "export const syntax = ("],
      ["leaving", 'import "../../../etc/passwd"; export const leaving = 1;'],
      ["builtin", 'import "node:fs"; export const builtin = 1;'],
      ["remote", 'import "https://example.com/x.js"; export const remote = 1;'],
      ["lacking", 'import "./no-such.ts"; export const lacking = 1;'],
      ["computed", "export const computed = (name) => import(`./${name}.ts`);"],
    ] as const
  ) {
    const broken = pluginOf("broken", { [name]: code });
    const error = await failureOf(approve(host.tenant(`b-${name}`, { plugins: [broken] }), "broken"));
    expect([name, error.name]).toEqual([name, "BundleError"]);
    expect(error.message).toContain(`tools/${name}.ts`);
    expect(JSON.stringify([error.message, error.details])).not.toContain(broken);
  }
});

test("[T29] a guest's stack is told in terms of the plugin's own files, and of nothing else", async () => {
  const thrower = pluginOf("thrower", {
    go: `import { deep } from "./deep.ts";\nexport const go = () => deep();`,
  }, {
    files: { "tools/deep.ts": '\nexport function deep() {\n  throw new TypeError("at the bottom");\n}\n' },
  });
  const other = await approved(host, "thrower", { plugins: [thrower] });
  const error = await failureOf(other.call("go", {}));
  expect(error.code).toBe("ERR_GUEST_THREW");
  const stack = String(error.details.guestStack);
  expect(stack).toContain("tools/deep.ts:3");
  expect(stack).toContain("tools/go.ts:2");
  expect(JSON.stringify([error.message, error.details])).not.toContain(thrower);
});

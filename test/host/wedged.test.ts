/**
 * A wedged plugin on each surface that runs code: within its own deadline it comes to what the surface says of no answer, and
 * everybody else is served meanwhile.
 */
import { join } from "node:path";
import process from "node:process";
import { beforeAll, describe, expect, test } from "vitest";
import { rememberedJail } from "../../runtime/mod.ts";
import {
  type Host,
  memoryAudit,
  type SallyportError,
  type Tenant,
  type TenantPolicy,
} from "../../src/mod.ts";
import { approved, hosted, pluginOf, temporary, until, write } from "./support.ts";

const canRun = process.env.SALLYPORT_TEST_STRONG === "1" || typeof await rememberedJail()() !== "string";
const LIMIT: unknown = expect.stringMatching(/^ERR_LIMIT_(WALL|CPU)$/);
const BLOCKED = ["ERR_BLOCKED", false, LIMIT];
const ECHO = "  tools: [{ name: echo, target: 'code.ts:echo', input: { type: object } }]\n";
const PASSING: TenantPolicy = { onNoAnswer: { wedged: "continue" } };

/** One way of being wedged. */
interface Shape {
  readonly body: string;
  /** Whether several at once leave the machine to others. */
  readonly isQuiet: boolean;
  /** Whether the cases in which the policy lets pass are tried as well; whatever is no answer is passed alike. */
  readonly alsoPassing: boolean;
}

const SHAPES: Readonly<Record<string, Shape>> = {
  "waits for what never comes": {
    body: "await new Promise(() => {});",
    isQuiet: true,
    alsoPassing: true,
  },
  "loops": { body: "for (;;);", isQuiet: false, alsoPassing: false },
  "is busy and never settles": {
    body: "for (;;) await new Promise((resume) => setTimeout(resume, 5));",
    isQuiet: true,
    alsoPassing: false,
  },
};

/** One way of running a plugin's code, and what comes of one that is wedged. */
interface Case {
  readonly capabilities: string;
  readonly use: (tenant: Tenant) => Promise<unknown>;
  readonly comesTo: unknown;
  readonly policy?: TenantPolicy;
}

const call = (tenant: Tenant) => tenant.call("plugin__wedged__echo", { n: 1 });
const prompt = (tenant: Tenant) => tenant.emit({ name: "UserPromptSubmit", prompt: "hello" });
const hook = (event: string) =>
  `  hooks: { ${event}: [{ hooks: [{ type: module, target: 'code.ts:wedge' }] }] }\n`;
const entry = (surface: string, more = "") =>
  `  ${surface}: [{ name: stuck, target: 'code.ts:wedge'${more} }]\n`;

const before: Readonly<Record<string, string>> = {
  "a hook that decides": ECHO + hook("PreToolUse"),
  "a guardrail of what goes in": ECHO + entry("guardrails", ", on: [tool.input]"),
  "a guardrail of what comes out": ECHO + entry("guardrails", ", on: [tool.output]"),
  "an interceptor": `${ECHO}  interceptors: [{ point: tool.call, target: 'code.ts:wedge' }]\n`,
};

const CASES: Readonly<Record<string, Case>> = {
  "a tool ends with the limit": {
    capabilities: entry("tools", ", input: { type: object }"),
    use: (tenant) => tenant.call("plugin__wedged__stuck", {}),
    comesTo: [LIMIT],
  },
  "a command ends with the limit": {
    capabilities: entry("commands"),
    use: (tenant) => tenant.commands.run("/wedged:stuck", ""),
    comesTo: [LIMIT],
  },
  "a panel ends with the limit": {
    capabilities: entry("panels"),
    use: (tenant) => tenant.panels.render("wedged/stuck"),
    comesTo: [LIMIT],
  },
  "a provider's stream ends with the limit, after what it gave": {
    capabilities: "  providers: [{ name: flow, target: 'code.ts:flow' }]\n",
    use: async (tenant) => {
      const stream = tenant.providers.stream("plugin/wedged/flow", {});
      expect((await stream.next()).value).toBe(1);
      return await stream.next();
    },
    comesTo: [LIMIT],
  },
  ...Object.fromEntries(
    Object.entries(before).map(([what, capabilities]) => [`${what} stops the call`, {
      capabilities,
      use: call,
      comesTo: BLOCKED,
    }]),
  ),
  ...Object.fromEntries(
    Object.entries(before).map(([what, capabilities]) => [`${what} lets it pass where the policy says so`, {
      capabilities,
      use: call,
      comesTo: ["ok", { n: 1 }],
      policy: PASSING,
    }]),
  ),
  "a hook of prompts stops the prompt": {
    capabilities: hook("UserPromptSubmit"),
    use: async (tenant) => (await prompt(tenant)).verdict,
    comesTo: ["ok", "block"],
    policy: { permissions: { intercept: true } },
  },
  "a hook that watches an event is passed, and told of": {
    capabilities: hook("Stop"),
    use: async (tenant) => {
      const { verdict, diagnostics } = await tenant.emit({ name: "Stop" });
      return [verdict, diagnostics.map(({ id }) => id)];
    },
    comesTo: ["ok", ["continue", ["wedged/Stop/0/0"]]],
  },
};

let host: Host;
let tenants = 0;
beforeAll(async () => {
  host = await hosted({ audit: () => memoryAudit() });
});

/** A tenant of a plugin that is wedged and of one that is not, which has run already. */
async function wedged(capabilities: string, body: string, policy: TenantPolicy = {}): Promise<Tenant> {
  const directory = join(temporary(), "wedged");
  write(directory, {
    "plugin.yaml":
      `name: wedged\nversion: "1"\nlimits: { wallMs: 2500 }\npermissions: { intercept: [prompt.submit] }\ncapabilities:\n${capabilities}`,
    "code.ts": `export const echo = (input: unknown) => input;
export const wedge = async () => { ${body} };
export async function* flow() { yield 1; ${body} }\n`,
  });
  const free = pluginOf("free", { go: "export const go = (input) => input;" });
  const tenant = await approved(host, `w${tenants++}`, { plugins: [directory, free], policy });
  await tenant.call("plugin__free__go", {});
  return tenant;
}

/** What a use comes to, and how often the other plugin answered before it did. */
async function outcomeOf(tenant: Tenant, use: (tenant: Tenant) => Promise<unknown>) {
  let isOver = false;
  const outcome = use(tenant).then((value) => ["ok", value], (error: SallyportError) => {
    const { code, details } = error;
    return code === "ERR_BLOCKED" ? [code, details.answered, details.code] : [code];
  }).finally(() => isOver = true);
  let served = 0;
  while (!isOver) {
    expect(await tenant.call("plugin__free__go", { served })).toEqual({ served });
    if (!isOver) served += 1;
    await new Promise((resume) => setTimeout(resume, 20));
  }
  return { outcome: await outcome, served };
}

describe.each(Object.entries(SHAPES))(
  "[T11] of a plugin whose code %s",
  { timeout: 60_000 },
  (_how, { body, isQuiet, alsoPassing }) => {
    const cases = Object.entries(CASES).filter(([, { policy }]) => policy !== PASSING || alsoPassing);
    test.each(cases)("%s", { concurrent: isQuiet }, async (_what, { capabilities, use, comesTo, policy }) => {
      const tenant = await wedged(capabilities, body, policy);
      const { outcome, served } = await outcomeOf(tenant, use);
      expect(outcome).toEqual(comesTo);
      expect(served).toBeGreaterThan(0);
    });

    test("a hook that watches calls is passed at once, and counted", async () => {
      const tenant = await wedged(ECHO + hook("PostToolUse"), body);
      expect(await call(tenant)).toEqual({ n: 1 });
      expect(tenant.pointsStats()).toMatchObject([{ plugin: "wedged", failed: 0 }]);
      await until(() => tenant.pointsStats()[0]?.failed === 1);
      expect(await call(tenant)).toEqual({ n: 1 });
    });
  },
);

describe.skipIf(!canRun)("[T11] of a plugin whose command hook", { timeout: 60_000 }, () => {
  test.each(["exec sleep 1000", "while :; do :; done"])("does %s, the call is stopped", async (script) => {
    const directory = join(temporary(), "wedged");
    write(directory, {
      "plugin.yaml":
        `name: wedged\nversion: "1"\nlimits: { wallMs: 2500 }\npermissions: { run: [./hooks/stuck] }\ncapabilities:\n${ECHO}  hooks: { PreToolUse: [{ hooks: [{ type: command, command: [hooks/stuck] }] }] }\n`,
      "code.ts": "export const echo = (input: unknown) => input;\n",
      "hooks/stuck": `#!/bin/sh\n${script}\n`,
    });
    const free = pluginOf("free", { go: "export const go = (input) => input;" });
    const policy = { permissions: { run: true } } as const;
    const tenant = await approved(host, `w${tenants++}`, { plugins: [directory, free], policy });
    const { outcome, served } = await outcomeOf(tenant, call);
    expect(outcome).toEqual(BLOCKED);
    expect(served).toBeGreaterThan(0);
    const passing = await approved(host, `w${tenants++}`, {
      plugins: [directory, free],
      policy: { ...policy, ...PASSING },
    });
    expect((await outcomeOf(passing, call)).outcome).toEqual(["ok", { n: 1 }]);
  });
});

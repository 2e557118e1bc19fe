/**
 * Where hostile plugins are let loose: a host of its own by the public API, a neighbour in the same tenant and another
 * tenant beside it, secrets in every place that a guest might reach, and a heartbeat of the host.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { z } from "zod";
import {
  createHost,
  defineOp,
  type Host,
  LimitError,
  memoryAudit,
  NotCapableError,
  type OpDefinition,
  SallyportError,
  type Tenant,
  type TenantPolicy,
} from "../../src/mod.ts";
import { isPlainText } from "../../src/display.ts";

/** One hostile plugin, or one hostile tool of a plugin that it shares with others. */
export interface HostilePlugin {
  /** Names it. */
  readonly id: string;
  /** What kind of attack it is. */
  readonly class: string;
  /** A module that exports `attack(input, context)`. `$PORT` and `$OUTSIDE` stand for a server and a file not granted to it. */
  readonly source: string;
  /**
   * What its last call may come to: the code of an error; `nothing`, which it answers when it got nothing; or, as the case
   * file says it, `returns X`, `throws`, `terminated`, `no-secret`.
   */
  readonly ends: readonly string[];
  /** Lines of its manifest. */
  readonly head?: string;
  /** Bound of one call, where it may end by it. */
  readonly wallMs?: number;
  /** How often it is called; once when absent. */
  readonly calls?: number;
  /** The plugin that it is a tool of; one of its own when absent. */
  readonly plugin?: string | undefined;
  /** The rule of the threat model that it proves, `T32`. */
  readonly proves?: string;
  /** False: it attacks while it is loaded, so nothing is called before. */
  readonly isWarmed?: boolean;
}

/** What one hostile plugin came to. */
export interface Attempt {
  /** What its last call came to, in a word: `returned X`, or the code of its error. */
  readonly came: string;
  /** What was not as it must be; empty when it was contained. */
  readonly problems: readonly string[];
  /** How late the host's heartbeat was at worst. */
  readonly lateMs: number;
}

type Outcome =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: SallyportError };

const HEARTBEAT_MS = 50;
const LATE_MS_MAX = 1_500;
const WALL_MS = 20_000;

/** All that a tenant of ours can be made to grant; each plugin gets of it what its manifest asks for. */
const POLICY: TenantPolicy = {
  permissions: {
    read: true,
    write: true,
    storage: true,
    net: ["api.example.com:443"],
    env: ["GRANTED_*"],
    sys: ["hostname"],
    dynamicCode: true,
  },
  environment: { GRANTED_A: "granted-value", UNGRANTED: "not-for-plugins" },
};

/** A host with its neighbours, for some hostile plugins. */
export class Arena {
  readonly #root: string;
  readonly #canaries: readonly string[];
  readonly #host: Host;
  readonly #tenant: Tenant;
  readonly #other: Tenant;
  readonly #server: Server;
  readonly #audits: readonly ReturnType<typeof memoryAudit>[];
  readonly #rejections: unknown[] = [];
  readonly #onRejection = (reason: unknown): void => void this.#rejections.push(reason);
  readonly #before = stateOfTheRealm();
  /** How much of each audit was looked at. */
  readonly #read: number[] = [];
  #visits = 0;
  #lastBeat = performance.now();
  #lateMs = 0;
  readonly #heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
  /** The worst lateness of the host's heartbeat in any attempt. */
  worstLateMs = 0;

  private constructor(parts: {
    readonly root: string;
    readonly canaries: readonly string[];
    readonly host: Host;
    readonly tenant: Tenant;
    readonly other: Tenant;
    readonly server: Server;
    readonly audits: readonly ReturnType<typeof memoryAudit>[];
  }) {
    this.#root = parts.root;
    this.#canaries = parts.canaries;
    this.#host = parts.host;
    this.#tenant = parts.tenant;
    this.#other = parts.other;
    this.#server = parts.server;
    this.#audits = parts.audits;
    process.on("unhandledRejection", this.#onRejection);
  }

  /** Writes, trusts and exposes the plugins; their neighbours have their secrets by then. */
  static async open(rows: readonly HostilePlugin[]): Promise<Arena> {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "sallyport-arena-")));
    const [ambient, outside, near, far, web] = Array.from(
      { length: 5 },
      () => randomBytes(12).toString("hex"),
    );
    const canaries = [ambient!, outside!, near!, far!, web!];
    process.env.HOLDOUT_CANARY = ambient!;
    Object.assign(globalThis, { HOLDOUT_CANARY: ambient });
    writeFileSync(join(root, "outside.txt"), outside!);
    const server = createServer((_request, response) => response.end(web)).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    // An open port alone must not keep a process that is done.
    server.unref();
    const audits = [memoryAudit(), memoryAudit()];
    const host = await createHost({
      confinement: "best",
      home: join(root, "home"),
      audit: (tenant) => audits[tenant === "hostile" ? 0 : 1]!,
      ops: hostOps(ambient!),
    });
    const { port } = server.address() as AddressInfo;
    const fill = (text: string): string =>
      text.replaceAll("$PORT", `${port}`).replaceAll("$OUTSIDE", join(root, "outside.txt"));
    const plugins = [...writeHostile(join(root, "plugins"), rows, fill), writeNeighbour(join(root, "near"))];
    const tenant = host.tenant("hostile", { plugins, policy: POLICY });
    const other = host.tenant("other", {
      plugins: [writeNeighbour(join(root, "far"))],
      policy: { ...POLICY, environment: { GRANTED_A: far! } },
    });
    await other.secrets.set("TOKEN", far!, { plugins: ["neighbour"], hosts: ["api.example.com:443"] });
    await Promise.all([approveAll(tenant), approveAll(other)]);
    await tenant.call("plugin__neighbour__keep", { value: near });
    await other.call("plugin__neighbour__keep", { value: far });
    return new Arena({ root, canaries, host, tenant, other, server, audits });
  }

  /** Lets one attack, and looks at everything else afterwards. */
  async attempt(row: HostilePlugin): Promise<Attempt> {
    const id = `plugin__${pluginOf(row)}__${toolOf(row)}`;
    const problems: string[] = [];
    const lines: string[] = [];
    this.#lateMs = 0;
    this.#lastBeat = performance.now();
    if (row.isWarmed !== false) {
      const started = await this.#call(id, { warm: true }, WALL_MS, []);
      if (!fits(started, "returns warm")) problems.push(`it was not started: ${storyOf(started)}`);
    }
    let outcome: Outcome | undefined;
    for (let n = 0; n < (row.calls ?? 1); n++) {
      const input = { text: "hi", list: [1, 2, 3], nested: { a: 1 }, n };
      outcome = await this.#call(id, input, boundOf(row), lines);
      problems.push(...this.#leaks(outcome, lines));
    }
    if (!row.ends.some((word) => fits(outcome!, word))) problems.push(`it came to ${storyOf(outcome!)}`);
    problems.push(...await this.#damage());
    this.#beat();
    if (this.#lateMs >= LATE_MS_MAX) problems.push(`the host was ${Math.round(this.#lateMs)} ms late`);
    this.worstLateMs = Math.max(this.worstLateMs, this.#lateMs);
    return {
      came: outcome!.kind === "returned" ? `returned ${short(outcome!.value)}` : outcome!.error.code,
      problems,
      lateMs: this.#lateMs,
    };
  }

  /** Ends the host and removes what was written. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#heartbeat);
    await this.#host.close();
    this.#server.close();
    process.off("unhandledRejection", this.#onRejection);
    delete process.env.HOLDOUT_CANARY;
    Reflect.deleteProperty(globalThis, "HOLDOUT_CANARY");
    rmSync(this.#root, { recursive: true, force: true });
  }

  async #call(id: string, input: unknown, wallMs: number, lines: string[]): Promise<Outcome> {
    try {
      const onLine = ({ text }: { readonly text: string }): void => void lines.push(text);
      return { kind: "returned", value: await this.#tenant.call(id, input, { wallMs, onLine }) };
    } catch (error) {
      // Only a named error is an answer; anything else is a mistake of the host's.
      if (!(error instanceof SallyportError)) throw error;
      return { kind: "threw", error };
    }
  }

  /** What was told that nobody may tell. */
  #leaks(outcome: Outcome, lines: readonly string[]): string[] {
    const problems: string[] = [];
    const written = this.#audits.map(({ events }, place) => events.slice(this.#read[place]));
    for (const [place, { events }] of this.#audits.entries()) this.#read[place] = events.length;
    const told = JSON.stringify([factsOf(outcome), lines, written]);
    if (this.#canaries.some((canary) => told.includes(canary))) problems.push("a canary was seen");
    // An operator's refusal names real places on purpose; what a guest says must not know any.
    const isRefusal = outcome.kind === "threw" && outcome.error instanceof NotCapableError;
    const said = JSON.stringify([isRefusal ? null : factsOf(outcome), lines]);
    for (const place of [this.#root, process.execPath, import.meta.dirname, "host/src"]) {
      if (said.includes(place)) problems.push(`it knew the place ${place}`);
    }
    if (outcome.kind === "threw") {
      const { code, message, details } = outcome.error;
      if (code === "ERR_UNEXPECTED") problems.push(`the host itself failed: ${message}`);
      const shown = `${message}\n${String(details.guestStack ?? "")}`.split("\n");
      if (!shown.every(isPlainText)) problems.push(`a terminal would obey ${JSON.stringify(message)}`);
    }
    return problems;
  }

  /** What is no longer as it was around it. */
  async #damage(): Promise<string[]> {
    const problems: string[] = [];
    for (const [who, neighbour] of [["neighbour", this.#tenant], ["other tenant", this.#other]] as const) {
      const text = `visit ${++this.#visits}`;
      const answer = await neighbour.call("plugin__neighbour__greet", { text }).catch(String);
      if (answer !== `hello ${text}`) problems.push(`the ${who} was not served: ${short(answer)}`);
    }
    if (this.#rejections.length > 0) problems.push(`rejections in the host: ${this.#rejections.map(String)}`);
    if (stateOfTheRealm() !== this.#before) problems.push("the host's own prototypes were changed");
    const outside = readFileSync(join(this.#root, "outside.txt"), "utf8");
    if (!this.#canaries.includes(outside)) problems.push("a file outside was changed");
    if (readdirSync(this.#root).some((name) => !PLACES.has(name))) problems.push("a file outside was made");
    return problems;
  }

  #beat(): void {
    const now = performance.now();
    this.#lateMs = Math.max(this.#lateMs, now - this.#lastBeat - HEARTBEAT_MS);
    this.#lastBeat = now;
  }
}

/** What is below the root of an arena. */
const PLACES: ReadonlySet<string> = new Set(["outside.txt", "home", "plugins", "near", "far"]);

function hostOps(secret: string): readonly OpDefinition[] {
  const fail = (): never => {
    throw new Error(`at /srv/own/place with ${secret}`);
  };
  const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  const op = (name: string, act: OpDefinition["act"]): OpDefinition =>
    defineOp({ name, args: z.array(z.unknown()), free: "it belongs to the arena", act });
  return [
    op("echo", async (args) => args),
    op("throwsAtOnce", () => fail()),
    op("rejectsAtOnce", () => Promise.reject(new Error(`at /srv/own/place with ${secret}`))),
    op("rejectsLater", async () => {
      await later(20);
      return fail();
    }),
    op("answersTwice", async () => {
      await later(5);
      return { then: "no function", toJSON: undefined, __proto__: { hidden: true } };
    }),
    op("waits", async (_args, { signal }) => {
      while (!signal.aborted) await later(20);
      return null;
    }),
  ];
}

/** On a busy machine everything takes long; only what must end by its bound is given little time. */
function boundOf({ ends, wallMs = WALL_MS }: HostilePlugin): number {
  return ends.some((word) => word === "ERR_LIMIT_WALL" || word === "terminated") ? wallMs : WALL_MS;
}

function pluginOf({ plugin, id }: HostilePlugin): string {
  return plugin ?? id;
}

function toolOf({ plugin, id }: HostilePlugin): string {
  return plugin === undefined ? "attack" : id.replaceAll("-", "_");
}

/** Writes the plugins of the rows; gives their directories. */
function writeHostile(
  root: string,
  rows: readonly HostilePlugin[],
  fill: (text: string) => string,
): readonly string[] {
  return [...Map.groupBy(rows, pluginOf)].map(([name, tools]) => {
    const directory = join(root, name);
    mkdirSync(join(directory, "data"), { recursive: true });
    writeFileSync(join(directory, "data/a.txt"), "A");
    writeFileSync(join(directory, "data/b.txt"), "B");
    const entries = tools.map((row) => {
      writeFileSync(join(directory, `${row.id}.js`), fill(row.source));
      return `    - { name: ${toolOf(row)}, target: "${row.id}.js:attack", input: { type: object } }\n`;
    });
    const head = tools[0]!.head ?? "";
    if (tools.some((row) => (row.head ?? "") !== head)) {
      throw new Error(`the tools of ${name} ask for different things`);
    }
    writeFileSync(
      join(directory, "plugin.yaml"),
      `name: ${name}\nversion: "1"\n${head}capabilities:\n  tools:\n${entries.join("")}`,
    );
    return directory;
  });
}

/** One that keeps its secret in its memory, its storage and its files, and notices when one of them has changed. */
function writeNeighbour(directory: string): string {
  mkdirSync(join(directory, "data"), { recursive: true });
  writeFileSync(
    join(directory, "plugin.yaml"),
    `name: neighbour
version: "1"
permissions: { storage: true, env: ["GRANTED_A"] }
capabilities:
  tools:
    - { name: greet, target: "greet.js:greet", input: { type: object } }
    - { name: keep, target: "greet.js:keep", input: { type: object } }
`,
  );
  writeFileSync(
    join(directory, "greet.js"),
    `export async function greet({ text }, { storage }) {
  globalThis.NEIGHBOUR ??= await storage.get("secret");
  const isWhole = typeof NEIGHBOUR === "string" && NEIGHBOUR === await storage.get("secret") && (await storage.list()).length === 1;
  return isWhole && ({}).polluted === undefined ? "hello " + text : "I was changed";
}
export const keep = async ({ value }, { storage }) => { await storage.set("secret", value); };
`,
  );
  return directory;
}

async function approveAll(tenant: Tenant): Promise<void> {
  for (const { name, state, reason } of await tenant.list()) {
    if (state === "invalid") throw new Error(`the plugin ${name} is invalid: ${reason}`);
    const { hash } = await tenant.fingerprint(name);
    const { capabilities } = await tenant.facts(name);
    await tenant.trust(name, {
      fingerprint: hash,
      approver: "test",
      expose: capabilities.map(({ fullId }) => fullId),
    });
  }
}

function fits(outcome: Outcome, word: string): boolean {
  if (outcome.kind === "returned") {
    return word === "no-secret" || word === outcome.value && word === "nothing" ||
      word === `returns ${String(outcome.value)}`;
  }
  const { error } = outcome;
  return word === error.code || word === (error instanceof LimitError ? "terminated" : "throws");
}

function factsOf(outcome: Outcome): unknown {
  if (outcome.kind === "returned") return outcome.value;
  const { name, code, message, details, retryable } = outcome.error;
  return { name, code, message, details, retryable };
}

function storyOf(outcome: Outcome): string {
  return outcome.kind === "returned" ? `a result: ${short(outcome.value)}` : String(outcome.error);
}

function short(value: unknown): string {
  return (JSON.stringify(value) ?? "undefined").slice(0, 300);
}

/** All names on the prototypes of this realm that guests like to reach for. */
function stateOfTheRealm(): string {
  const objects = [Object, Array, Function, Promise, Error, Map, String].flatMap((
    one,
  ) => [one, one.prototype]);
  return objects.map((object) => Reflect.ownKeys(object).map(String).join()).join("\n");
}

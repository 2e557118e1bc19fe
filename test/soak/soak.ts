/**
 * Many tenants with many plugins, a fifth of them hostile, for minutes: what becomes of the calls of the others. Each
 * result says whose it is and to which call, from what its plugin keeps itself, so one that went astray is seen.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { type AuditSink, createHost, type Host, type Tenant } from "../../src/mod.ts";
import { atPace, count, endOf, openTenant, rest, type Took, took, toolOf, writePlugins } from "./ground.ts";
import { HOSTILE } from "./hostile.ts";

/** What is done, and for how long. */
export interface SoakOptions {
  readonly tenants: number;
  /** Of each tenant. Every fifth plugin of all is hostile, and half of the tenants have them all. */
  readonly plugins: number;
  /** Without the hostile ones. */
  readonly quietMs: number;
  /** Beside them. */
  readonly stormMs: number;
  /** Calls of each plugin that behaves. */
  readonly callsPerSecond: number;
  /** A call that has not ended by then hangs. */
  readonly hangMs: number;
}

/** What came of it. */
export interface SoakFigures {
  /** Calls of plugins that behave, with the answer to that call by that plugin of that tenant. */
  readonly served: number;
  /** With any other answer. */
  readonly misattributed: number;
  /** Without an answer, by their end, after they were made again where they may be. */
  readonly lost: Readonly<Record<string, number>>;
  /** Calls, of any plugin, that have not ended. */
  readonly hanging: number;
  /** Ends after which a call may be made again, and was: in tenants without hostile plugins, and in the others. */
  readonly retriedFree: Readonly<Record<string, number>>;
  readonly retriedBeside: Readonly<Record<string, number>>;
  /** Ends of the calls of hostile plugins, by what they do. */
  readonly hostile: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Limits that were hit by them, by code. */
  readonly limits: Readonly<Record<string, number>>;
  /** Workers that are no longer there. */
  readonly workersLost: number;
  /** Why, as the audit says it for each plugin that was hit. */
  readonly crashes: Readonly<Record<string, number>>;
  /** How often a plugin was stopped for killing workers, and let run again. */
  readonly quarantined: number;
  /** Tenants without a hostile plugin: alone, and beside those with one. */
  readonly quiet: Took;
  readonly storm: Took;
  /** Plugins that behave, of tenants with hostile ones. */
  readonly neighbours: Took;
  /** How late the host's event loop was at worst, in either part. */
  readonly quietLateMs: number;
  readonly stormLateMs: number;
  /** Plugins that behave and answer when all is over. */
  readonly servedAfter: number;
  readonly plugins: number;
}

/** Every fifth. */
const HOSTILE_SHARE = 5;
/** How often a call is made that may be made again. */
const ATTEMPTS_MAX = 5;
/** A plugin that has so many calls under way is not called: its customers wait. */
const IN_FLIGHT_MAX = 32;
const POLICY = { permissions: { storage: true } } as const;
const PIDS_MS = 200;
const REENABLE_MS = 500;

/** Keeps whose it is where only it can read it, and reads it at its start. */
const GOOD = `let own;
export async function call({ call, own: given, way, text }, { storage }) {
  if (given !== undefined) return void await storage.set("own", given);
  own ??= await storage.get("own");
  if (way === "keep") {
    await storage.set("call" + call % 50, call);
    await storage.get("call" + call % 50);
  }
  if (way === "compute") for (let n = 0, at = Date.now(); Date.now() === at && n < 1e5; n++);
  return { own, call, text };
}
`;
const WAYS = ["quick", "keep", "text", "compute"];
const TEXT = "some text\n".repeat(1_000);

interface Plugin {
  readonly tenant: Tenant;
  readonly name: string;
  /** What it does, where it is hostile. */
  readonly hostile: string | null;
  readonly hasHostileNeighbour: boolean;
}

/** Runs it. */
export async function soak(options: SoakOptions): Promise<SoakFigures> {
  const root = mkdtempSync(join(tmpdir(), "sallyport-soak-"));
  const crashes: Record<string, number> = {};
  const audit = (): AuditSink => ({
    write: ({ type, details = {} }) => {
      if (type === "crash" && details.quarantined !== true) {
        count(crashes, String(details.killedFor ?? details.signal ?? details.exitCode));
      }
    },
    close: () => {},
  });
  try {
    await using host = await createHost({ confinement: "best", home: join(root, "home"), audit });
    const plugins = await open(host, root, options);
    const storm = new Storm(options.hangMs);
    const good = plugins.filter(({ hostile }) => hostile === null);
    const customers = new Customers(options);
    const seen = new WorkersSeen(host);
    await customers.introduce(good);
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    const quiet = await customers.call(good, options.quietMs);
    const quietLateMs = delay.max / 1e6;
    delay.reset();
    const over = storm.begin(plugins);
    const beside = await customers.call(good, options.stormMs);
    const stormLateMs = delay.max / 1e6;
    delay.disable();
    await over();
    const servedAfter = await customers.callOnce(good);
    seen.stop();
    return {
      ...customers.figures(),
      hanging: customers.hanging + storm.hanging,
      ...storm.figures(),
      workersLost: seen.lost,
      crashes,
      quiet: took(quiet.free),
      storm: took(beside.free),
      neighbours: took(beside.neighbours),
      quietLateMs,
      stormLateMs,
      servedAfter,
      plugins: good.length,
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** What must not be, in words. */
export function soakProblems(figures: SoakFigures): readonly string[] {
  const { misattributed, lost, hanging, servedAfter, plugins, hostile } = figures;
  const unnamed = Object.values(hostile).flatMap((ends) => Object.keys(ends))
    .filter((end) => end.startsWith("unnamed") || end === "ERR_UNEXPECTED");
  return [
    ...(misattributed > 0 ? [`${misattributed} results were another's`] : []),
    ...Object.entries(lost).map(([code, times]) => `${times} calls were lost: ${code}`),
    ...(hanging > 0 ? [`${hanging} calls hang`] : []),
    ...new Set(unnamed.map((end) => `the host itself failed: ${end}`)),
    ...(servedAfter < plugins ? [`${plugins - servedAfter} plugins do not answer afterwards`] : []),
  ];
}

async function open(host: Host, root: string, options: SoakOptions): Promise<readonly Plugin[]> {
  const kinds = Object.keys(HOSTILE);
  const hostileEach = Math.ceil((options.plugins * 2) / HOSTILE_SHARE);
  const all: Plugin[] = [];
  let next = 0;
  for (let t = 0; t < options.tenants; t++) {
    const hasHostile = t % 2 === 1;
    const own = Array.from({ length: options.plugins }, (_, p) => {
      const hostile = hasHostile && p < hostileEach ? kinds[next++ % kinds.length]! : null;
      return { name: hostile === null ? `good${p}` : `hostile${p}`, hostile };
    });
    const directories = writePlugins(
      join(root, "plugins", `t${t}`),
      own.map(({ name, hostile }) => ({
        name,
        source: hostile === null ? GOOD : HOSTILE[hostile]!.source,
        head: "permissions: { storage: true }\n",
      })),
    );
    const tenant = await openTenant(host, `t${t}`, directories, POLICY);
    all.push(...own.map((plugin) => ({ ...plugin, tenant, hasHostileNeighbour: hasHostile })));
  }
  return all;
}

/** Who call plugins that behave. */
class Customers {
  readonly #options: SoakOptions;
  readonly #lost: Record<string, number> = {};
  readonly #retriedFree: Record<string, number> = {};
  readonly #retriedBeside: Record<string, number> = {};
  #next = 0;
  #served = 0;
  #misattributed = 0;
  hanging = 0;

  constructor(options: SoakOptions) {
    this.#options = options;
  }

  /** Tells each plugin whose it is. */
  async introduce(plugins: readonly Plugin[]): Promise<void> {
    for (const plugin of plugins) {
      await plugin.tenant.call(toolOf(plugin.name), { own: ownOf(plugin), call: 0 });
    }
  }

  /** Calls all at their pace; gives what that took in tenants without hostile plugins, and in the others. */
  async call(
    plugins: readonly Plugin[],
    ms: number,
  ): Promise<{ readonly free: number[]; readonly neighbours: number[] }> {
    const [free, neighbours]: [number[], number[]] = [[], []];
    const underWay = new Map<Plugin, number>();
    let turn = 0;
    await atPace(this.#options.callsPerSecond * plugins.length, ms, async ({ dueAt }) => {
      const plugin = plugins[turn++ % plugins.length]!;
      const before = underWay.get(plugin) ?? 0;
      if (before >= IN_FLIGHT_MAX) return;
      underWay.set(plugin, before + 1);
      const isServed = await this.#callOne(plugin);
      underWay.set(plugin, underWay.get(plugin)! - 1);
      if (isServed) (plugin.hasHostileNeighbour ? neighbours : free).push(performance.now() - dueAt);
    });
    return { free, neighbours };
  }

  /** Calls each once, and gives how many answer. */
  async callOnce(plugins: readonly Plugin[]): Promise<number> {
    const all = await Promise.all(plugins.map((plugin) => this.#callOne(plugin)));
    return all.filter((isServed) => isServed).length;
  }

  figures(): Pick<SoakFigures, "served" | "misattributed" | "lost" | "retriedFree" | "retriedBeside"> {
    return {
      served: this.#served,
      misattributed: this.#misattributed,
      lost: this.#lost,
      retriedFree: this.#retriedFree,
      retriedBeside: this.#retriedBeside,
    };
  }

  async #callOne(plugin: Plugin): Promise<boolean> {
    const call = ++this.#next;
    const way = WAYS[call % WAYS.length]!;
    const input = way === "text" ? { call, way, text: `${call}\n${TEXT}` } : { call, way };
    for (let attempt = 1;; attempt++) {
      const end = await endOf(plugin.tenant.call(toolOf(plugin.name), input), this.#options.hangMs);
      if (end.kind === "hangs") {
        this.hanging += 1;
        return false;
      }
      if (end.kind === "answered") {
        const { own, call: answered, text } = (end.value ?? {}) as Record<string, unknown>;
        const isOwn = own === ownOf(plugin) && answered === call && text === input.text;
        if (isOwn) this.#served += 1;
        else this.#misattributed += 1;
        return isOwn;
      }
      if (!end.retryable || attempt === ATTEMPTS_MAX) {
        count(this.#lost, end.code);
        return false;
      }
      count(plugin.hasHostileNeighbour ? this.#retriedBeside : this.#retriedFree, end.code);
    }
  }
}

function ownOf({ tenant, name }: Plugin): string {
  return `${tenant.id}/${name}`;
}

/** Who call plugins that do not behave, as fast as they end. */
class Storm {
  readonly #hangMs: number;
  readonly #hostile: Record<string, Record<string, number>> = {};
  readonly #limits: Record<string, number> = {};
  #quarantined = 0;
  #isOver = false;
  hanging = 0;

  constructor(hangMs: number) {
    this.#hangMs = hangMs;
  }

  /** Begins; what it gives stops it, and settles when the last call has ended. */
  begin(plugins: readonly Plugin[]): () => Promise<void> {
    const all = plugins.map(async (plugin) => {
      while (!this.#isOver && plugin.hostile !== null) await this.#callOne(plugin, plugin.hostile);
    });
    return async () => {
      this.#isOver = true;
      await Promise.all(all);
    };
  }

  figures(): Pick<SoakFigures, "hostile" | "limits" | "quarantined"> {
    return { hostile: this.#hostile, limits: this.#limits, quarantined: this.#quarantined };
  }

  async #callOne({ tenant, name }: Plugin, kind: string): Promise<void> {
    const call = tenant.call(toolOf(name), {}, { wallMs: HOSTILE[kind]!.wallMs });
    const end = await endOf(call, this.#hangMs);
    if (end.kind === "hangs") this.hanging += 1;
    const word = end.kind === "refused" ? end.code : end.kind;
    count(this.#hostile[kind] ??= {}, word);
    if (word.startsWith("ERR_LIMIT_")) count(this.#limits, word);
    if (word !== "ERR_TRUST_QUARANTINED") return;
    this.#quarantined += 1;
    await rest(REENABLE_MS);
    await tenant.enable(name);
  }
}

/** Counts the workers that are no longer there. */
class WorkersSeen {
  readonly #host: Host;
  readonly #timer: NodeJS.Timeout;
  #last: ReadonlySet<number> = new Set();
  lost = 0;

  constructor(host: Host) {
    this.#host = host;
    this.#timer = setInterval(() => void this.#look(), PIDS_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const now = new Set(await this.#host.workerPids());
    this.lost += this.#last.difference(now).size;
    this.#last = now;
  }
}

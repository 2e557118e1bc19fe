/**
 * Kills worker processes while they work: what comes of the calls, and of the pool. Used by a test for seconds and by
 * `npm run chaos` for longer.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type AuditSink, createHost, type Host, SallyportError, type Tenant } from "../../src/mod.ts";

/** What is done, and for how long. */
export interface ChaosOptions {
  /** Time of the killing. */
  readonly ms: number;
  /** Between two kills. */
  readonly everyMs: number;
  /** Customers; each has three plugins, one of which shares its worker with nobody. */
  readonly tenants: number;
  /** Calls under way at once. */
  readonly inFlight: number;
  /** A call that has not ended by then hangs. */
  readonly hangMs: number;
}

/** What came of it. */
export interface ChaosFigures {
  readonly calls: number;
  readonly kills: number;
  /** Calls with the value that was asked for. */
  readonly answered: number;
  /** Calls with the answer to another. */
  readonly wrong: number;
  /** Calls that were lost with their worker, by code; all of them say that they may be made again. */
  readonly lost: Readonly<Record<string, number>>;
  /** Any other end. */
  readonly other: Readonly<Record<string, number>>;
  readonly hanging: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** From the last kill until each plugin of each tenant has answered. */
  readonly wholeAfterMs: number;
  /** Workers that serve then, each alive. */
  readonly workers: number;
  /** Processes that were killed and are still there. */
  readonly left: number;
  /** Crashes in the audit. */
  readonly crashes: number;
}

/** A value that nobody else asks for, done in the way of each tool. */
const TOOLS: Readonly<Record<string, string>> = {
  quick: "export function quick(input) { return { echo: input.n }; }",
  wait: `export async function wait(input) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return { echo: input.n };
  }`,
  busy: `export function busy(input) {
    const end = Date.now() + 10;
    while (Date.now() < end);
    return { echo: input.n };
  }`,
  keep: `export async function keep(input, context) {
    await context.storage.set("n" + (input.n % 100), input.n);
    await context.storage.get("n" + (input.n % 100));
    return { echo: input.n };
  }`,
};

const PLUGINS: Readonly<Record<string, string>> = {
  plain: "",
  keeper: "permissions: { storage: true }\n",
  grave: 'permissions: { env: ["HOME"], storage: true }\n',
};

const POLICY = { permissions: { env: true, storage: true }, environment: { HOME: "/home/nobody" } } as const;

/** Runs it. */
export async function chaos(options: ChaosOptions): Promise<ChaosFigures> {
  const root = mkdtempSync(join(tmpdir(), "sallyport-chaos-"));
  let crashes = 0;
  const audit = (): AuditSink => ({
    write: ({ type }) => void (crashes += type === "crash" ? 1 : 0),
    close: () => {},
  });
  try {
    await using host = await createHost({ confinement: "best", home: join(root, "home"), audit });
    const tenants = await open(host, root, options.tenants);
    const ids = Object.keys(PLUGINS).flatMap((plugin) => idsOf(plugin));
    for (const tenant of tenants) for (const id of ids) await tenant.call(id, { n: 0 });
    const seen = new Seen();
    const killed: number[] = [];
    let isOver = false;
    let next = 0;
    const load = Array.from({ length: options.inFlight }, async () => {
      while (!isOver) {
        const n = ++next;
        const tenant = tenants[n % tenants.length]!;
        const id = ids[Math.floor(Math.random() * ids.length)]!;
        await seen.see(tenant.call(id, { n }), n, options.hangMs);
      }
    });
    let lastKillAt = performance.now();
    const killOne = async (): Promise<void> => {
      const pids = await host.workerPids();
      const pid = pids[Math.floor(Math.random() * pids.length)];
      if (isOver || pid === undefined || !kill(pid)) return;
      killed.push(pid);
      lastKillAt = performance.now();
    };
    const killer = setInterval(() => void killOne(), options.everyMs);
    await new Promise((resolve) => setTimeout(resolve, options.ms));
    clearInterval(killer);
    isOver = true;
    await Promise.all(load);
    // Nothing is left of it for whoever calls now: each plugin answers the first time.
    for (const tenant of tenants) for (const id of ids) await tenant.call(id, { n: 0 });
    const wholeAfterMs = performance.now() - lastKillAt;
    const workers = await host.workerPids();
    return {
      ...seen.figures(),
      kills: killed.length,
      wholeAfterMs,
      workers: workers.filter(isThere).length,
      left: killed.filter((pid) => !workers.includes(pid) && isThere(pid)).length,
      crashes,
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function idsOf(plugin: string): string[] {
  return Object.keys(TOOLS).filter((tool) => tool !== "keep" || plugin !== "plain")
    .map((tool) => `plugin__${plugin}__${tool}`);
}

async function open(host: Host, root: string, count: number): Promise<readonly Tenant[]> {
  const directories = Object.entries(PLUGINS).map(([name, head]) => {
    const directory = join(root, "plugins", name);
    mkdirSync(join(directory, "tools"), { recursive: true });
    const tools = idsOf(name).map((id) => id.split("__")[2]!);
    const entries = tools.map((tool) => `    - { name: ${tool}, target: "tools/${tool}.js:${tool}" }\n`);
    writeFileSync(
      join(directory, "plugin.yaml"),
      `name: ${name}\nversion: "1.0.0"\n${head}capabilities:\n  tools:\n${entries.join("")}`,
    );
    for (const tool of tools) writeFileSync(join(directory, "tools", `${tool}.js`), TOOLS[tool]!);
    return directory;
  });
  const tenants: Tenant[] = [];
  for (let n = 0; n < count; n++) {
    const tenant = host.tenant(`t${n}`, { policy: POLICY, plugins: directories });
    for (const name of Object.keys(PLUGINS)) {
      const { hash } = await tenant.fingerprint(name);
      await tenant.trust(name, { fingerprint: hash, approver: "chaos", expose: idsOf(name) });
    }
    tenants.push(tenant);
  }
  return tenants;
}

/** The ends of calls. */
class Seen {
  readonly #tookMs: number[] = [];
  readonly #lost: Record<string, number> = {};
  readonly #other: Record<string, number> = {};
  #wrong = 0;
  #hanging = 0;

  async see(call: Promise<unknown>, n: number, hangMs: number): Promise<void> {
    const begin = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const hang = new Promise<"hang">((resolve) => timer = setTimeout(resolve, hangMs, "hang"));
    try {
      const value = await Promise.race([call, hang]);
      if (value === "hang") this.#hanging += 1;
      else if ((value as { echo?: unknown } | null)?.echo !== n) this.#wrong += 1;
      else this.#tookMs.push(performance.now() - begin);
    } catch (error) {
      const code = error instanceof SallyportError ? error.code : String(error);
      const ends = error instanceof SallyportError && error.retryable ? this.#lost : this.#other;
      ends[code] = (ends[code] ?? 0) + 1;
    } finally {
      clearTimeout(timer);
    }
  }

  figures() {
    const sorted = this.#tookMs.toSorted((a, b) => a - b);
    const at = (part: number): number => sorted[Math.floor(sorted.length * part)] ?? 0;
    const sum = (ends: Readonly<Record<string, number>>): number =>
      Object.values(ends).reduce((total, count) => total + count, 0);
    return {
      calls: sorted.length + this.#wrong + this.#hanging + sum(this.#lost) + sum(this.#other),
      answered: sorted.length,
      wrong: this.#wrong,
      lost: this.#lost,
      other: this.#other,
      hanging: this.#hanging,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
    };
  }
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false; // it has ended by itself
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

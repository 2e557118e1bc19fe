/**
 * JSON Schemas of plugins, run in an isolate that never sees plugin code, in a worker of its own (T19). A plugin can
 * neither patch its judge, nor stop the host or another plugin's checks with a schema: failure to answer is invalid.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { grantOf, LimitError, SallyportError } from "../../permissions/mod.ts";
import {
  type Broker,
  GUEST_LIMITS,
  guestConfig,
  type GuestIsolate,
  newDenialPrefix,
  type RunOptions,
  type WorkerPool,
} from "../../runtime/mod.ts";
import type { Bundler } from "../bundler/mod.ts";
import { display } from "../display.ts";
import { PluginSource } from "../source.ts";
import { Judge } from "./judge.ts";
import { VALIDATOR_LIMITS as LIMITS } from "./limits.ts";

/** One way in which a value does not fit. */
export interface SchemaIssue {
  /** Where in the value, as a JSON pointer behind `#`. */
  readonly at: string;
  /** What is wrong there. */
  readonly message: string;
}

/** What a validator works with; belongs to one tenant. */
export interface ValidatorOptions {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Where the isolate comes from. */
  readonly pool: WorkerPool;
  /** What bundles the library. */
  readonly bundler: Pick<Bundler, "bundle">;
  /** Where its ops would go; it has no grant, so all are refused. */
  readonly broker: Broker;
}

/** The validator of one tenant. Starts nothing before the first schema. */
export class Validator {
  readonly #options: ValidatorOptions;
  /** By plugin, the one that was used least recently first. */
  readonly #judges = new Map<string, Judge>();

  /** Starts nothing. */
  constructor(options: ValidatorOptions) {
    this.#options = options;
  }

  /**
   * Ways in which a value does not fit a plugin's schema; empty when it fits. A schema that cannot be run, or not in time,
   * gives an issue as well. Throws HostError when there can be no isolate, LimitError `ERR_LIMIT_RATE` when too many wait.
   */
  async issues(plugin: string, schema: object, value: unknown): Promise<readonly SchemaIssue[]> {
    const input = { schema: JSON.stringify(schema), value, issuesMax: LIMITS.schemaIssuesMax };
    const text = JSON.stringify({ input, context: {} });
    try {
      const answer = await this.#judgeOf(plugin).check((isolate) => isolate.call(text, runOptions()));
      if (!answer.ok) {
        return [{ at: "#", message: `the schema cannot be run: ${display(answer.error.message)}` }];
      }
      const { valid, issues } = JSON.parse(answer.text) as { valid: boolean; issues: readonly SchemaIssue[] };
      if (valid) return [];
      return issues.map(({ at, message }) => ({ at: display(at), message: display(message) }));
    } catch (error) {
      if (!(error instanceof LimitError) || error.code === "ERR_LIMIT_RATE") throw error;
      return [{ at: "#", message: `the schema was not done within ${LIMITS.schemaWallMs} ms` }];
    }
  }

  /** Ends its isolates. */
  close(): void {
    for (const judge of this.#judges.values()) judge.close();
    this.#judges.clear();
  }

  #judgeOf(plugin: string): Judge {
    const judge = this.#judges.get(plugin) ?? new Judge(plugin, () => this.#start());
    this.#judges.delete(plugin);
    this.#judges.set(plugin, judge);
    for (const [name, oldest] of this.#judges) {
      if (this.#judges.size <= LIMITS.schemaIsolatesMax) break;
      this.#judges.delete(name);
      oldest.close();
    }
    return judge;
  }

  async #start(): Promise<GuestIsolate> {
    const { tenant, pool, bundler, broker } = this.#options;
    const limits = { ...GUEST_LIMITS, wallMs: LIMITS.schemaWallMs };
    const principal = {
      tenant,
      plugin: "#validator",
      title: "Sallyport's own schema validator",
      fingerprint: null,
      confinement: "",
      grant: grantOf(),
      context: { cwd: "/" },
      bundle: null,
      denialPrefix: newDenialPrefix(),
    };
    const [code, isolate] = await Promise.all([
      libraryCode(bundler, tenant),
      pool.isolate({ broker, principal, limits, cordon: `validator ${tenant}` }),
    ]);
    const { denialPrefix } = principal;
    const config = guestConfig({
      env: {},
      envAllow: [],
      envDeny: [],
      denialPrefix,
      dynamicCode: false,
      isScript: false,
    });
    const order = { filename: "sallyport:validator", config: JSON.stringify(config) };
    const answer = await isolate.load(code, order, runOptions());
    if (answer.ok && answer.text === '"function"') return isolate;
    isolate.dispose();
    throw new SallyportError(
      "ERR_UNEXPECTED",
      `Cannot start the schema validator: ${answer.ok ? answer.text : answer.error.message}`,
    );
  }
}

function runOptions(): RunOptions {
  const wallMs = LIMITS.schemaWallMs;
  return { id: randomUUID(), deadline: performance.now() + wallMs, wallMs, denials: [] };
}

/** The library as one text. Made here by the confined bundler when it runs from source; a build has it ready. */
async function libraryCode(bundler: Pick<Bundler, "bundle">, tenant: string): Promise<string> {
  if (!import.meta.url.endsWith(".ts")) {
    return readFileSync(new URL("./validator.min.js", import.meta.url), "utf8");
  }
  const folder = dirname(createRequire(import.meta.url).resolve("@cfworker/json-schema/package.json"));
  const target = { path: "dist/esm/index.js", export: "Validator" };
  const { code } = await bundler.bundle({ source: PluginSource.open(folder), target, tenant });
  return wrapLibrary(code);
}

/** Puts the glue around a bundle that registers the library's class. */
export function wrapLibrary(code: string): string {
  const glue = readFileSync(new URL("./glue.guest.js", import.meta.url), "utf8").trimEnd().replace(/;$/, "");
  return `const __outer__ = __sallyport_register__;
{ const __sallyport_register__ = (Validator) => __outer__((${glue})(Validator));
${code}
}`;
}

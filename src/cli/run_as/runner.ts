/** What `run` does with a capability, by its surface: each way is a file beside this one. */
import { UsageError } from "../../../permissions/mod.ts";
import type { CallOptions } from "../../run.ts";
import type { SurfaceName } from "../../surfaces/mod.ts";
import type { Tenant } from "../../tenant.ts";
import type { PluginFacts } from "../../tenant_types.ts";
import type { Terminal } from "../terminal.ts";

/** One capability, and what was said on the line. */
export interface Given {
  /** Whose it is. */
  readonly tenant: Tenant;
  /** What is run. */
  readonly capability: PluginFacts["capabilities"][number];
  /** The value of `--input`; undefined where there is none. */
  readonly input: unknown;
  /** The words behind the capability. */
  readonly words: readonly string[];
  /** The flags of the line. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** How it is called. */
  readonly options: CallOptions;
  /** Where what comes bit by bit is written. */
  readonly terminal: Terminal;
}

/** What came of it. */
export interface Ran {
  /** For `--json`. */
  readonly value: unknown;
  /** For a person, where that is not the value; null is nothing. */
  readonly text?: string | null;
}

/** Runs capabilities of one surface. */
export type Runner = (given: Given) => Promise<Ran>;

/** Ways of running by surface; any other one is called with its input. */
export type Runners = Readonly<Partial<Record<SurfaceName, Runner>>>;

/** Throws UsageError for words where `--input` is meant. */
export function refuseWords({ words, capability }: Given): void {
  if (words.length === 0) return;
  throw new UsageError(
    "ERR_USAGE",
    `Cannot run "${capability.fullId}" with the words "${
      words.join(" ")
    }": it takes a JSON value, with --input`,
  );
}

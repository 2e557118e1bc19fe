/** What a person can type: one catalog of commands, prompts and panels, and the way to run any of them by its name. */
import { CapabilityError, SallyportError } from "../../permissions/mod.ts";
import type { Documents } from "../documents/types.ts";
import type { Panels } from "../panels/panels.ts";
import { didYouMean } from "../did_you_mean.ts";
import type { CallOptions } from "../run.ts";
import type { Snapshot, SnapshotEntry } from "../snapshot.ts";
import { type Surface, type SurfaceName, SURFACES, type TypedKind } from "../surfaces/mod.ts";
import { typedId } from "../surfaces/surface.ts";
import type { TenantCalls } from "../tenant_calls.ts";
import { splitWords } from "./words.ts";

/** Something that can be typed. */
export interface TypedEntry {
  /** How: `/<plugin>:<name>`. */
  readonly typed: string;
  /** What comes of it. */
  readonly kind: TypedKind;
  /** Its full id. */
  readonly id: string;
  /** Name of the plugin. */
  readonly plugin: string;
  /** The author's words; not safe for a terminal. */
  readonly description: string | null;
  /** What may follow the name; null where nothing is said of it. */
  readonly usage: string | null;
}

/** What is typed behind a name: a text, or its words where somebody has split it already. */
export type TypedText = string | readonly string[];

/** What typed things are run with. */
export interface CommandsParts {
  /** Finds and calls commands. */
  readonly calls: Pick<TenantCalls, "find" | "run" | "admitted">;
  /** Renders panels. */
  readonly panels: Pick<Panels, "render">;
  /** Fills in prompts. */
  readonly documents: () => Pick<Documents, "prompt">;
  /** What is offered. */
  readonly snapshot: () => Promise<Snapshot>;
}

interface Typed {
  readonly args: string;
  readonly argv: readonly string[];
}

/** All that can be typed in one tenant. */
export class Commands {
  readonly #parts: CommandsParts;

  /** Looks at nothing yet. */
  constructor(parts: CommandsParts) {
    this.#parts = parts;
  }

  /** All that can be typed, in the order of the surfaces and then of the snapshot. Starts nothing. Throws HostError `ERR_STORE`. */
  async list(): Promise<readonly TypedEntry[]> {
    const snapshot = await this.#parts.snapshot();
    return [...KINDS].flatMap(([surface, kind]) =>
      // The cast holds: the name of a surface in the table is its key.
      snapshot[surface as SurfaceName].map((entry) => entryOf(entry, kind))
    );
  }

  /**
   * Runs what is typed: a command gives its text or JSON value, a prompt its text with the words filled in, a panel its text.
   * Throws CapabilityError `ERR_CAPABILITY_UNKNOWN` listing what there is, and what `tenant.call` throws.
   */
  async run(typed: string, text: TypedText = "", options: CallOptions = {}): Promise<unknown> {
    const argv = typeof text === "string" ? splitWords(text) : text;
    const given: Typed = { args: typeof text === "string" ? text : text.join(" "), argv };
    const entries = await this.list();
    const entry = entries.find((each) => each.typed === typed);
    if (entry === undefined) return await this.#runHidden(typed, given, entries, options);
    return await RUNS[entry.kind](this.#parts, entry.id, given, options);
  }

  /** Of what is there and not offered, what refuses it says best why; of what is nowhere, the catalog does. */
  async #runHidden(
    typed: string,
    given: Typed,
    entries: readonly TypedEntry[],
    options: CallOptions,
  ): Promise<unknown> {
    const refusal = unknown(typed, entries.map((each) => each.typed));
    const { capability } = await this.#parts.calls.admitted(typed).catch((error: unknown) => {
      throw error instanceof SallyportError && error.code === refusal.code ? refusal : error;
    });
    const kind = KINDS.get(capability.surface);
    // What failed to start says so again.
    if (kind === undefined || capability.target === undefined) throw refusal;
    return await RUNS[kind](this.#parts, capability.fullId, given, options);
  }
}

const RUNS: Readonly<
  Record<
    TypedKind,
    (parts: CommandsParts, id: string, given: Typed, options: CallOptions) => Promise<unknown>
  >
> = {
  async command({ calls }, id, given, options) {
    const callable = await calls.find(id);
    return await calls.run(callable, given, callable.unit, options);
  },
  prompt: ({ documents }, id, { argv }) => documents().prompt(id, { words: argv }),
  async panel({ panels }, id, given, options) {
    // A panel that is only looked at gets the empty input that it gets from anybody.
    return (await panels.render(id, given.argv.length === 0 ? {} : given, options)).text;
  },
};

/** Surfaces of which something is typed, in their order. */
const KINDS: ReadonlyMap<string, TypedKind> = new Map(
  Object.values(SURFACES).flatMap(({ name, typedAs }: Surface) =>
    typedAs === undefined ? [] : [[name, typedAs] as const]
  ),
);

function entryOf({ id, name, plugin, description, usage }: SnapshotEntry, kind: TypedKind): TypedEntry {
  return { typed: typedId(plugin, name), kind, id, plugin, description, usage: usage ?? null };
}

function unknown(typed: string, available: readonly string[]): CapabilityError {
  const meant = didYouMean(typed, available);
  return new CapabilityError(
    "ERR_CAPABILITY_UNKNOWN",
    `Cannot run "${typed}": ${
      available.length === 0 ? "nothing can be typed here" : `there are ${available.join(", ")}`
    }${meant === null ? "" : `. Did you mean "${meant}"?`}`,
    { details: { name: typed, available, ...(meant === null ? {} : { meant }) } },
  );
}

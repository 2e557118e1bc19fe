/**
 * Providers: who answers when a host looks for a service by its name. The host's own come first, then those of plugins, then
 * whatever the host falls back to. A name that is its own needs no plugin to be looked at; any other is looked for among all
 * plugins once, however often it is asked for.
 */
import { CapabilityError, CollisionError, UsageError } from "../permissions/mod.ts";
import type { ChunkWindow } from "../runtime/mod.ts";
import type { CallStream, StreamOptions } from "./call_stream.ts";
import type { NamesBySurface } from "./collisions.ts";
import { findCapability } from "./registry.ts";
import type { InnerCallOptions } from "./run.ts";
import type { Streams } from "./streams.ts";
import type { Exposed, TenantCalls } from "./tenant_calls.ts";

/** A provider of the host's own. */
export interface HostProvider {
  /** Its name, which no plugin's provider is offered under, and its reference. */
  readonly name: string;
  /** What it does, for people. */
  readonly description?: string;
  /** Whether it is of no use without a credential that the host has. */
  readonly requiresKey?: boolean;
  /** Whether it answers to a name; absent is to its own. */
  matches?(name: string): boolean;
  /** Answers piece by piece, in text, bytes or JSON. */
  stream(input: unknown, options: { readonly signal: AbortSignal }): AsyncIterable<unknown>;
}

/** What a tenant has of providers beside its plugins. */
export interface ProviderOptions {
  /** The host's own, in the order in which they are asked. */
  readonly builtin?: readonly HostProvider[];
  /** Answers to every name that nobody else answers to; absent is nobody. */
  readonly fallback?: HostProvider;
  /** Reference of the one that is used where none is named. */
  readonly default?: string;
  /** Whether the host has the credential of one of its own; absent is that it has all. Never asked about a plugin's. */
  readonly hasKey?: (name: string) => boolean | Promise<boolean>;
}

/** One provider of the catalog. */
export interface ProviderRow {
  /** What it is used by: a name of the host's own, or `plugin/<plugin>/<name>`. */
  readonly ref: string;
  /** What it is looked up by. */
  readonly name: string;
  /** Whose it is. */
  readonly kind: "builtin" | "plugin" | "fallback";
  /** The plugin's name; null for the host's own. */
  readonly plugin: string | null;
  /** What it does, in its author's words. */
  readonly description: string | null;
  /** Whether it is used where none is named. */
  readonly isDefault: boolean;
  /** Why it is not offered: another one has its name. Null where nothing is in its way. */
  readonly withheld: string | null;
}

interface ProviderParts {
  readonly options: ProviderOptions;
  readonly calls: Pick<TenantCalls, "exposed">;
  readonly streams: Streams;
  /** Calls a plugin's. */
  readonly call: (id: string, input: unknown, options: InnerCallOptions) => Promise<unknown>;
}

/** The providers of one tenant. */
export class Providers {
  readonly #parts: ProviderParts;
  #default: string | null;

  /** Use `tenant.providers`. Throws UsageError for names that are none, or not one provider's. */
  constructor(parts: ProviderParts) {
    this.#parts = parts;
    this.#default = parts.options.default ?? null;
    refuseNames(this.#own.map(([{ name }]) => name));
  }

  /** All there are: the host's own, then those that plugins expose, then the fallback. Starts nothing. */
  async list(): Promise<readonly ProviderRow[]> {
    const own = this.#own.map(([provider, kind]) => this.#rowOf(provider, kind));
    return own.toSpliced(this.#builtin.length, 0, ...await this.#pluginRows());
  }

  /**
   * Who answers to a name: the host's own, then a plugin's, then the fallback. Throws CapabilityError `ERR_CAPABILITY_UNKNOWN`
   * where nobody does, CollisionError where several plugins would.
   */
  async match(name: string): Promise<ProviderRow> {
    const builtin = this.#builtin.find((each) => each.matches?.(name) ?? each.name === name);
    if (builtin !== undefined) return this.#rowOf(builtin, "builtin");
    // Once more, now that the plugins are known; no further look finds any other.
    const named = (await this.#exposed()).filter(({ capability }) => capability.name === name);
    const offered = named.find(({ error }) => error === null) ?? named[0];
    if (offered?.error) throw offered.error;
    if (offered !== undefined) return this.#pluginRow(offered);
    const { fallback } = this.#parts.options;
    if (fallback?.matches?.(name) ?? fallback !== undefined) return this.#rowOf(fallback!, "fallback");
    throw await this.#unknown(name);
  }

  /**
   * What a provider answers, piece by piece, as `tenant.stream` gives it; null is the default one. What fails is thrown to the
   * reader: CapabilityError `ERR_CAPABILITY_UNKNOWN` for a reference that is none, UsageError where the host lacks its
   * credential, whatever a call throws, and whatever one of the host's own throws.
   */
  stream(ref: string | null, input: unknown, options: StreamOptions = {}): CallStream {
    const id = ref ?? this.#default ?? "";
    const own = this.#own.find(([{ name }]) => name === id)?.[0];
    return this.#parts.streams.open(id, options, async (inner) => {
      const { chunks, signal } = inner;
      if (own !== undefined) {
        await this.#refuseWithoutKey(own);
        return await pump(own.stream(input, { signal }), chunks, signal);
      }
      if (!id.startsWith(PLUGIN_HEAD)) throw await this.#unknown(id);
      return await this.#parts.call(id, input, inner).catch(async (error: unknown) => {
        const isUnknown = error instanceof CapabilityError && error.code === "ERR_CAPABILITY_UNKNOWN";
        throw isUnknown ? await this.#unknown(id, error) : error;
      });
    });
  }

  /** Makes one of the catalog the default, until it is changed or the process ends. Throws as `stream` does. */
  async setDefault(ref: string): Promise<void> {
    const row = (await this.list()).find((each) => each.ref === ref);
    if (row === undefined) throw await this.#unknown(ref);
    this.#default = ref;
  }

  get #builtin(): readonly HostProvider[] {
    return this.#parts.options.builtin ?? [];
  }

  get #own(): readonly (readonly [HostProvider, "builtin" | "fallback"])[] {
    const { fallback } = this.#parts.options;
    return [
      ...this.#builtin.map((each) => [each, "builtin"] as const),
      ...(fallback === undefined ? [] : [[fallback, "fallback"] as const]),
    ];
  }

  /** Those that plugins expose, but for plugins that are not trusted as they are, or off. */
  async #exposed(): Promise<readonly Exposed[]> {
    const exposed = await this.#parts.calls.exposed("providers");
    return exposed.filter(({ error }) => error === null || error instanceof CollisionError);
  }

  async #pluginRows(): Promise<readonly ProviderRow[]> {
    return (await this.#exposed()).map((each) => this.#pluginRow(each));
  }

  #pluginRow({ plugin, capability: { fullId: ref, name, description }, error }: Exposed): ProviderRow {
    return {
      ref,
      name,
      kind: "plugin",
      plugin: plugin.name,
      description: description ?? null,
      isDefault: ref === this.#default,
      withheld: error?.message ?? null,
    };
  }

  #rowOf({ name, description }: HostProvider, kind: "builtin" | "fallback"): ProviderRow {
    return {
      ref: name,
      name,
      kind,
      plugin: null,
      description: description ?? null,
      isDefault: name === this.#default,
      withheld: null,
    };
  }

  /** Tells what there is, and keeps the error that said so first. */
  async #unknown(ref: string, cause?: CapabilityError): Promise<CapabilityError> {
    const available = (await this.list()).map((row) => row.ref);
    const there = available.length === 0 ? "there are none" : `there are ${available.join(", ")}`;
    const what = ref === "" ? "the default provider: none is set, and" : `provider "${ref}":`;
    return new CapabilityError("ERR_CAPABILITY_UNKNOWN", `Cannot use ${what} ${there}`, {
      details: { name: ref, available },
      cause: cause ?? unknownAmong(ref, available),
    });
  }

  async #refuseWithoutKey({ name, requiresKey = false }: HostProvider): Promise<void> {
    if (!requiresKey || (await this.#parts.options.hasKey?.(name) ?? true)) return;
    throw new UsageError(
      "ERR_USAGE",
      `Cannot use provider "${name}": it needs a credential that the host does not have`,
      { details: { provider: name } },
    );
  }
}

/** Names that plugins do not get: those of the embedder, and of its own providers. */
export function withProviderNames(builtins: NamesBySurface, options: ProviderOptions = {}): NamesBySurface {
  const names = (options.builtin ?? []).map(({ name }) => name);
  return names.length === 0 ? builtins : { ...builtins, providers: [...builtins.providers ?? [], ...names] };
}

function refuseNames(names: readonly string[]): void {
  const wrong = names.find((name, place) =>
    name === "" || name.startsWith(PLUGIN_HEAD) || names.indexOf(name) !== place
  );
  if (wrong === undefined) return;
  throw new UsageError(
    "ERR_USAGE",
    `Cannot use ${JSON.stringify(wrong)} as a provider's name: it is empty, taken, or a plugin's`,
  );
}

function unknownAmong(ref: string, available: readonly string[]): unknown {
  try {
    return findCapability(ref, available.map((fullId) => ({ fullId, name: fullId, aliases: [] })));
  } catch (error) {
    return error;
  }
}

const PLUGIN_HEAD = "plugin/";

/** Reads one of the host's own under the bounds that a plugin's has; whoever does not end when it is told is left alone. */
async function pump(
  values: AsyncIterable<unknown>,
  chunks: ChunkWindow,
  signal: AbortSignal,
): Promise<undefined> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  aborted.catch(() => {});
  const iterator = values[Symbol.asyncIterator]();
  let isOpen = true;
  let count = 0;
  try {
    for (;;) {
      const step = await Promise.race([iterator.next(), aborted]);
      isOpen = step.done !== true;
      if (!isOpen || !await chunks.push(count, step.value)) break;
      count += 1;
    }
    chunks.end({ streamed: count });
  } finally {
    if (isOpen) void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}

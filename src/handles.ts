/** Handles: a capability as one generation offered it. Only the tenant that made one knows it (R18). */
import { HostError } from "../permissions/mod.ts";
import type { CallStream, StreamOptions } from "./call_stream.ts";
import type { CallOptions } from "./run.ts";

/** A capability of one generation. Frozen. */
export interface Handle {
  /** Full id. */
  readonly id: string;
  /** Its surface. */
  readonly surface: string;
  /** Name of the plugin. */
  readonly plugin: string;
  /** The generation that it belongs to. */
  readonly generation: number;
  /** Calls it. Throws as `tenant.call` does, and HostError `ERR_STALE_GENERATION` once its generation is not the present one. */
  call(input: unknown, options?: CallOptions): Promise<unknown>;
  /** Reads it as `tenant.stream` does; the handle must be of the present generation at the first reading. */
  stream(input: unknown, options?: StreamOptions): CallStream;
}

/** How a handle's capability is called. */
interface HandleCalls {
  readonly call: (handle: Handle, input: unknown, options?: CallOptions) => Promise<unknown>;
  readonly stream: (handle: Handle, input: unknown, options?: StreamOptions) => CallStream;
}

/** The handles of one tenant. */
export class Handles {
  readonly #lineages = new WeakMap<Handle, string>();

  /** Makes one; what calls is given it. */
  make(facts: Omit<Handle, "call" | "stream">, lineage: string, { call, stream }: HandleCalls): Handle {
    const handle: Handle = Object.freeze({
      ...facts,
      call: (input: unknown, options?: CallOptions) => call(handle, input, options),
      stream: (input: unknown, options?: StreamOptions) => stream(handle, input, options),
    });
    this.#lineages.set(handle, lineage);
    return handle;
  }

  /** Throws HostError `ERR_STALE_GENERATION` for another tenant's handle, and for one of an earlier generation or approval. */
  refuseStale(handle: Handle, generation: number, lineage?: string): void {
    const own = this.#lineages.get(handle);
    const why = own === undefined
      ? "it belongs to another tenant"
      : handle.generation !== generation
      ? `it belongs to generation ${handle.generation}, and ${generation} is the present one`
      : lineage !== undefined && own !== lineage
      ? "its plugin was approved anew"
      : null;
    if (why === null) return;
    throw new HostError(
      "ERR_STALE_GENERATION",
      `Cannot call "${handle.id}" by this handle: ${why}. Ask for another one`,
      {
        details: { capability: handle.id, generation: handle.generation },
      },
    );
  }
}

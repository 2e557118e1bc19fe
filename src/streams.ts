/** The streams of one tenant that are under way, counted. */
import { LimitError } from "../permissions/mod.ts";
import { type Chunk, type ChunkWindow, type Redactor, RUNTIME_LIMITS } from "../runtime/mod.ts";
import { CallStream, type StreamOptions } from "./call_stream.ts";
import type { InnerCallOptions } from "./run.ts";

/** What the call of a stream is made with. */
interface StreamedCall extends InnerCallOptions {
  readonly chunks: ChunkWindow;
  readonly signal: AbortSignal;
}

/** Opens streams. */
export class Streams {
  readonly #redactor: Redactor;
  #underWay = 0;

  /** Opens none yet. */
  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** A stream of one call, which `call` makes at the first reading. Throws nothing; what fails is thrown to the reader. */
  open(
    id: string,
    options: StreamOptions,
    call: (options: StreamedCall) => Promise<Chunk>,
  ): CallStream {
    const { signal: _signal, idleMs: _idleMs, ...rest } = options;
    const begin = async (chunks: ChunkWindow, signal: AbortSignal): Promise<Chunk> => {
      const { streamsPerTenantMax } = RUNTIME_LIMITS;
      if (this.#underWay >= streamsPerTenantMax) {
        throw new LimitError(
          "ERR_LIMIT_RATE",
          `Cannot read the stream of "${id}": ${streamsPerTenantMax} others are under way (streamsPerTenantMax)`,
          { details: { streamsPerTenantMax } },
        );
      }
      this.#underWay += 1;
      try {
        return await call({ ...rest, chunks, signal });
      } finally {
        this.#underWay -= 1;
      }
    };
    return new CallStream({ id, redactor: this.#redactor, begin }, options);
  }
}

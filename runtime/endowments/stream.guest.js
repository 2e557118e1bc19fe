// @ts-check
/** What belongs to one call beside its input: a stream of results, a body that is read piece by piece, and progress. */
((realm) => {
  "use strict";
  const { internal, op, primordials } = realm;
  const { SymbolAsyncIterator, TypeError, TypedArrayPrototypeGetSymbolToStringTag, promiseThen } =
    primordials;

  const { AbortController } = /** @type {any} */ (globalThis);

  /**
   * Sends what an iterator gives, one value after the other and only as fast as the host takes them, and tells how many. The
   * iterator is the plugin's, so is whatever it does to the loop: the host counts by itself. Leaving it runs its cleanup.
   */
  internal.pump = async (call, values) => {
    let place = 0;
    // deno-lint-ignore prefer-primordials
    for await (const given of values) {
      const chunk = await given; // an iterator of one's own may give promises, which would be lost as JSON
      const isBytes = TypedArrayPrototypeGetSymbolToStringTag(chunk) === "Uint8Array";
      if (typeof chunk === "function" || typeof chunk === "symbol") {
        throw new TypeError("A chunk is not JSON");
      }
      if (
        !await op("stream_push", [place++, isBytes ? internal.bytesToBase64(chunk) : chunk, isBytes], call)
      ) {
        break;
      }
    }
    return place;
  };

  const stepOf = (chunk) => ({
    __proto__: null,
    done: chunk === null,
    value: chunk === null ? undefined : typeof chunk === "string" ? chunk : internal.base64ToBytes(chunk[0]),
  });

  /** What the context of one call has; of reports made while one is on its way the last is told next. */
  internal.ownOf = (call, { streams, body }) => {
    let told = null;
    let isTelling = false;
    const tell = () => {
      const args = told;
      told = null;
      isTelling = args !== null;
      if (isTelling) promiseThen(op("progress", args, call), tell, tell);
    };
    // A script ends when nothing of it waits any more.
    const controller = streams && !internal.config.isScript && new AbortController();
    // A guest that waits for something else would only learn at its next value that nobody wants one.
    if (controller) {
      promiseThen(op("stream_left", [], call), (isLeft) => isLeft && controller.abort(), () => {});
    }
    call.streams = streams;
    call.flush = tell;
    return {
      __proto__: null,
      progress(done, total, message) {
        told = [done, total, message];
        if (!isTelling) tell();
      },
      signal: controller && controller.signal,
      body: body && {
        __proto__: null,
        next: () => promiseThen(op("body_read", [], call), stepOf),
        [SymbolAsyncIterator]() {
          return this;
        },
      },
    };
  };
});

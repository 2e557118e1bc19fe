/** Modules of WebAssembly as lists of bytes, small enough to be written by hand. */

const HEAD = [0, 97, 115, 109, 1, 0, 0, 0];

/** A section: its id, its length, its content. */
const section = (id: number, ...content: readonly number[]): number[] => [id, content.length, ...content];

const text = (word: string): number[] => [word.length, ...Buffer.from(word)];

/** One function type each: `(i32) -> i32`, and `() -> ()`. */
const TAKES_AND_GIVES = section(1, 1, 0x60, 1, 0x7f, 1, 0x7f);
const NOTHING = section(1, 1, 0x60, 0, 0);
const ONE_FUNCTION = section(3, 1, 0);
const EXPORTS_RUN = section(7, 1, ...text("run"), 0, 0);

/** The code section of one function without locals; the body's end is added. */
const code = (...body: readonly number[]): number[] => section(10, 1, body.length + 2, 0, ...body, 0x0b);

/** Nothing at all. */
export const EMPTY: readonly number[] = HEAD;

/** `run(n)` is n + 1. */
export const ADDS: readonly number[] = [
  ...HEAD,
  ...TAKES_AND_GIVES,
  ...ONE_FUNCTION,
  ...EXPORTS_RUN,
  ...code(0x20, 0, 0x41, 1, 0x6a),
];

/** `run()` never ends. */
export const LOOPS: readonly number[] = [
  ...HEAD,
  ...NOTHING,
  ...ONE_FUNCTION,
  ...EXPORTS_RUN,
  ...code(0x03, 0x40, 0x0c, 0, 0x0b),
];

/** `run()` calls itself for ever. */
export const RECURSES: readonly number[] = [
  ...HEAD,
  ...NOTHING,
  ...ONE_FUNCTION,
  ...EXPORTS_RUN,
  ...code(0x10, 0),
];

/** `run(at)` loads from memory of one page, so from beyond it when told to. */
export const LOADS: readonly number[] = [
  ...HEAD,
  ...TAKES_AND_GIVES,
  ...ONE_FUNCTION,
  ...section(5, 1, 0, 1),
  ...EXPORTS_RUN,
  ...code(0x20, 0, 0x28, 2, 0),
];

/** `run()` grows its memory for ever, sixteen pages at a time, and fills them. */
export const GROWS: readonly number[] = [
  ...HEAD,
  ...NOTHING,
  ...ONE_FUNCTION,
  ...section(5, 1, 0, 1),
  ...EXPORTS_RUN,
  // loop: fill(grow(16) << 16, 1, 1048576); again
  ...code(
    ...[0x03, 0x40, 0x41, 16, 0x40, 0, 0x41, 16, 0x74, 0x41, 1],
    ...[0x41, 0x80, 0x80, 0xc0, 0, 0xfc, 0x0b, 0, 0x0c, 0, 0x0b],
  ),
];

/** A shared memory of its own, exported as `memory`. */
export const SHARED_EXPORTED: readonly number[] = [
  ...HEAD,
  ...section(5, 1, 3, 1, 2),
  ...section(7, 1, ...text("memory"), 2, 0),
];

/** A shared memory taken from `a.memory`, exported as `memory`. */
export const SHARED_IMPORTED: readonly number[] = [
  ...HEAD,
  ...section(2, 1, ...text("a"), ...text("memory"), 2, 3, 1, 2),
  ...section(7, 1, ...text("memory"), 2, 0),
];

/** `run()` waits for ever on a shared memory that nobody else has: `memory.atomic.wait32(0, 0, -1)`. */
export const WAITS: readonly number[] = [
  ...HEAD,
  ...NOTHING,
  ...ONE_FUNCTION,
  ...section(5, 1, 3, 1, 2),
  ...EXPORTS_RUN,
  ...code(0x41, 0, 0x41, 0, 0x42, 0x7f, 0xfe, 0x01, 2, 0, 0x1a),
];

/** `run()` makes an array of the collector's in an endless loop and drops it. */
export const MAKES_ARRAYS: readonly number[] = [
  ...HEAD,
  ...section(1, 2, 0x60, 0, 0, 0x5e, 0x7f, 1),
  ...ONE_FUNCTION,
  ...EXPORTS_RUN,
  // loop: drop(array.new_default 1 (1000)); again
  ...code(0x03, 0x40, 0x41, 0xe8, 0x07, 0xfb, 7, 1, 0x1a, 0x0c, 0, 0x0b),
];

/**
 * What is under way, by number. A Map of things that come and go keeps more than it holds: a table that it has outgrown
 * leads to the one after it, and once one is old enough to be looked at seldom, it keeps all that were ever in those after
 * it until everything is collected. Each thing is in a box, therefore, which is emptied when it goes.
 */

interface Box<Value> {
  readonly id: number;
  value: Value | undefined;
}

/** Things by number, in the order in which they came. */
export class UnderWay<Value> {
  readonly #boxes = new Map<number, Box<Value>>();

  /** How many there are. */
  get size(): number {
    return this.#boxes.size;
  }

  /** Whether there is one of this number. */
  has(id: number): boolean {
    return this.#boxes.has(id);
  }

  /** The one of this number. */
  get(id: number): Value | undefined {
    return this.#boxes.get(id)?.value;
  }

  /** Adds one, under a number that no other has. */
  set(id: number, value: Value): void {
    this.#boxes.set(id, { id, value });
  }

  /** Takes one away; false when there is none. */
  delete(id: number): boolean {
    const box = this.#boxes.get(id);
    if (box !== undefined) box.value = undefined;
    return this.#boxes.delete(id);
  }

  /** All numbers. */
  keys(): MapIterator<number> {
    return this.#boxes.keys();
  }

  /** All things. */
  *values(): Generator<Value, undefined> {
    for (const [, value] of this) yield value;
  }

  /** All, with their numbers. */
  *[Symbol.iterator](): Generator<readonly [number, Value], undefined> {
    for (const { id, value } of this.#boxes.values()) if (value !== undefined) yield [id, value];
  }
}

/** Proofs that a check took place. Powers take nothing else, so an op cannot act on what the broker has not decided. */
import type { Decision } from "../permissions/mod.ts";

/** An absolute path that a grant covers, for one kind of use. */
export class CheckedPath {
  readonly #path: string;
  readonly #kind: string;

  private constructor(path: string, kind: string) {
    this.#path = path;
    this.#kind = kind;
  }

  /** Makes the proof from a granting decision. Only the broker calls this; a test holds it to that. */
  static fromDecision(decision: Decision): CheckedPath {
    if (decision.state !== "granted" || decision.value === null) {
      throw new TypeError("only a granting decision about one path proves anything");
    }
    return new CheckedPath(decision.value, decision.kind);
  }

  /** The absolute path. */
  get path(): string {
    return this.#path;
  }

  /** The permission kind that was checked. */
  get kind(): string {
    return this.#kind;
  }
}

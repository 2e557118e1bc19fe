/** Proofs that a check took place. Powers take nothing else, so an op cannot act on what the broker has not decided. */
import type { Decision } from "../permissions/mod.ts";

/** A value of some kind that a grant covers: proof that it was decided, for whatever is derived from its text. */
export class CheckedValue {
  readonly #value: string;
  readonly #kind: string;

  private constructor(value: string, kind: string) {
    this.#value = value;
    this.#kind = kind;
  }

  /** Makes the proof from a granting decision. Only the broker calls this; a test holds it to that. */
  static fromDecision(decision: Decision): CheckedValue {
    if (decision.state !== "granted" || decision.asked === null) {
      throw new TypeError("only a granting decision about one value proves anything");
    }
    return new CheckedValue(decision.asked, decision.kind);
  }

  /** The value as it was asked for. */
  get value(): string {
    return this.#value;
  }

  /** The permission kind that was checked. */
  get kind(): string {
    return this.#kind;
  }
}

/** An address that a checked value may lead to. */
export class CheckedAddress {
  readonly #address: string;
  readonly #of: string;

  private constructor(address: string, of: string) {
    this.#address = address;
    this.#of = of;
  }

  /** Makes the proof from a granting decision of `checkAddress`. Only the broker calls this; a test holds it to that. */
  static fromDecision(decision: Decision): CheckedAddress {
    const [, bracketed, plain] = ADDRESS.exec(decision.value ?? "") ?? [];
    const address = bracketed ?? plain;
    if (decision.state !== "granted" || decision.asked === null || address === undefined) {
      throw new TypeError("only a granting decision about one address proves anything");
    }
    return new CheckedAddress(address, decision.asked);
  }

  /** The address in its one spelling, without brackets. */
  get address(): string {
    return this.#address;
  }

  /** The value that may lead there, as it was asked for: an address proves nothing for any other. */
  get of(): string {
    return this.#of;
  }
}

// As the decision displays it: "[::1]:443", "1.2.3.4:80", "GET https://1.2.3.4:443/path".
const ADDRESS = /^(?:[A-Z]+ https?:\/\/)?(?:\[([0-9a-f:.]+)\]|(\d{1,3}(?:\.\d{1,3}){3}))(?=[:/]|$)/;

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

/** Grants, denials and requests that are made to overlap. */
import fc from "fast-check";
import { DENO_KINDS, type DenoKind, type Flags, type Given } from "./deno.ts";
import { SAMPLES, type Samples } from "./words.ts";

/** One kind's flags, and what is asked under them. */
export interface Cell extends Flags {
  readonly kind: DenoKind;
  readonly requests: readonly (string | null)[];
}

/** One cell of each kind, for one process; all entries are of Deno's grammar. */
export function worlds(cwd: string): fc.Arbitrary<readonly Cell[]> {
  return fc.tuple(...DENO_KINDS.map((kind) => cellOf(kind, SAMPLES[kind](cwd))));
}

/** Cells with one odd entry, which Deno, Sallyport or both may refuse to read. */
export function oddCells(cwd: string): fc.Arbitrary<Cell> {
  return fc.oneof(...DENO_KINDS.map((kind) => {
    const { entry, request, odd } = SAMPLES[kind](cwd);
    const entries = fc.tuple(fc.oneof({ weight: 5, arbitrary: odd }, { weight: 1, arbitrary: entry }));
    const requests = fc.array(fc.oneof(request, odd), { minLength: 3, maxLength: 3 });
    return fc.tuple(entries, requests, fc.constantFrom(true, true, false)).map((
      [given, asked, isAllow],
    ): Cell => ({
      kind,
      allow: isAllow ? given : true,
      deny: isAllow ? null : given,
      requests: asked,
    }));
  }));
}

/** How many requests there are to one set of flags. */
export const REQUESTS_PER_CELL = 16;

function cellOf(kind: DenoKind, { entry, deny = entry, request, odd }: Samples): fc.Arbitrary<Cell> {
  const side = (one: fc.Arbitrary<string>, whole: number, none: number): fc.Arbitrary<Given> =>
    fc.oneof(
      { weight: 10, arbitrary: fc.array(one, { minLength: 1, maxLength: 4 }) },
      { weight: whole, arbitrary: fc.constant<Given>(true) },
      { weight: none, arbitrary: fc.constant<Given>(null) },
    );
  return fc.tuple(side(entry, 3, 2), side(deny, 1, 5)).chain(([allow, denied]) => {
    // Half of what is asked is what was just granted or denied, or next to it.
    const named = [allow, denied].flatMap((given) => given === null || given === true ? [] : given);
    const near = named.length === 0 ? request : fc.constantFrom(...named).chain(nearTo(kind));
    const asked = fc.oneof(
      { weight: 8, arbitrary: request },
      { weight: 8, arbitrary: near },
      { weight: 1, arbitrary: odd },
      { weight: 1, arbitrary: fc.constant(null) },
    );
    return fc.array(asked, { minLength: REQUESTS_PER_CELL, maxLength: REQUESTS_PER_CELL })
      .map((requests) => ({ kind, allow, deny: denied, requests }));
  });
}

function nearTo(kind: DenoKind): (entry: string) => fc.Arbitrary<string> {
  if (kind === "net" || kind === "import") {
    return (entry) =>
      fc.constantFrom("", ":80", ":443", ":1").map((port) =>
        entry.replace(/^\*\./, "a.").replace(/\/\d+/, "").replace(/(?<=[^:]):\d+$/, "") + port
      );
  }
  if (kind === "env") {
    return (entry) => fc.constantFrom("", "_", "B", "_C").map((tail) => entry.replace(/\*$/, "") + tail);
  }
  if (kind === "sys") return fc.constant;
  return (entry) =>
    fc.constantFrom("", "/", "/a", "/../a", "b", "/./b//a", "/..").map((tail) => entry + tail);
}

/** Hostile plugins of our own, through the public API: each ends in a named error, or with nothing in its hands. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Arena, type HostilePlugin } from "./arena.ts";
import { HOSTILE } from "./hostile/mod.ts";
import { type Attack, attacks } from "./hostile/row.ts";

const titleOf = ({ proves, id, ends }: HostilePlugin): string =>
  `${proves === undefined ? "" : `[${proves}] `}${id}: ${ends.join(" or ")}`;

for (const [name, rows] of Object.entries(HOSTILE)) {
  describe(name, () => {
    let arena: Arena;
    beforeAll(async () => void (arena = await Arena.open(rows)), 120_000);
    afterAll(async () => {
      await arena[Symbol.asyncDispose]();
      console.log(
        `${name}: ${rows.length} plugins, worst lateness of the host ${Math.round(arena.worstLateMs)} ms`,
      );
    });
    test.each(rows.map((row) => ({ row, title: titleOf(row) })))(
      "$title",
      async ({ row }) => {
        const { came, problems } = await arena.attempt(row);
        expect(problems, came).toEqual([]);
      },
      60_000,
    );
  });
}

/** What is granted here is what no other table grants; each must be noticed. */
const NOTICED: readonly (readonly [HostilePlugin, problem: RegExp])[] = [
  ["tells", "return await Deno.readTextFile('$OUTSIDE');", /^a canary was seen$/],
  ["writes", "console.log(await Deno.readTextFile('$OUTSIDE')); return 'nothing';", /^a canary was seen$/],
  ["throws", "throw new Error(await Deno.readTextFile('$OUTSIDE'));", /^a canary was seen$/],
  ["knows", "return '$OUTSIDE';", /^it knew the place /],
  ["gives", "return 'something';", /^it came to a result: /],
  [
    "changes",
    "await Deno.writeTextFile('$OUTSIDE', 'mine'); return 'nothing';",
    /^a file outside was changed$/,
  ],
].map(([id, body, problem]) => [
  attacks("noticed", { head: "permissions: { read: true, write: true }\n" }, [{ id, body } as Attack])[0]!,
  problem as RegExp,
]);

describe("the arena", () => {
  let arena: Arena;
  beforeAll(async () => void (arena = await Arena.open(NOTICED.map(([row]) => row))), 120_000);
  afterAll(() => arena[Symbol.asyncDispose]());
  test.each(NOTICED.map(([row, problem]) => ({ row, problem, id: row.id })))(
    "notices a plugin that $id what it must not",
    async ({ row, problem }) => {
      const { problems } = await arena.attempt(row);
      expect(problems.filter((one) => problem.test(one))).toHaveLength(1);
    },
  );
});

/** Hostile guest code from test/cases/guest_probes.jsonl, each probe a tool of one plugin, with neighbours to steal from. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Arena } from "./arena.ts";
import { HOSTILE } from "./hostile/mod.ts";
import { PROBES } from "./probes.ts";

describe("hostile guest code", () => {
  let arena: Arena;
  beforeAll(async () => void (arena = await Arena.open(PROBES)), 120_000);
  afterAll(async () => {
    await arena[Symbol.asyncDispose]();
    console.log(`probes: ${PROBES.length}, worst lateness of the host ${Math.round(arena.worstLateMs)} ms`);
  });
  test.each(PROBES.map((row) => ({ row, title: `${row.id} ${row.class}: ${row.ends.join(" | ")}` })))(
    "$title",
    async ({ row }) => {
      const { came, problems } = await arena.attempt(row);
      expect(problems, came).toEqual([]);
    },
  );
});

test("every class of the case file that nothing of it proves yet has plugins of our own", () => {
  const proven = new Set([...PROBES, ...Object.values(HOSTILE).flat()].map((row) => row.class));
  for (const kind of ["dispatch-inherit", "cyclic", "neighbour", "late-calls"]) {
    expect(proven).toContain(kind);
  }
});

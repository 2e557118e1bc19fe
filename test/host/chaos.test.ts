/** Workers are expendable: what becomes of calls, and of the pool, while workers are killed at random. */
import { expect, test } from "vitest";
import { chaos } from "./chaos_driver.ts";

test(
  "[T11] whoever kills workers from outside takes nothing with them: every call ends, by answer or by name",
  async () => {
    const figures = await chaos({ ms: 5_000, everyMs: 200, tenants: 3, inFlight: 16, hangMs: 30_000 });
    expect(figures.kills).toBeGreaterThan(3);
    expect(figures.answered).toBeGreaterThan(20);
    expect(figures).toMatchObject({ wrong: 0, hanging: 0, left: 0, other: {} });
    expect(Object.keys(figures.lost)).toEqual(figures.calls > figures.answered ? ["ERR_WORKER_LOST"] : []);
    expect(figures.workers).toBeGreaterThan(0);
  },
  90_000,
);

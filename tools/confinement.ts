/** Prints what code that took a worker over could and could not do, under each confinement that this machine has. */
import { planConfinement } from "../runtime/mod.ts";
import { attackUnder } from "../test/runtime/confinement/attack.ts";

const plans = [
  planConfinement("best"),
  planConfinement("best", ["bubblewrap"]),
  planConfinement("best", ["bubblewrap", "uid"]),
]
  .filter((plan, index, all) => all.findIndex(({ level }) => level === plan.level) === index);
const columns = await Promise.all(
  plans.map(async (plan) => ({ level: plan.level, results: await attackUnder(plan) })),
);
const attacks = Object.keys(columns[0]!.results);
const width = Math.max(...attacks.map(({ length }) => length));
console.log(["".padEnd(width), ...columns.map(({ level }) => level.padEnd(34))].join("  "));
for (const attack of attacks) {
  console.log(
    [attack.padEnd(width), ...columns.map(({ results }) => results[attack]!.padEnd(34))].join("  "),
  );
}
const open = columns.filter(({ level }) => level === "strong").flatMap(({ results }) =>
  attacks.filter((attack) => results[attack] === "succeeded")
);
console.log(`\nsucceeded under strong confinement: ${open.length}`);
process.exitCode = open.length;

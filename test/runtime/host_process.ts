/** A host to be killed: starts a worker under the plan that it is told, lets a guest work or rest, and says so. */
import process from "node:process";
import { planConfinement } from "../../runtime/mod.ts";
import { Bench } from "./harness.ts";

const [, , level, activity] = process.argv;
const bench = new Bench({
  plan: level === "weak" ? planConfinement("weak", ["bubblewrap", "uid"]) : planConfinement("best"),
});
bench.pool.warm();
const guest = await bench.start("async (isBusy) => { while (isBusy); return 1; }");
await guest.call(false);
if (activity === "busy") void guest.call(true, 600_000);
// Both are to be killed later; the second slice of a busy guest has begun by then.
setTimeout(() => console.log("ready"), 200);
setInterval(() => {}, 1_000);

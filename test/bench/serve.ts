/** The process of one peer: takes orders as lines of JSON, answers each with samples. Runs in Node.js and in Deno. */
import process from "node:process";
import { createInterface } from "node:readline";
import { measurer, type Order } from "./measure.ts";
import { type PeerName, PEERS } from "./peers/mod.ts";

const name = process.argv[2] as PeerName; // only run.ts starts this file
const measure = measurer(await PEERS[name].load());
say({ samples: [] });
for await (const line of createInterface({ input: process.stdin })) {
  try {
    say({ samples: await measure(JSON.parse(line) as Order) });
  } catch (error) {
    say({
      error: error instanceof Error ? error.stack ?? error.message : String(error),
    });
  }
}
// The harness has gone, or has enough: this process ends with its group, which is all that the peer started.
process.kill(-process.pid, "SIGKILL");

function say(answer: object): void {
  process.stdout.write(JSON.stringify(answer) + "\n");
}

/**
 * A process of its own that works on a store: `write HOME PREFIX COUNT`, `hold LOCK`, which ends while it holds it, or
 * `forget HOME TENANT`, which removes all records of a tenant.
 */
import process from "node:process";
import { withLock } from "../../src/trust/lock.ts";
import { settingsTrustStore } from "../../src/trust/store.ts";
import { PINS, recordOf } from "./support.ts";

const [verb, place, prefix, count] = process.argv.slice(2);
if (verb === "hold") {
  await withLock(place!, { lockWaitMs: 1000, lockPollMs: 5 }, async () => {
    process.stdout.write("held\n");
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  });
}
const store = settingsTrustStore(place!);
if (verb === "forget") {
  for (const stored of await store.list(prefix!)) {
    await store.remove(stored.isSound ? stored.record : stored.key);
  }
}
for (let index = 0; index < Number(count); index++) await store.put(recordOf(`${prefix}${index}`), PINS);

/** Places that plugins share: a lane that wants many holds up nobody but itself. */
import { linkSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { CheckedPath } from "../../runtime/mod.ts";
import { diskFiles, RUNTIME_LIMITS } from "../../runtime/mod.ts";
import { Slots } from "../../runtime/powers/slots.ts";
import { temporaryFolder } from "./harness.ts";

const forEver = new AbortController().signal;

test("[T32] one that comes late waits for one turn of each lane, not for all of a long one", async () => {
  const slots = new Slots(1);
  const order: string[] = [];
  const take = (lane: string, name: string, signal = forEver) =>
    slots.take(lane, signal, async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      order.push(name);
    });
  const all = Array.from({ length: 6 }, (_, n) => take("greedy", `g${n}`));
  all.push(take("modest", "m0"), take("modest", "m1"), take("other", "o0"));
  await Promise.all(all);
  expect(order).toEqual(["g0", "g1", "m0", "o0", "g2", "m1", "g3", "g4", "g5"]);
});

test("[T32] who stops waiting leaves no gap, and every place comes back", async () => {
  const slots = new Slots(1);
  const gone = new AbortController();
  const held = Promise.withResolvers<void>();
  const first = slots.take("a", forEver, () => held.promise);
  const leaving = slots.take("b", gone.signal, () => Promise.resolve("never"));
  const staying = slots.take("c", forEver, () => Promise.resolve("done"));
  gone.abort(new Error("gone"));
  await expect(leaving).rejects.toThrow("gone");
  held.resolve();
  await first;
  expect(await staying).toBe("done");
  expect(await slots.take("b", forEver, () => Promise.resolve("again"))).toBe("again");
});

test("[T32] removing a tree stops when its call ends, and goes on while it does not", async () => {
  using folder = temporaryFolder();
  const tree = join(folder.path, "tree");
  mkdirSync(tree);
  for (let n = 0; n < 50; n++) writeFileSync(join(tree, `f${n}`), "");
  const files = diskFiles();
  const ended = new AbortController();
  let asked = 0;
  const target = (signal: AbortSignal) => ({
    path: tree,
    lane: "a",
    signal,
    authority: {
      authorize: (path: string) => ({ path }) as CheckedPath, // the disk asks nothing else of it
      wouldGrant: () => {
        if (++asked === 70) ended.abort(); // in the second round, which removes
        return true;
      },
      sealed: () => [],
    },
  });
  await expect(files.remove(target(ended.signal), true)).rejects.toMatchObject({ code: "ERR_CALL_ENDED" });
  expect(readdirSync(tree).length).toBeGreaterThan(20);
  await files.remove(target(forEver), true);
  expect(readdirSync(folder.path)).toEqual([]);
});

test("[T32] what plugins have in their own folders denies nobody a file with several names", async () => {
  using folder = temporaryFolder();
  const home = join(folder.path, "home");
  const data = join(home, "data");
  mkdirSync(join(data, "many"), { recursive: true });
  writeFileSync(join(home, "key"), "secret");
  writeFileSync(join(folder.path, "one"), "open");
  linkSync(join(folder.path, "one"), join(folder.path, "two"));
  linkSync(join(home, "key"), join(folder.path, "alias"));
  for (let n = 0; n <= RUNTIME_LIMITS.sealedEntriesMax; n++) writeFileSync(join(data, "many", `${n}`), "");
  const read = (name: string, unlinked: readonly string[]) =>
    diskFiles({ unlinked }).readFile({
      path: join(folder.path, name),
      lane: "a",
      signal: forEver,
      authority: {
        authorize: (path) => {
          if (path === home || path.startsWith(home + "/")) throw new Error("denied");
          return { path } as CheckedPath; // the disk asks nothing else of it
        },
        wouldGrant: () => true,
        sealed: () => [home],
      },
    }, 100);
  await expect(read("one", [])).rejects.toThrow("denied");
  expect(String(await read("one", [data]))).toBe("open");
  await expect(read("alias", [data])).rejects.toThrow("denied");
}, 60_000);

test("[T11] a lane with a bound of its own leaves the rest of the places to others, and takes its own again", async () => {
  const slots = new Slots(3, 2);
  const held = Promise.withResolvers<void>();
  const begun: string[] = [];
  const take = (lane: string, name: string, until: Promise<void> = held.promise) =>
    slots.take(lane, forEver, () => {
      begun.push(name);
      return until;
    });
  const all = [take("greedy", "g0"), take("greedy", "g1"), take("greedy", "g2"), take("greedy", "g3")];
  await take("modest", "m0", Promise.resolve());
  await take("modest", "m1", Promise.resolve());
  expect(begun).toEqual(["g0", "g1", "m0", "m1"]);
  held.resolve();
  await Promise.all(all);
  expect(begun).toEqual(["g0", "g1", "m0", "m1", "g2", "g3"]);
  // Every place came back.
  const again = Promise.withResolvers<void>();
  const last = ["a", "b", "c", "d"].map((lane) => take(lane, lane, again.promise));
  await Promise.resolve();
  expect(begun.slice(6)).toEqual(["a", "b", "c"]);
  again.resolve();
  await Promise.all(last);
  expect(begun.slice(6)).toEqual(["a", "b", "c", "d"]);
});

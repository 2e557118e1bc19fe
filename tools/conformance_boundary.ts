/** Prints how often a folder was swapped under a read or a write, and a name rebound under a request, and what escaped. */
import process from "node:process";
import { Bench, temporaryFolder } from "../test/runtime/harness.ts";
import { rebind } from "../test/runtime/net/rebinding.ts";
import { readWhileSwapping, type Swapped, writeWhileSwapping } from "../test/runtime/swapping.ts";

const BOUNDS = { swaps: 5_000, each: 300, withinMs: 60_000 };
const REBINDINGS = 1_000;

const swaps = [
  await swapped("reads", "text good", readWhileSwapping),
  await swapped("writes", "done", writeWhileSwapping),
];
const isClean = [...swaps, await rebound()].every((part) => part);
console.log(isClean ? "\nboundary: passed" : "\nboundary: FAILED");
process.exitCode = isClean ? 0 : 1;

async function swapped(what: string, good: string, act: typeof readWhileSwapping): Promise<boolean> {
  await using bench = new Bench();
  using folder = temporaryFolder();
  const { swaps, attempts, told, escapes }: Swapped = await act(bench, folder.path, BOUNDS);
  const [done, refused] = [told[good] ?? 0, told["NotCapable"] ?? 0];
  console.log(
    `swap, ${what}: ${swaps} swaps, ${attempts} attempts, ${done} of them done, ${refused} refused, ${escapes.length} escapes`,
  );
  for (const escape of escapes) console.log(`  ${escape}`);
  return escapes.length === 0 && swaps >= BOUNDS.swaps && done > BOUNDS.each && refused > BOUNDS.each;
}

async function rebound(): Promise<boolean> {
  const { attempts, answered, refused, escapes, trapped } = await rebind(REBINDINGS);
  console.log(
    `rebinding: ${attempts} attempts, ${answered} answered by the public server, ${refused} refused, ${escapes.length} escapes (${trapped} reached the private server where it was granted)`,
  );
  for (const escape of escapes) console.log(`  ${escape}`);
  return escapes.length === 0 && answered > 0 && refused > 0 && trapped > 0;
}

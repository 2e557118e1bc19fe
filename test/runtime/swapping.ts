/** A folder that is swapped for a link to the outside, over and over, while a guest reads or writes through its name. */
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Bench, Guest } from "./harness.ts";

/** How long it goes on: until there were so many swaps and both sides were met often enough, or the time is over. */
export interface SwapBounds {
  readonly swaps: number;
  readonly each: number;
  readonly withinMs: number;
}

/** What came of it. */
export interface Swapped {
  readonly swaps: number;
  /** Reads or writes that were tried. */
  readonly attempts: number;
  /** What the guest was told, and how often. */
  readonly told: Readonly<Record<string, number>>;
  /** What came in from the outside, or landed there. */
  readonly escapes: readonly string[];
}

/** Reads, looks at and lists what is behind the name. The folder is used up. */
export async function readWhileSwapping(bench: Bench, root: string, bounds: SwapBounds): Promise<Swapped> {
  const at = (path: string) => join(root, path);
  mkdirSync(at("in/dir"), { recursive: true });
  mkdirSync(at("out"));
  writeFileSync(at("in/dir/x"), "good");
  writeFileSync(at("out/x"), "an outside secret");
  symlinkSync("../out", at("in/link"));
  const guest = await bench.start(READER, { cwd: root, permissions: { read: ["./in"] } });
  const { swaps, told } = await swapWhile(guest, at, bounds, "text good");
  guest.isolate.dispose();
  return { swaps, told, attempts: sum(told), escapes: Object.keys(told).filter((key) => !HARMLESS.has(key)) };
}

/** Makes, replaces and removes what is behind the name. The folder is used up. */
export async function writeWhileSwapping(bench: Bench, root: string, bounds: SwapBounds): Promise<Swapped> {
  const at = (path: string) => join(root, path);
  mkdirSync(at("in/dir"), { recursive: true });
  mkdirSync(at("out"));
  writeFileSync(at("out/old"), "whole");
  symlinkSync("../out", at("in/link"));
  const guest = await bench.start(WRITER, { cwd: root, permissions: { write: ["./in"] }, source: "flags" });
  const { swaps, told } = await swapWhile(guest, at, bounds, "done");
  guest.isolate.dispose();
  const escapes = readdirSync(at("out")).filter((name) => name !== "old");
  if (readFileSync(at("out/old"), "utf8") !== "whole") escapes.push("old");
  return { swaps, told, attempts: sum(told), escapes };
}

const READER = `async () => {
  const told = {};
  const count = (word) => { told[word] = (told[word] ?? 0) + 1; };
  const tries = [
    async () => "text " + await Deno.readTextFile("in/dir/x"),
    async () => "size " + (await Deno.stat("in/dir/x")).size,
    async () => { const names = []; for await (const { name } of Deno.readDir("in/dir")) names.push(name); return "names " + names; },
  ];
  for (let i = 0; i < 100; i++) await Promise.all(tries.map((attempt) => attempt().then(count, (e) => count(e.name))));
  return told;
}`;

const HARMLESS = new Set([
  "text good",
  "size 4",
  "names x",
  "NotCapable",
  "NotFound",
  "NotADirectory",
  "FilesystemLoop",
]);

const WRITER = `async () => {
  const told = {};
  const count = (word) => { told[word] = (told[word] ?? 0) + 1; };
  const once = async (i) => {
    await Deno.writeTextFile("in/dir/new" + i % 7, "x").then(() => count("done"), (e) => count(e.name));
    await Deno.writeTextFile("in/dir/old", "x").then(() => count("done"), (e) => count(e.name));
    await Deno.mkdir("in/dir/sub").then(() => count("done"), (e) => count(e.name));
    await Deno.remove("in/dir/old").then(() => count("done"), (e) => count(e.name));
    await Deno.remove("in/dir/sub", { recursive: true }).then(() => count("done"), (e) => count(e.name));
  };
  for (let i = 0; i < 20; i++) await Promise.all([once(i), once(i + 1), once(i + 2)]);
  return told;
}`;

const TURNS = [0, 1, 0, 3, 0, 1, 30];

async function swapWhile(
  guest: Guest,
  at: (path: string) => string,
  { swaps: least, each, withinMs }: SwapBounds,
  good: string,
): Promise<Pick<Swapped, "swaps" | "told">> {
  let swaps = 0;
  let isOver = false;
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  // In this very process, between any two steps of the broker's: each turn of the loop is a swap, or leaves one side for long.
  const swapping = (async () => {
    while (!isOver) {
      renameSync(at("in/dir"), at("in/aside"));
      renameSync(at("in/link"), at("in/dir"));
      await turn();
      renameSync(at("in/dir"), at("in/link"));
      renameSync(at("in/aside"), at("in/dir"));
      for (let left = TURNS[swaps++ % TURNS.length]!; left > 0; left--) await turn();
    }
  })();
  const told: Record<string, number> = {};
  const end = performance.now() + withinMs;
  const isShown = () => swaps >= least && (told[good] ?? 0) > each && (told["NotCapable"] ?? 0) > each;
  while (performance.now() < end && !isShown()) {
    const { value, error } = await guest.call();
    if (error !== undefined) throw error;
    for (const [word, count] of Object.entries(value as Record<string, number>)) {
      told[word] = (told[word] ?? 0) + count;
    }
  }
  isOver = true;
  await swapping;
  return { swaps, told };
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

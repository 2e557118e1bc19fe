/** Runs all cells: peers take turns within each, so that whatever else the machine does falls on all of them alike. */
import { type Cell, CELL_NAMES, type CellName, CELLS } from "./cells.ts";
import { gap, type Gathered, record, type RunOptions } from "./gathered.ts";
import type { Order } from "./measure.ts";
import { type PeerEntry, type PeerName, PEERS } from "./peers/mod.ts";
import { RemotePeer } from "./remote.ts";
import { runMemory } from "./run_memory.ts";
import type { Subject } from "./results.ts";
import { shellPrograms } from "./shell.ts";

/** Shares of the time by whose end the cells with turns, and then the programs from the shell, are done. */
const TURNS_SHARE = 0.5;
const SHELL_SHARE = 0.58;
/** Small plugins that the warm cells take, beside those that are started cold. */
const FURTHER_SMALL = 8;

/** Measures everything. Fails only when the reference cannot be measured. */
export async function runAll(options: RunOptions): Promise<Gathered> {
  const found: Gathered = { cells: {}, gaps: [] };
  const { passes, totalMs } = options.effort;
  const start = options.start;
  for (let pass = 0; pass < passes; pass++) {
    await runTurns(
      options,
      found,
      pass,
      start + TURNS_SHARE * totalMs * (pass + 1) / passes,
    );
  }
  if (options.cells.includes("shell")) {
    await runShell(options, found, start + SHELL_SHARE * totalMs);
  }
  await runMemory(options, found, start + totalMs);
  return found;
}

async function runTurns(
  options: RunOptions,
  found: Gathered,
  pass: number,
  end: number,
): Promise<void> {
  const { effort, tell } = options;
  const cells = CELL_NAMES.filter((name) => options.cells.includes(name) && cellOf(name).order !== undefined);
  if (cells.length === 0) return;
  tell(
    `pass ${pass + 1} of ${effort.passes}: starting ${options.peers.length} peers`,
  );
  const peers = await startAll(options.peers, found);
  try {
    for (
      const [fixture, cell] of [["small", "coldSmall"], [
        "large",
        "coldLarge",
      ]] as const
    ) {
      const count = (cellOf(cell).turns ?? 0) * effort.turns +
        (fixture === "small" ? FURTHER_SMALL : 0);
      await everybody(peers, found, cell, { do: "stock", fixture, count });
    }
    for (const [place, name] of cells.entries()) {
      const cell = cellOf(name);
      const turns = (cell.turns ?? 0) * effort.turns;
      // A cell may take twice its part of what is left, for the later ones take less.
      const share = 2 * (end - performance.now()) / (cells.length - place);
      const cellEnd = Math.min(performance.now() + share, end);
      let turn = 0;
      for (
        ;
        turn < turns && (turn === 0 || performance.now() < cellEnd);
        turn++
      ) {
        const order = cell.order!(
          (pass * turns + turn) * 10_000 + Math.floor(Math.random() * 10_000),
        );
        // Nobody is always the one who comes after the same neighbour.
        const shift = (turn + pass) % peers.length;
        const row = await everybody(
          [...peers.slice(shift), ...peers.slice(0, shift)],
          found,
          name,
          order,
        );
        record(found, name, options.peers, row);
      }
      tell(
        `${cell.title}: ${turn} turns${turn < turns ? ` of ${turns}, for lack of time` : ""}`,
      );
    }
  } finally {
    await Promise.all(peers.map((peer) => peer.end()));
  }
}

async function startAll(
  names: readonly PeerName[],
  found: Gathered,
): Promise<RemotePeer[]> {
  const peers: RemotePeer[] = [];
  for (const name of names) {
    try {
      peers.push(await RemotePeer.start(name));
    } catch (error) {
      gap(found, name, "start", error);
    }
  }
  return peers;
}

/** One after the other; a peer that fails has no samples in this turn. */
async function everybody(
  peers: readonly RemotePeer[],
  found: Gathered,
  cell: CellName,
  order: Order,
): Promise<ReadonlyMap<Subject, readonly number[]>> {
  const row = new Map<Subject, readonly number[]>();
  for (const peer of peers) {
    const { isOnlyCpu } = entryOf(peer.name);
    if (isOnlyCpu === true && order.do !== "cpu") continue;
    try {
      row.set(peer.name, await peer.order(order));
    } catch (error) {
      gap(found, peer.name, cell, error);
    }
  }
  return row;
}

async function runShell(
  { effort, tell }: RunOptions,
  found: Gathered,
  end: number,
): Promise<void> {
  const programs = Object.entries(shellPrograms());
  let turn = 0;
  for (
    ;
    turn <= effort.shellTurns && (turn < 2 || performance.now() < end);
    turn++
  ) {
    const row = new Map<Subject, readonly number[]>();
    for (const [name, run] of programs) {
      try {
        row.set(name as Subject, [await run()]);
      } catch (error) {
        gap(found, name, "shell", error);
      }
    }
    // The first turn fills the caches of the file system and of Deno.
    if (turn > 0) {
      record(found, "shell", programs.map(([name]) => name as Subject), row);
    }
  }
  tell(`${CELLS.shell.title}: ${turn - 1} turns`);
}

function cellOf(name: CellName): Cell {
  return CELLS[name];
}

function entryOf(name: PeerName): PeerEntry {
  return PEERS[name];
}

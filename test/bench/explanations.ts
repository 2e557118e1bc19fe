/**
 * Where the time goes in cells whose target is missed: the profile that says why, in words and figures, for RESULTS.md.
 * Whoever changes such a cell by much looks here. A cell without an entry says so.
 */
import type { CellName } from "./cells.ts";

/** By cell. */
export const EXPLANATIONS: Readonly<Partial<Record<CellName, string>>> = {};

/** Where a peer is better than Sallyport by its nature, whatever the figures of a run are. */
export const PEERS_BETTER: readonly string[] = [
  "quickjs-emscripten is far smaller for each plugin, and starts a small one sooner than an isolate can be made: it has no " +
  "heap of V8's and no compiler. Its guest code runs several to fifty times slower.",
  "A Deno Worker lives in its host's process, so a call has one hop between threads where Sallyport has one between processes " +
  "and one between threads. An engine bug that a guest exploits is then in the host's process as well.",
  "raw isolated-vm called synchronously has no hop at all and wins every latency on the same thread; the guest stops the host " +
  "for as long as it runs.",
  "workerd and the peers with a process each pay nothing for permissions, audit, schemas and limits in these figures: they check none here.",
];

/**
 * Where the time goes in cells whose target is missed: the profile that says why, in words and figures, for RESULTS.md.
 * Whoever changes such a cell by much looks here. A cell without an entry says so.
 */
import type { CellName } from "./cells.ts";

/** By cell. */
export const EXPLANATIONS: Readonly<Partial<Record<CellName, string>>> = {
  warmSmall:
    "A call crosses two processes. Of processor time the host has about 20 µs of it (frames, two sealed lines of the audit, JSON both " +
    "ways) and the worker 20 µs, of which the isolate has 9: 2 to enter it, 2 for the guest's JSON, the rest its platform. Both ends " +
    "stay awake for the other: with few processes beside them the median is raw's, with all peers alive it is more. The slowest hundredth is calls during which something else wanted " +
    "one of the two processors, which a pair of processes shows sooner than one thread: collections of the host, the log's fdatasync, " +
    "and host and worker placed on the same core.",
  warmLarge:
    "JSON is read and written in the guest and read in the host, as for raw; beyond that the text is scanned for its " +
    "depth and number of values before it is parsed, encoded and decoded as UTF-8 on either side of the pipe, and copied twice.",
  throughput64:
    "Raw needs 8 µs of one process for a call. Here the host needs about 15 to 20 µs of one thread, half of it the audit (two lines a " +
    "call, each sealed by HMAC: node:crypto's createHmac alone is 3 µs; what one turn takes is written at once), and the worker 20 µs " +
    "of another: reading and writing frames, and 9 µs in the isolate. Calls of one plugin are never put into one crossing, because " +
    "what code does must stay attributed to its call. With an audit kept in memory it is half as much again.",
  opSerial:
    "An op crosses the process boundary and back: parse, check, audit (write(2) and HMAC, about 8 of the host's 10 µs), act, and " +
    "two frames; then the isolate is entered once more to hand the answer over. Raw's is one hop between threads of one process.",
  opParallel:
    "Of 64 ops at once each still costs its own decision, its own sealed line (written together, before any of them is done) and its " +
    "own entry into the isolate: continuations of several calls in one slice could not be told apart.",
  memorySmall:
    "A bare isolate with a context has 1.2 MiB. The guest platform adds 0.65 MB of objects and bytecode, and the heap takes whole " +
    "pages of 256 KiB for each of its spaces. What a heap keeps for more is given back when its isolate comes to rest.",
  shell:
    "Most of it is there before any code of Sallyport's: a Node host with a confined worker and one bare isolate takes more than five " +
    "times as long as `deno run`. `--no-node-snapshot`, which the engine wants, is " +
    "38 ms of the worker's start. Of a `run` Node itself is 26 ms, loading the command line and making the host 65 (compiling 40 of it, " +
    "beside the worker's start), reading and verifying the plugin 35, its isolate and the call 25.",
  typescript:
    "Of about 15 ms, 5 to 8 are the bundling in its process of its own, which asks the host for each import and each file; a worker of " +
    "its own is taken from the spare ones, and 6 are loading and calling in it, where each step wakes a processor that sleeps. Two such " +
    "scripts within a moment find one spare worker, and the second waits for a process to start, which is the upper end.",
  coldSmall:
    "The isolate is taken, not made, but around it are: finding out whether it may be called, which looks at each pinned file (0.9 ms), " +
    "the bundle's lookup by all that it rests on and a line for each grant (0.5), loading (1.6, of which the guest needs 0.7) and the " +
    "first call (1), each with processors to wake: raw does all of it in one process that is awake. The first plugin of a tenant " +
    "also has its worker's start, where the spare one was just taken by another tenant.",
  coldLarge:
    "The text is compiled from a code cache on a thread of the worker, and evaluating it is the same for everybody; the cache has to be " +
    "read, authenticated and sent over the pipe, where raw takes it from its own memory.",
  cpuMix:
    "`--no-turboshaft-loop-unrolling`: without that flag of the engine an ordinary loop that allocates defeats time-outs, memory limits and " +
    "dispose, and integer loops are what unrolling helps most.",
  cpuSort:
    "The same flag, and runs differ by as much as it is missed by: it is met in one and not in the next. No profile tells more.",
  cycleLeft:
    "Heaps are given back to the allocator, which keeps pages for the next; a worker is replaced by age, use and size.",
};

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

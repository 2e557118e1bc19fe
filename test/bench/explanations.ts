/**
 * Where the time goes in cells whose target is missed: the profile that says why, in words and figures, for RESULTS.md.
 * Whoever changes such a cell by much looks here. A cell without an entry says so.
 */
import type { CellName } from "./cells.ts";

/** By cell. */
export const EXPLANATIONS: Readonly<Partial<Record<CellName, string>>> = {
  warmSmall:
    "A call crosses two processes and, unless it runs inline, two threads. Of processor time the host has about 80 µs of it " +
    "(frames, two audit lines with write(2) and HMAC, JSON both ways) and the worker 100 to 150 µs (reading the pipe, entering the " +
    "isolate, JSON in the guest, writing the pipe); raw isolated-vm has 40 to 130 µs in all. On a machine that is awake a hop " +
    "between threads costs raw 15 µs and a hop between processes a system call on either side, so the ratio is worse there than " +
    "on a quiet one. The 20 µs of the audit cost 100 µs in a call: meanwhile the worker's core goes to sleep, and a quarter of the " +
    "host's processor time is then the write that wakes it.",
  warmLarge:
    "JSON is read and written in the guest and read in the host, as for raw; beyond that the text is scanned for its " +
    "depth and number of values before it is parsed, encoded and decoded as UTF-8 on either side of the pipe, and copied twice.",
  throughput64:
    "The worker needs about 35 µs of processor time a call, which bounds one worker at some 28,000 calls a second; entering the " +
    "isolate is a third of it, the guest's JSON another. Calls of one plugin are never put into one crossing, because what " +
    "code does must stay attributed to its call.",
  opSerial:
    "An op crosses the process boundary and back: parse, check, audit (write(2) and HMAC, about 8 of the host's 10 µs), act, and " +
    "two frames; then the isolate is entered once more to hand the answer over. Raw's is one hop between threads of one process.",
  opParallel:
    "Of 64 ops at once each still costs its own decision, its own audit line before it happens (about 10 µs of the host) and about " +
    "20 µs of the worker. Answers are not joined in one crossing of the isolate: continuations of several calls in one slice " +
    "could not be told apart.",
  memorySmall:
    "A bare isolate with a context has 1.2 MiB. The guest platform adds 0.65 MB of objects and bytecode, and the heap takes whole " +
    "pages of 256 KiB for each of its spaces: 3.1 MB are mapped for 1.3 MB in use. No flag of the engine that was tried, and no " +
    "collection after the start, brings it below 2.4 MiB; parts of the platform that are evaluated at first use would.",
  shell:
    "Of the time of a whole `run`: Node itself 26 ms, starting the worker 12, looking for the confinement that the machine has 12, " +
    "loading the command line and making the host 65 (compiling 40 and evaluating 50 of it, mostly schemas), reading and verifying the " +
    "plugin 35, its isolate and the call 25. A Node host with a confined worker and one bare isolate, before any of that, takes " +
    "more than five times as long as `deno run`; `--no-node-snapshot`, which the engine wants, is 38 ms of the worker's start.",
  coldSmall:
    "The first call of a tenant whose cordon has no worker yet takes the spare one; the next waits for a process to start.",
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

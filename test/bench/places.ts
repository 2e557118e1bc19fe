/** Where the harness keeps what it makes. Nothing of it is committed. */
import { join } from "node:path";
import process from "node:process";

/** The root of the repository. */
export const ROOT = join(import.meta.dirname, "../..");
/** The harness itself. */
export const BENCH = import.meta.dirname;
/** What all runs generate, each in a folder of its own. */
export const RUNS = join(BENCH, ".work");
/** Number of the process whose run this is; the processes of peers are told. */
export const RUN = process.env.SALLYPORT_BENCH_RUN ?? String(process.pid);
/** All that this run generates. */
export const WORK = join(RUNS, RUN);
/** Sallyport as it is published: built, with its launcher, without its sources; or one that was put somewhere else before. */
export const PACKAGE = process.env.SALLYPORT_BENCH_PACKAGE ??
  join(WORK, "package");

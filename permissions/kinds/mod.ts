/** The table of built-in kinds. Manifest schema, flags, reports, audit names and reference pages are derived from it. */
import type { Kind, KindTable } from "../kind.ts";
import { call } from "./call.ts";
import { dynamicCode } from "./dynamic_code.ts";
import { env } from "./env.ts";
import { ffi } from "./ffi.ts";
import { imports } from "./import.ts";
import { intercept } from "./intercept.ts";
import { net } from "./net.ts";
import { observe } from "./observe.ts";
import { read } from "./read.ts";
import { run } from "./run.ts";
import { secrets } from "./secrets.ts";
import { storage } from "./storage.ts";
import { sys } from "./sys.ts";
import { wasm } from "./wasm.ts";
import { write } from "./write.ts";

/** Every built-in kind by its name; a new one is a file and a line here. */
export const KINDS = {
  read,
  write,
  net,
  env,
  sys,
  run,
  import: imports,
  ffi,
  storage,
  secrets,
  call,
  observe,
  intercept,
  dynamicCode,
  wasm,
} as const satisfies Readonly<Record<string, Kind>>;

/** The name of a built-in kind. */
export type KindName = keyof typeof KINDS;

/** All built-in names, in the order in which they are shown. */
// The cast holds: the keys are those of the table.
export const KIND_NAMES: readonly KindName[] = Object.keys(KINDS) as KindName[];

/** A kind as shared code sees it: entries and values are whatever the kind's own parser made. Undefined if there is none. */
export function kindIn(table: KindTable, name: string): Kind | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

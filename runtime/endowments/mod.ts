/**
 * The guest's globals: each endowment has a guest half (`NAME.guest.js`, evaluated in every isolate in this order) and,
 * where it needs authority, a host half with its ops.
 */
import type { OpDefinition } from "../op.ts";
import { callOps } from "./call.ts";
import { commandOps } from "./command.ts";
import { envOps } from "./env.ts";
import { fetchOps } from "./fetch.ts";
import { fileOps } from "./files.ts";
import { permissionOps } from "./permissions.ts";
import { storageOps } from "./storage.ts";
import { streamOps } from "./stream.ts";
import { sysOps } from "./sys.ts";
import { wasmOps } from "./wasm.ts";
import { writeOps } from "./write.ts";

/** One endowment of the table. */
export interface Endowment {
  /** Its file name without an ending. */
  readonly name: string;
  /** The ops of its host half. */
  readonly ops: readonly OpDefinition[];
}

/** All endowments, in the order in which their guest halves are evaluated. */
export const ENDOWMENTS: readonly Endowment[] = [
  { name: "timers", ops: [] },
  { name: "dom_exception", ops: [] },
  { name: "events", ops: [] },
  { name: "encoding", ops: [] },
  { name: "structured_clone", ops: [] },
  { name: "url", ops: [] },
  { name: "console", ops: [] },
  { name: "crypto", ops: [] },
  { name: "performance", ops: [] },
  { name: "deno_errors", ops: [] },
  { name: "env", ops: envOps },
  { name: "files", ops: fileOps },
  { name: "fetch", ops: fetchOps },
  { name: "write", ops: writeOps },
  { name: "storage", ops: storageOps },
  { name: "sys", ops: sysOps },
  { name: "command", ops: commandOps },
  { name: "permissions", ops: permissionOps },
  { name: "call", ops: callOps },
  { name: "stream", ops: streamOps },
  { name: "host", ops: [] },
  { name: "wasm", ops: wasmOps },
];

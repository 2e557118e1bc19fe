/** The argv of each hook that starts a program, one by one: what a person approves of each is told apart from the rest (T26). */
import { createHash } from "node:crypto";
import { capabilitiesOf, type Manifest } from "../manifest/mod.ts";
import { memberOf } from "../surfaces/surface.ts";

/** The argv of one hook. */
export interface HookArgv {
  /** Its full id. */
  readonly id: string;
  /** The event, first part of its name. */
  readonly event: string;
  /** What is started. */
  readonly argv: readonly string[];
}

/** All of a manifest, in its order. */
export function argvsOf(manifest: Manifest): readonly HookArgv[] {
  return capabilitiesOf(manifest).flatMap(({ fullId, name, raw }) => {
    const argv = memberOf(raw, "command");
    // The cast holds: the schema of hooks has accepted it.
    return Array.isArray(argv) ? [{ id: fullId, event: name.split("/")[0]!, argv: argv as string[] }] : [];
  });
}

/** Full id → `sha256:…` of the argv, as a record keeps it. */
export function argvHashes(manifest: Manifest): Readonly<Record<string, string>> {
  return Object.fromEntries(
    argvsOf(manifest).map(({ id, argv }) => {
      return [id, `sha256:${createHash("sha256").update(JSON.stringify(argv)).digest("hex")}`];
    }),
  );
}

/** `--allow-KIND` and `--deny-KIND`, derived from the table of kinds. */
import type { Command } from "commander";
import {
  KIND_NAMES,
  type KindName,
  KINDS,
  type PermissionRequest,
  splitFlag,
} from "../../permissions/mod.ts";

/** Adds a pair of flags for every kind. */
export function addPermissionFlags(command: Command): void {
  for (const kind of KIND_NAMES) {
    for (const effect of ["allow", "deny"] as const) {
      const verb = effect === "allow" ? "Allow" : "Deny";
      command.option(
        `--${effect}-${flagName(kind)} [entries]`,
        `${verb}: ${KINDS[kind].doc}`,
        (value: string, before: unknown) => [...(Array.isArray(before) ? before as string[] : []), value],
      );
    }
  }
}

/** What the flags say, as a request; kinds that no flag names are absent. Throws UsageError. */
export function permissionsOf(flags: Readonly<Record<string, unknown>>): PermissionRequest {
  const request: Partial<Record<KindName, { allow?: true | string[]; deny?: true | string[] }>> = {};
  for (const kind of KIND_NAMES) {
    for (const effect of ["allow", "deny"] as const) {
      const given = flags[camelCase(`${effect}-${flagName(kind)}`)];
      if (given === undefined) continue;
      const side = given === true
        ? true as const
        : (given as string[]).flatMap((text) => [...splitFlag(kind, text)]);
      request[kind] = { ...request[kind], [effect]: side };
    }
  }
  return request as PermissionRequest; // only keys and shapes of the table are put in
}

/** `dynamicCode` is `--allow-dynamic-code`. */
export function flagName(kind: KindName): string {
  return kind.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

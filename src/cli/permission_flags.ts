/** `--allow-KIND` and `--deny-KIND`, derived from the table of kinds. */
import type { Command } from "commander";
import {
  KIND_NAMES,
  type KindName,
  KINDS,
  type PermissionRequest,
  splitFlag,
} from "../../permissions/mod.ts";
import { quoteArgument } from "../quote.ts";

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
export function permissionsOf(
  flags: Readonly<Record<string, unknown>>,
): PermissionRequest & { readonly [K in KindName]?: FlagSides } {
  const request: Partial<Record<KindName, FlagSides>> = {};
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
  return request as ReturnType<typeof permissionsOf>; // only keys and shapes of the table are put in
}

/** What flags say of one kind. */
export interface FlagSides {
  /** Given by `--allow-KIND`. */
  readonly allow?: true | readonly string[];
  /** Given by `--deny-KIND`. */
  readonly deny?: true | readonly string[];
}

/** The flags for one kind, as a shell reads them. */
export function spellFlags(kind: KindName, sides: FlagSides): string[] {
  return (["allow", "deny"] as const).flatMap((effect) => {
    const flag = `--${effect}-${flagName(kind)}`;
    const side = sides[effect] ?? [];
    return side === true ? [flag] : side.map((entry) => quoteArgument(`${flag}=${entry}`));
  });
}

/** `dynamicCode` is `--allow-dynamic-code`. */
export function flagName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

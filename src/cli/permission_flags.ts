/** `--allow-KIND` and `--deny-KIND`, derived from the table of kinds. */
import type { Command } from "commander";
import { flagName, KINDS, type KindTable, type PermissionRequest, splitFlag } from "../../permissions/mod.ts";
import { quoteArgument } from "../quote.ts";

/** Adds a pair of flags for every kind. */
export function addPermissionFlags(command: Command, kinds: KindTable = KINDS): void {
  for (const { name, doc } of Object.values(kinds)) {
    for (const effect of ["allow", "deny"] as const) {
      const verb = effect === "allow" ? "Allow" : "Deny";
      command.option(
        `--${effect}-${flagName(name)} [entries]`,
        `${verb}: ${doc}`,
        collect,
      );
    }
  }
}

/** Adds one flag for every kind, `--PREFIX-KIND` or, without a prefix, `--KIND`. */
export function addKindFlags(
  command: Command,
  kinds: KindTable,
  { prefix, value, verb, except }: {
    readonly prefix: string;
    readonly value: string;
    readonly verb: string;
    readonly except: ReadonlySet<string>;
  },
): void {
  for (const { name, doc } of Object.values(kinds).filter(({ name }) => !except.has(name))) {
    command.option(`--${prefix}${flagName(name)} [${value}]`, `${verb}: ${doc}`, collect);
  }
}

/** What such flags were given: texts in their order, or true for a flag without any. */
export function kindFlagsOf(
  flags: Readonly<Record<string, unknown>>,
  kinds: KindTable,
  prefix: string,
): Readonly<Record<string, true | readonly string[]>> {
  return Object.fromEntries(
    Object.keys(kinds).flatMap((kind) => {
      const given = flags[camelCase(prefix + flagName(kind))] as true | readonly string[] | undefined;
      return given === undefined ? [] : [[kind, given] as const];
    }),
  );
}

function collect(value: string, before: unknown): string[] {
  return [...(Array.isArray(before) ? before as string[] : []), value];
}

/** A request as flags make it. */
export type FlagRequest = PermissionRequest & { readonly [kind: string]: FlagSides | undefined };

/** What the flags say, as a request; kinds that no flag names are absent. Throws UsageError. */
export function permissionsOf(
  flags: Readonly<Record<string, unknown>>,
  kinds: KindTable = KINDS,
): FlagRequest {
  const request: Record<string, FlagSides> = {};
  for (const kind of Object.keys(kinds)) {
    for (const effect of ["allow", "deny"] as const) {
      const given = flags[camelCase(`${effect}-${flagName(kind)}`)];
      if (given === undefined) continue;
      const side = given === true
        ? true as const
        : (given as string[]).flatMap((text) => [...splitFlag(kind, text, kinds)]);
      request[kind] = { ...request[kind], [effect]: side };
    }
  }
  return request as FlagRequest; // only keys and shapes of the table are put in
}

/** What flags say of one kind. */
export interface FlagSides {
  /** Given by `--allow-KIND`. */
  readonly allow?: true | readonly string[];
  /** Given by `--deny-KIND`. */
  readonly deny?: true | readonly string[];
}

/** The flags for one kind, as a shell reads them. */
export function spellFlags(kind: string, sides: FlagSides): string[] {
  return (["allow", "deny"] as const).flatMap((effect) => {
    const flag = `--${effect}-${flagName(kind)}`;
    const side = sides[effect] ?? [];
    return side === true ? [flag] : side.map((entry) => quoteArgument(`${flag}=${entry}`));
  });
}

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

/** How the tables of hostile plugins are written. */
import type { HostilePlugin } from "../arena.ts";

/** A row without what its table says for all of them. */
export interface Attack extends Partial<Omit<HostilePlugin, "source" | "class">> {
  /** Names it. */
  readonly id: string;
  /** What it may come to; the table's word when absent. */
  readonly ends?: readonly string[];
  /** Body of `async function attack(input, context)`. */
  readonly body?: string;
  /** The whole module, where a body is not enough. */
  readonly module?: string;
}

/** Fills in rows. */
export function attacks(
  kind: string,
  common: Partial<Omit<HostilePlugin, "id" | "source" | "class">>,
  rows: readonly Attack[],
): readonly HostilePlugin[] {
  return rows.map(({ body, module, ...row }) => ({
    ends: ["nothing"],
    ...common,
    ...row,
    class: kind,
    source: module ??
      `export async function attack(input, context) {\n  if (input.warm) return "warm";\n${body}\n}\n`,
  }));
}

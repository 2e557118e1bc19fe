/**
 * `tool.input plugin__web__search`: a point where calls pass, and whose. The target is a full id, a plugin's name for all
 * of that plugin's, or nothing for points that have none; `*` stands for any plugin or any name.
 */
import { type Kind, refuse, wordOf } from "./kind.ts";

/** Calls that pass a point. */
export interface Traffic {
  /** `tool.input`, `prompt.submit`. */
  readonly point: string;
  /** Null where the point has no target. */
  readonly target: Target | null;
}

/** Capabilities by plugin and name; null is any. */
export interface Target {
  /** How the id is spelled: `plugin__P__N` is a tool, `P/N` another capability; null is both. */
  readonly spelling: "tool" | "other" | null;
  /** The plugin's name. */
  readonly plugin: string | null;
  /** The capability's name. */
  readonly name: string | null;
}

/** What `observe` and `intercept` have in common. */
export const trafficAlgebra: Pick<
  Kind<Traffic, Traffic>,
  | "own"
  | "parseEntry"
  | "parseValue"
  | "displayEntry"
  | "displayValue"
  | "covers"
  | "includes"
  | "meet"
  | "isGrave"
> = {
  own: {},
  parseEntry: (given) => parse(given),
  parseValue(text) {
    const traffic = parse(text);
    const target = traffic.target;
    if (target !== null && (target.plugin === null || target.name === null)) {
      refuse("a value names one capability");
    }
    return traffic;
  },
  displayEntry: display,
  displayValue: display,
  covers: includes,
  includes,
  meet: (a, b) => {
    if (a.point !== b.point) return null;
    if (a.target === null || b.target === null) return a.target === b.target ? a : null;
    const spelling = both(a.target.spelling, b.target.spelling);
    const plugin = both(a.target.plugin, b.target.plugin);
    const name = both(a.target.name, b.target.name);
    if (spelling === undefined || plugin === undefined || name === undefined) return null;
    return { point: a.point, target: { spelling, plugin, name } };
  },
  isGrave: () => true,
};

function parse(given: unknown): Traffic {
  const [point = "", id, ...rest] = wordOf(given, "a point").split(" ");
  if (rest.length > 0) refuse('it is written "POINT" or "POINT ID"');
  if (!/^[a-z][a-zA-Z]*(\.[a-z][a-zA-Z]*)*$/.test(point)) refuse(`"${point}" is no point such as tool.input`);
  return { point, target: id === undefined ? null : parseTarget(id) };
}

function parseTarget(id: string): Target {
  const [, plugin, name] = /^plugin__([a-z0-9-]+|\*)__([\w-]+|\*)$/.exec(id) ?? [];
  if (plugin !== undefined && name !== undefined) {
    return { spelling: "tool", plugin: star(plugin), name: star(name) };
  }
  const [, owner = refuse(`"${id}" is no plugin and no id`), rest] =
    /^([a-z0-9-]+|\*)(?:\/([\w./-]+|\*))?$/.exec(id) ?? [];
  return rest === undefined
    ? { spelling: null, plugin: star(owner), name: null }
    : { spelling: "other", plugin: star(owner), name: star(rest) };
}

function star(text: string): string | null {
  return text === "*" ? null : text;
}

function includes(a: Traffic, b: Traffic): boolean {
  if (a.point !== b.point) return false;
  if (a.target === null || b.target === null) return a.target === b.target;
  return holds(a.target.spelling, b.target.spelling) && holds(a.target.plugin, b.target.plugin) &&
    holds(a.target.name, b.target.name);
}

function holds(a: string | null, b: string | null): boolean {
  return a === null || a === b;
}

function both<Part extends string>(a: Part | null, b: Part | null): Part | null | undefined {
  return a === null ? b : b === null || a === b ? a : undefined;
}

function display({ point, target }: Traffic): string {
  if (target === null) return point;
  const plugin = target.plugin ?? "*";
  const name = target.name ?? "*";
  if (target.spelling === "tool") return `${point} plugin__${plugin}__${name}`;
  return target.spelling === "other" ? `${point} ${plugin}/${name}` : `${point} ${plugin}`;
}

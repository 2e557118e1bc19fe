/**
 * Calls between plugins under what both hold (T10): where the tenant's policy demands it, the callee runs with its own grant
 * cut by its caller's, in an isolate that is kept for just that. Entries are places and names, so what a `$data` or a
 * relative path of the caller means stays the caller's, and gives the callee nothing of its own.
 */
import {
  type Grant,
  grantOf,
  type Kind,
  type KindLayer,
  KINDS,
  type KindTable,
  type Layer,
  type Side,
} from "../permissions/mod.ts";
import type { Unit } from "./unit.ts";

/** What a caller's grant comes to for those whom it calls. */
interface Cut {
  readonly layers: readonly Layer[];
  /** The same for every caller that holds the same. */
  readonly key: string;
}

const NOTHING = grantOf();
const EMPTY: Layer = { source: "caller", kinds: {} };

/** Cuts units; a caller's grant is looked at once. */
export class Attenuation {
  readonly #cuts = new WeakMap<Grant, Cut>();

  /** The unit under its own grant and its caller's; of a caller that is not known to hold anything, nothing is left. */
  cut(unit: Unit, caller: Grant = NOTHING): Unit {
    const { layers, key } = this.#cutOf(caller);
    return {
      ...unit,
      // An isolate of less must never meet one of more.
      key: JSON.stringify([unit.key, "under", key]),
      grant: { layers: [...unit.grant.layers, ...layers] },
      isAttenuated: true,
    };
  }

  #cutOf(caller: Grant): Cut {
    const known = this.#cuts.get(caller);
    if (known !== undefined) return known;
    const layers = new Map<string, Layer>();
    // A grant without layers is nothing, which only a layer can say here.
    for (const layer of caller.layers.length > 0 ? caller.layers : [EMPTY]) {
      const key = keyOf(layer);
      if (!layers.has(key)) layers.set(key, layer.source === "caller" ? layer : asCallers(layer));
    }
    const cut = { layers: [...layers.values()], key: JSON.stringify([...layers.keys()].sort()) };
    this.#cuts.set(caller, cut);
    return cut;
  }
}

/** The layer as somebody else's word: no answer at the prompt opens it, and no secret is asked for by it. */
function asCallers(layer: Layer): Layer {
  const named = (side: Side | undefined): Side | undefined =>
    side === true ? true : side?.map((rule) => ({ ...rule, rule: `caller's ${rule.rule}` }));
  const kinds = Object.entries(layer.kinds).map(([name, stated]) => {
    const { allow, deny, ...rest } = stated ?? { isRequired: false };
    const [allows, denies] = [named(allow), named(deny)];
    const told: KindLayer = {
      ...rest,
      ...(allows === undefined ? {} : { allow: allows }),
      ...(denies === undefined ? {} : { deny: denies }),
    };
    return [name, told] as const;
  });
  return { ...layer, source: "caller", kinds: Object.fromEntries(kinds) };
}

/** What it grants and denies, in the one spelling of each entry. */
function keyOf({ kinds, table = KINDS }: Layer): string {
  const known: KindTable = table;
  return JSON.stringify(
    Object.entries(kinds).filter(([name]) => Object.hasOwn(known, name)).map(([name, stated]) => [
      name,
      spelled(known[name]!, stated?.allow),
      spelled(known[name]!, stated?.deny),
    ]).sort(([a], [b]) => String(a) < String(b) ? -1 : 1),
  );
}

function spelled(kind: Kind, side: Side | undefined): true | readonly string[] {
  return side === true ? true : (side ?? []).map(({ entry }) => kind.displayEntry(entry)).sort();
}

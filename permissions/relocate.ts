/** Entries whose path holds a link: the place that it leads to is meant as well. The look-up is passed in; nothing here touches a disk. */
import type { Effect, Kind } from "./kind.ts";
import { type KindLayer, type Layer, layer as layerWith, type Side, tableOf } from "./policy.ts";

/**
 * The layer with a twin of each entry whose path leads elsewhere. Of the allows only those written as absolute paths have
 * one, since what a bundle ships may be a link to anywhere; of the denies all have.
 */
export function relocate(layer: Layer, real: (path: string, effect: Effect) => string): Layer {
  const kinds: Record<string, KindLayer> = {};
  for (const kind of Object.values(tableOf([layer]))) {
    const stated = layer.kinds[kind.name];
    if (stated === undefined) continue;
    const { allow, deny } = stated;
    kinds[kind.name] = {
      ...stated,
      ...(allow === undefined ? {} : { allow: withTwins(kind, allow, "allow", real) }),
      ...(deny === undefined ? {} : { deny: withTwins(kind, deny, "deny", real) }),
    };
  }
  return layerWith(layer.source, kinds, layer.table);
}

function withTwins(
  kind: Kind,
  side: Side,
  effect: Effect,
  real: (path: string, effect: Effect) => string,
): Side {
  if (side === true) return true;
  return side.flatMap((rule) => {
    const twin = kind.twin?.(rule.entry, rule.text, effect, (path) => real(path, effect)) ?? null;
    return twin === null ? [rule] : [rule, { ...rule, entry: twin }];
  });
}

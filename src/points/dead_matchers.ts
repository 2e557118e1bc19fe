/** Matchers that match nothing: whoever wrote one meant something, and it guards nothing, in silence (T19). */
import { display } from "../display.ts";
import type { LoadedPlugin } from "../plugin.ts";
import { codeOf } from "../surfaces/mod.ts";
import { matcherOf } from "./matcher.ts";

/** A matcher that no known capability fits. */
export interface DeadMatcher {
  /** Whose it is. */
  readonly plugin: string;
  /** Full id of the hook. */
  readonly id: string;
  /** The pattern. */
  readonly matcher: string;
}

/**
 * Those of one plugin, among the plugins that are known. Where only the plugin itself is, and it asks to see others, nothing
 * can be told.
 */
export function deadMatchers(plugin: LoadedPlugin, known: readonly LoadedPlugin[]): readonly DeadMatcher[] {
  const { observe, intercept } = plugin.manifest.permissions;
  const isAlone = known.every(({ name }) => name === plugin.name);
  if (isAlone && (observe !== undefined || intercept !== undefined)) return [];
  const targets = known.flatMap(({ capabilities }) =>
    capabilities.filter(({ surface }) => codeOf(surface)?.passes !== undefined)
  );
  return plugin.capabilities.flatMap(({ fullId: id, stations = [] }) =>
    stations.flatMap(({ matcher }): DeadMatcher[] =>
      matcher === undefined || targets.some(matcherOf(matcher)) ? [] : [{ plugin: plugin.name, id, matcher }]
    )
  );
}

/** One as a sentence, safe for a terminal. */
export function deadMatcherText({ id, matcher }: DeadMatcher): string {
  return `${display(id)}: the matcher "${display(matcher)}" matches no known capability`;
}

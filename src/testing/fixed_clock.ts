/** A `Date` that stands still, for a plugin that is being tested. A guest may undo it: it is a convenience, no boundary. */
import { UsageError } from "../../permissions/mod.ts";
import type { TargetBundle } from "../bundler/mod.ts";

/** Sets the clock of whatever is in a bundle. Throws UsageError for what is no time. */
export function fixedClock(at: Date | string | number): (bundle: TargetBundle) => TargetBundle {
  const ms = new Date(at).getTime();
  if (Number.isNaN(ms)) {
    throw new UsageError("ERR_USAGE", `Cannot set the clock to "${String(at)}": it is no time`);
  }
  // On the first line of the bundle, so that the lines of its source map stay what they are.
  const prelude = `{ const Real = Date;
globalThis.Date = new Proxy(Real, {
  apply: () => new Real(${ms}).toString(),
  construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [${ms}] : args, made),
  get: (target, key) => key === "now" ? () => ${ms} : Reflect.get(target, key),
}); }`.replaceAll("\n", " ");
  return (bundle) => ({ ...bundle, code: `${prelude} ${bundle.code}` });
}

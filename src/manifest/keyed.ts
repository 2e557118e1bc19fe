/** A map of known keys, wherever the manifest has one: other keys are errors with a suggestion, `x-` keys are kept. */
import { z } from "zod";
import { didYouMean } from "../did_you_mean.ts";
import { display } from "../display.ts";
import { MANIFEST_LIMITS as LIMITS } from "./limits.ts";

/** What helps an author who wrote a key that isn't known. */
export interface KeyHelp {
  /** The cure for keys that people are known to write here. */
  readonly hints?: Readonly<Record<string, string>>;
  /** Keys that exist in another place, with that place. */
  readonly elsewhere?: Readonly<Record<string, string>>;
}

/**
 * Like `z.object`, for manifests. Unknown keys are reported even if other fields are wrong as well, so that one reading
 * lists every issue; the cure, where there is one, is the issue's `params.hint`.
 */
export function keyed<Shape extends z.ZodRawShape>(
  shape: Shape,
  help: KeyHelp = {},
): z.ZodObject<Shape, z.core.$loose> {
  const known = new Map([
    ...Object.entries(help.elsewhere ?? {}),
    ...Object.keys(shape).map((key) => [key, key] as const),
  ]);
  return z.looseObject(shape).superRefine((value: unknown, context) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return;
    for (const key of Object.keys(value)) {
      if (Object.hasOwn(shape, key) || isExtensionKey(key)) continue;
      const hint = help.hints !== undefined && Object.hasOwn(help.hints, key)
        ? help.hints[key]
        : hintFor(key, known);
      context.addIssue({
        code: "custom",
        path: [key],
        message: `unknown key "${display(key, { max: LIMITS.quoteCharsMax })}"`,
        params: { isAboutKey: true, ...(hint === undefined ? {} : { hint }) },
      });
    }
  }, { when: () => true });
}

/** Whether a key is an author's own: `x-` and at least one more character, in ASCII. */
export function isExtensionKey(key: string): boolean {
  return /^x-[\x21-\x7e]+$/.test(key);
}

const NO_DEPENDENCIES =
  "plugins do not depend on each other; to call another plugin's capability, ask for the `call` permission";
const NO_STATE =
  "whether a plugin is on is kept in the user's settings; use `sallyport enable` and `disable`";

/** Keys that people write because other systems have them. */
const FOREIGN_KEYS: ReadonlyMap<string, string> = new Map([
  ...["requires", "require", "dependencies", "dependsOn", "depends", "peerDependencies", "extends"]
    .map((key) => [key, NO_DEPENDENCIES] as const),
  ...["enabled", "enable", "disabled", "trusted", "autostart"].map((key) => [key, NO_STATE] as const),
  ...["wasm", "dynamicCode", "net", "read", "write", "env", "run", "storage", "secrets", "call"]
    .map((key) => [key, `\`${key}\` is a permission: it stands under \`permissions:\``] as const),
]);

function hintFor(key: string, known: ReadonlyMap<string, string>): string | undefined {
  const foreign = FOREIGN_KEYS.get(key);
  if (foreign !== undefined) return foreign;
  const near = didYouMean(key, known.keys());
  if (near !== null) return `did you mean "${known.get(near) ?? near}"?`;
  return /^x/i.test(key) ? 'keys of your own begin with "x-" and go on in ASCII' : undefined;
}

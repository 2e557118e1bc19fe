/** How packs show what exists. An overlay is words and colours beside a document, and never instead of what it says. */
import { setImmediate } from "node:timers/promises";
import { CapabilityError, HostError, SallyportError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import { fieldName } from "../manifest/finding.ts";
import type { ResolvedName } from "../tenant_types.ts";
import type { DocumentSources, FoundDocument } from "./document_sources.ts";
import { DOCUMENT_LIMITS as LIMITS } from "./limits.ts";
import type { DocumentReference, DocumentStyle, FrontMatter } from "./format.ts";
import type { AppliedStyle, ResolvedReference } from "./types.ts";

/** What a name means on a surface; throws where it may not be used. */
type Resolve = (ref: string, surface: string) => Promise<ResolvedName>;

/** What became of all that a document names. */
export async function resolveReferences(
  references: readonly DocumentReference[],
  resolve: Resolve,
): Promise<readonly ResolvedReference[]> {
  const resolved: ResolvedReference[] = [];
  for (const { at, surface, ref } of references) {
    const id = await idOf(ref, surface, resolve);
    const state = id === null ? "unavailable" : "available";
    resolved.push({ field: fieldName(at), surface, ref, state, id });
  }
  return resolved;
}

/** Throws CapabilityError where a document restyles what does not exist: an overlay adds nothing (L49). */
export async function refuseAdditions(
  { identity: { id }, format }: FoundDocument,
  frontMatter: FrontMatter,
  resolve: Resolve,
): Promise<void> {
  const missing: string[] = [];
  for (const { surface, ref } of format.overlays?.(frontMatter) ?? []) {
    if (await idOf(ref, surface, resolve) === null) missing.push(ref);
    if (missing.length >= LIMITS.missingToldMax) break; // it is refused, and each further name would be looked for
  }
  if (missing.length === 0) return;
  throw new CapabilityError(
    "ERR_CAPABILITY_UNKNOWN",
    `Cannot use "${display(id)}": it restyles ${
      missing.map((ref) => `"${display(ref)}"`).join(" and ")
    }, which nobody offers, and it may add nothing`,
    { details: { id, missing } },
  );
}

/** What the overlays of a tenant say about one document; null where none does. One that is refused says nothing. */
export async function styleOf(
  { identity }: FoundDocument,
  overlaying: readonly FoundDocument[],
  sources: DocumentSources,
  resolve: Resolve,
): Promise<AppliedStyle | null> {
  const styles: { readonly pack: string; readonly style: DocumentStyle }[] = [];
  for (const pack of overlaying) {
    try {
      const { frontMatter } = sources.read(pack);
      const overlays = (pack.format.overlays?.(frontMatter) ?? [])
        .filter(({ surface, ref }) => surface === identity.surface && mayMean(ref, identity));
      if (overlays.length === 0) continue;
      await refuseAdditions(pack, frontMatter, resolve);
      for (const { ref, surface, style } of overlays) {
        if (await idOf(ref, surface, resolve) === identity.id) styles.push({ pack: pack.identity.id, style });
      }
    } catch (error) {
      if (!(error instanceof SallyportError) || error instanceof HostError) throw error;
    }
  }
  if (styles.length === 0) return null;
  // The first pack's word counts, so the last ones are written first.
  const style: DocumentStyle = Object.assign({}, ...styles.map((each) => each.style).reverse());
  return { ...style, packs: [...new Set(styles.map(({ pack }) => pack))] };
}

/** Whether a name may be one of a document's own: only those are looked for, since packs may hold thousands. */
function mayMean(ref: string, { id, name }: FoundDocument["identity"]): boolean {
  return ref === id || ref === name || ref.startsWith("/"); // as it is typed
}

/**
 * What resolves each name once, and lets others have their turn between: what a pack names is a plugin's to say, and every name is
 * looked for among all plugins.
 */
export function resolvingOnce(resolve: Resolve): Resolve {
  const known = new Map<string, ReturnType<Resolve>>();
  return async (ref, surface) => {
    const key = JSON.stringify([surface, ref]);
    const before = known.get(key);
    if (before !== undefined) return await before;
    await setImmediate();
    const found = known.get(key) ?? resolve(ref, surface);
    known.set(key, found);
    return await found;
  };
}

/** Null for whatever may not be used, whyever; what cannot be asked is thrown. */
async function idOf(ref: string, surface: string, resolve: Resolve): Promise<string | null> {
  try {
    const resolved = await resolve(ref, surface);
    return resolved.owner === "plugin" ? resolved.id : resolved.name;
  } catch (error) {
    if (!(error instanceof SallyportError) || error instanceof HostError) throw error;
    return null;
  }
}

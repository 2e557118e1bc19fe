/** What a manifest offers and which files it names, gathered over all surfaces. */
import { type Capability, type DeclaredFile, type Surface, SURFACES } from "../surfaces/mod.ts";
import { targetOf } from "../surfaces/surface.ts";
import type { Manifest } from "./schema.ts";

/** Every capability of a manifest, in the order of the surfaces; `at` starts at the manifest's root. */
export function capabilitiesOf(manifest: Manifest): readonly Capability[] {
  return sections(manifest).flatMap(({ surface, section }) =>
    surface.capabilities(section, manifest.name).map((capability) => ({
      ...capability,
      at: ["capabilities", surface.name, ...capability.at],
    }))
  );
}

/**
 * Every file that a manifest names: targets, documents, executables of hooks, lifecycle code. `at` starts at the manifest's
 * root; a file that is named twice is there twice.
 */
export function declaredFiles(manifest: Manifest): readonly DeclaredFile[] {
  const files = sections(manifest).flatMap(({ surface, section }) =>
    surface.files(section).map((file) => ({ ...file, at: ["capabilities", surface.name, ...file.at] }))
  );
  const lifecycle = (["activate", "stop"] as const).flatMap((key): DeclaredFile[] => {
    const text = manifest.lifecycle[key];
    return text === undefined ? [] : [{ path: targetOf(text).path, role: "target", at: ["lifecycle", key] }];
  });
  return [...files, ...lifecycle];
}

function sections(manifest: Manifest): { readonly surface: Surface; readonly section: unknown }[] {
  return Object.values(SURFACES).flatMap((surface) => {
    const section = manifest.capabilities[surface.name as keyof typeof SURFACES];
    // The cast holds: the schema of this very surface has accepted the section.
    return section === undefined ? [] : [{ surface: surface as unknown as Surface, section }];
  });
}

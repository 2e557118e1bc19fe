/** What a manifest offers and which files it names, gathered over all surfaces. */
import { posix } from "node:path";
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
 * Every file that a manifest names: targets, documents, executables of hooks, lifecycle code, programs of its own. `at` starts at the manifest's
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
  return [...files, ...lifecycle, ...ownPrograms(manifest)];
}

/** The plugin's own files among the programs that it asks to run: they run from the bytes that were approved (T07). */
function ownPrograms({ permissions: { run } }: Manifest): readonly DeclaredFile[] {
  const [entries, at] = Array.isArray(run)
    ? [run as readonly unknown[], ["permissions", "run"]]
    : [typeof run === "object" && "allow" in run ? run.allow : [], ["permissions", "run", "allow"]];
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry: unknown, index): DeclaredFile[] => {
    const path = typeof entry === "string" && /^[^/$].*\/|^\.\//.test(entry) ? posix.normalize(entry) : "..";
    return path.startsWith("..") ? [] : [{ path, role: "executable", at: [...at, index] }];
  });
}

function sections(manifest: Manifest): { readonly surface: Surface; readonly section: unknown }[] {
  return Object.values(SURFACES).flatMap((surface) => {
    const section = manifest.capabilities[surface.name as keyof typeof SURFACES];
    // The cast holds: the schema of this very surface has accepted the section.
    return section === undefined ? [] : [{ surface: surface as unknown as Surface, section }];
  });
}

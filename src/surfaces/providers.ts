/** Providers: answers to what a host looks up by itself, such as a search service. */
import type { z } from "zod";
import { capabilityName, descriptionText, targetText } from "../manifest/fields.ts";
import { keyed } from "../manifest/keyed.ts";
import { type Surface, type TargetEntry, targetSurface } from "./surface.ts";

const entry: z.ZodType<TargetEntry> = keyed({
  name: capabilityName,
  target: targetText.exactOptional(),
  description: descriptionText.exactOptional(),
});

/** The surface of providers. */
export const providers: Surface<readonly TargetEntry[]> = targetSurface({
  name: "providers",
  doc: "Services that the host matches by itself, built-in ones first.",
  live: true,
  code: { isCallable: false, isStreamed: true },
  collides: "match",
  isRegistered: true,
  entry,
  fullId: (plugin, name) => `plugin/${plugin}/${name}`,
});

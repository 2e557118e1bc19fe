/** All hostile plugins of our own, a table for each part of what they attack. */
import type { HostilePlugin } from "../arena.ts";
import { AMBIENT } from "./ambient.ts";
import { CODE } from "./code.ts";
import { CPU } from "./cpu.ts";
import { ERRORS } from "./errors.ts";
import { FLOODS } from "./floods.ts";
import { INLINE } from "./inline.ts";
import { MEMORY } from "./memory.ts";
import { PLATFORM } from "./platform.ts";

/** The tables, by name; each is let loose in an arena of its own. */
export const HOSTILE: Readonly<Record<string, readonly HostilePlugin[]>> = {
  memory: MEMORY,
  cpu: CPU,
  inline: INLINE,
  errors: ERRORS,
  floods: FLOODS,
  code: CODE,
  platform: PLATFORM,
  ambient: AMBIENT,
};

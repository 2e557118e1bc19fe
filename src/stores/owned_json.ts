/**
 * A JSON file beside the settings, which nobody but its owner can read. It is believed, locked and replaced as the settings
 * are; no grant reaches it, since it is Sallyport's own state (T03).
 */
import { join } from "node:path";
import type { z } from "zod";
import type { FileStat } from "../source_file.ts";
import type { TrustLimits } from "../trust/limits.ts";
import { withLock } from "../trust/lock.ts";
import { ensureDirectory, openSettings, replaceFile, unusable } from "../trust/settings_file.ts";

/** What such a file is. */
export interface OwnedJsonOptions<Content> {
  /** Directory of all state. */
  readonly home: string;
  /** Name of the file in it. */
  readonly name: string;
  /** What it may hold. */
  readonly schema: z.ZodType<Content>;
  /** What it holds while it is not there. */
  readonly empty: Content;
  /** The command that writes it, for messages. */
  readonly writer: string;
  /** What to do when it would be too large. */
  readonly cure: string;
  /** Its bounds. */
  readonly limits: TrustLimits;
}

/** The file. Nothing is read or made before it is asked. */
export interface OwnedJson<Content> {
  /** What it holds. Throws HostError `ERR_STORE` when somebody else could have written it, or it is not acceptable. */
  read(): Content;
  /** Changes it, while nobody else does. Throws HostError `ERR_STORE`; the old content is then whole. */
  change(work: (before: Content) => Content): Promise<void>;
}

/** Opens the file. */
export function ownedJson<Content>(options: OwnedJsonOptions<Content>): OwnedJson<Content> {
  const { home, name, limits, cure } = options;
  let known: { readonly stat: FileStat; readonly content: Content } | null = null;
  return {
    read() {
      const file = openSettings(home, limits.settingsBytesMax, known?.stat ?? null, name);
      if (file === null) return known!.content;
      const content = contentOf(options, file.path, file.bytes);
      // Two writes within one tick of the file system's clock may look alike.
      const isSettled = file.stat !== null &&
        Date.now() - Number(file.stat.ctimeNs / 1_000_000n) > limits.settledMs;
      known = isSettled ? { stat: file.stat, content } : null;
      return content;
    },
    async change(work) {
      ensureDirectory(home);
      await withLock(join(home, `${name}.lock`), limits, () => {
        const { path, bytes } = openSettings(home, limits.settingsBytesMax, null, name)!;
        const next = work(contentOf(options, path, bytes));
        const text = Buffer.from(`${JSON.stringify(next, null, 2)}\n`);
        if (text.byteLength > limits.settingsBytesMax) {
          throw unusable(path, `it would be larger than ${limits.settingsBytesMax} bytes`, cure);
        }
        replaceFile(path, text);
      });
    },
  };
}

/** Throws when the text is not acceptable: it is then neither believed nor ever overwritten. What it says is never repeated. */
function contentOf<Content>(
  { schema, empty, writer }: OwnedJsonOptions<Content>,
  path: string,
  bytes: Uint8Array | null,
): Content {
  if (bytes === null || bytes.byteLength === 0) return empty;
  const result = schema.safeParse(parsed(bytes));
  if (result.success) return result.data;
  throw unusable(path, `it is not what ${writer} writes`, "Correct it by hand, or remove it");
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}

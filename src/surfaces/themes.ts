/**
 * Themes: colours, fonts and images as JSON. A theme is called after its folder, and its files lie there: what a theme names
 * is pinned with it, as what code imports is.
 */
import { z } from "zod";
import { colorText, COMMON, lineValue, namedValues } from "../documents/fields.ts";
import type { FrontMatter } from "../documents/format.ts";
import { DOCUMENT_LIMITS as LIMITS } from "../documents/limits.ts";
import { fileReference } from "../manifest/fields.ts";
import { keyed } from "../manifest/keyed.ts";
import { folderName } from "../manifest/reference.ts";
import { documentSurface, stemOf, type Surface } from "./surface.ts";

const EXTENSIONS = [".json"];

/** Images that hold pixels and nothing that could run; an SVG may hold script. */
const IMAGE_TYPES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".avif": "image/avif",
};

const FONT_TYPES: Readonly<Record<string, string>> = {
  ".woff2": "font/woff2",
  ".woff": "font/woff",
  ".ttf": "font/ttf",
  ".otf": "font/otf",
};

/** A typeface. */
export interface ThemeFont {
  /** What it is called: `Inter, sans-serif`. */
  readonly family: string;
  /** Its file, from the theme's folder; absent where it is the reader's own. */
  readonly file?: string;
}

/** What a theme says. */
export interface ThemeDocument extends FrontMatter {
  /** By the name of what has the colour. */
  readonly colors?: Readonly<Record<string, string>>;
  /** By the name of what is set in it. */
  readonly fonts?: Readonly<Record<string, ThemeFont>>;
  /** Files by the name of the image, from the theme's folder. */
  readonly images?: Readonly<Record<string, string>>;
}

const font: z.ZodType<ThemeFont> = keyed({
  family: lineValue.refine((text) => !/[;{}()<>\\]/.test(text), {
    error: "must be the name of a typeface, or several with commas between",
  }),
  file: fileReference(Object.keys(FONT_TYPES)).exactOptional(),
});

const schema: z.ZodType<ThemeDocument> = keyed({
  ...COMMON,
  colors: namedValues(colorText, LIMITS.stylesMax).exactOptional(),
  fonts: namedValues(font, LIMITS.stylesMax).exactOptional(),
  images: namedValues(fileReference(Object.keys(IMAGE_TYPES)), LIMITS.stylesMax).exactOptional(),
}, { hints: { colours: 'did you mean "colors"?' } });

/** The surface of themes. */
export const themes: Surface<readonly string[]> = documentSurface({
  name: "themes",
  doc: "Colours and styles.",
  live: true,
  extensions: EXTENSIONS,
  isLocal: true,
  folderFile: "theme.json",
  nameOf: (path) => folderName(path) ?? stemOf(path, EXTENSIONS),
  fullId: (plugin, name) => `plugin:${plugin}:${name}`,
  format: {
    form: "json",
    schema,
    assets: (data) => {
      const { images = {}, fonts = {} } = data as ThemeDocument; // the schema above has accepted it
      return [
        ...Object.entries(images).map(([name, path]) => ({ at: ["images", name], path })),
        ...Object.entries(fonts).flatMap(([name, { file }]) =>
          file === undefined ? [] : [{ at: ["fonts", name, "file"], path: file }]
        ),
      ];
    },
  },
});

/** The media type of a theme's file. */
export function assetType(path: string): string {
  const extension = path.slice(path.lastIndexOf("."));
  return { ...IMAGE_TYPES, ...FONT_TYPES }[extension] ?? "application/octet-stream";
}

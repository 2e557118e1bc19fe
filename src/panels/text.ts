/** A view as plain text, for a terminal or any client that has no panels. Pure; each line fits the width but for what cannot be split. */
import { typedId } from "../surfaces/surface.ts";
import type {
  CardNode,
  FormField,
  FormNode,
  ListNode,
  NotificationNode,
  ProgressNode,
  TableNode,
  TextNode,
  ViewAction,
  ViewNode,
} from "../plugin_types.ts";
import { PANEL_LIMITS as LIMITS } from "./limits.ts";
import type { View } from "./view.ts";

/** How a view is written. */
export interface PanelTextOptions {
  /** Cells of a line; absent is 80. */
  readonly width?: number;
  /** Name of the plugin, so that actions are shown as they are typed. */
  readonly plugin?: string;
}

interface Page {
  readonly width: number;
  readonly plugin: string | undefined;
}

/**
 * Writes a view as text: tables aligned, forms as `name [default]`, progress as a bar of ASCII.
 *
 * @example
 * ```ts
 * renderText([{ type: "progress", done: 1, total: 4 }], { width: 40 }); // "[####------------] 25%"
 * ```
 */
export function renderText(view: View, { width = LIMITS.widthCells, plugin }: PanelTextOptions = {}): string {
  const cells = Math.min(Math.max(Math.floor(width), LIMITS.widthCellsMin), LIMITS.widthCellsMax);
  return blocks(view, { width: cells, plugin }).join("\n");
}

const WRITERS: {
  readonly [Type in ViewNode["type"]]: (
    node: Extract<ViewNode, { type: Type }>,
    page: Page,
  ) => readonly string[];
} = {
  text: ({ text, style }: TextNode, { width }) =>
    style === "code"
      ? text.split("\n").map((line) => `    ${line}`)
      : style === "heading"
      ? heading(text, width)
      : wrap(text, width),
  list: ({ items, ordered = false }: ListNode, page) =>
    items.flatMap((item, at) => {
      const mark = ordered ? `${at + 1}. ` : "- ";
      const inner = narrowed(page, mark.length);
      return indented(typeof item === "string" ? wrap(item, inner.width) : linesOf(item, inner), mark);
    }),
  table: tableLines,
  card: ({ title, nodes, actions = [] }: CardNode, page) => [
    ...(title === undefined ? [] : heading(title, page.width)),
    ...indented([
      ...blocks(nodes, narrowed(page, 2)),
      ...actions.flatMap((each) => actionLines(each, [], narrowed(page, 2))),
    ], "  "),
  ],
  form: (form: FormNode, page) => [
    ...(form.title === undefined ? [] : heading(form.title, page.width)),
    ...form.fields.flatMap((field) => indented(wrap(fieldText(field), page.width - 2), "  ")),
    ...indented(actionLines(form, form.fields, narrowed(page, 2)), "  "),
  ],
  progress: progressLines,
  notification: ({ level = "info", text }: NotificationNode, { width }) => {
    const mark = `[${level}] `;
    return indented(wrap(text, width - mark.length), mark);
  },
};

function linesOf(node: ViewNode, page: Page): readonly string[] {
  // The cast holds: the table has under each type what writes nodes of it.
  return (WRITERS[node.type] as (node: ViewNode, page: Page) => readonly string[])(node, page);
}

/** Nodes below one another, with an empty line between them. */
function blocks(view: View, page: Page): readonly string[] {
  return view.flatMap((node, at) => [...(at === 0 ? [] : [""]), ...linesOf(node, page)]);
}

function heading(text: string, width: number): readonly string[] {
  const lines = wrap(text, width);
  return [...lines, "-".repeat(Math.max(...lines.map(cellsOf)))];
}

function tableLines({ columns, rows }: TableNode, { width }: Page): readonly string[] {
  const heads = columns.map((column) => typeof column === "string" ? { title: column } : column);
  const texts = [heads.map(({ title }) => title), ...rows.map((row) => row.map(cellText))];
  const wanted = heads.map((_, at) => Math.max(1, ...texts.map((row) => cellsOf(row[at] ?? ""))));
  const widths = fitted(wanted, width - GAP.length * (heads.length - 1));
  const [head, ...body] = texts.map((row) =>
    widths.map((cells, at) => {
      const shown = cut(row[at] ?? "", cells);
      const room = " ".repeat(cells - cellsOf(shown));
      return heads[at]?.align === "right" ? room + shown : shown + room;
    }).join(GAP).trimEnd()
  );
  return [head!, widths.map((cells) => "-".repeat(cells)).join(GAP), ...body];
}

/** The widest columns give way until all fit; none gets narrower than it can be read. */
function fitted(wanted: readonly number[], room: number): readonly number[] {
  const widths = [...wanted];
  for (let over = widths.reduce((sum, each) => sum + each, 0) - room; over > 0;) {
    const widest = Math.max(...widths);
    if (widest <= COLUMN_CELLS_MIN) break;
    const next = Math.max(COLUMN_CELLS_MIN, ...widths.filter((each) => each < widest));
    const count = widths.filter((each) => each === widest).length;
    const step = Math.max(1, Math.min(widest - next, Math.floor(over / count)));
    for (const [at, each] of widths.entries()) {
      if (each !== widest || over <= 0) continue;
      widths[at] = each - step;
      over -= step;
    }
  }
  return widths;
}

function cellText(cell: string | number | boolean | null): string {
  return cell === null ? "" : String(cell);
}

function fieldText({ name, label, kind = "text", choices, value, required = false }: FormField): string {
  const takes = kind === "choice"
    ? ` (${choices?.join(" | ") ?? ""})`
    : kind === "boolean"
    ? " (true | false)"
    : kind === "number"
    ? " (number)"
    : "";
  const filled = value === undefined ? required ? " (required)" : "" : ` [${value}]`;
  return `${name}${takes}${filled}${label === undefined || label === name ? "" : `: ${label}`}`;
}

/** An action is something that is typed, so a client without panels can do it. */
function actionLines(
  { action, label }: ViewAction,
  fields: readonly FormField[],
  page: Page,
): readonly string[] {
  const { plugin, width } = page;
  const typed = plugin === undefined ? action : typedId(plugin, action);
  const words = [typed, ...fields.map(({ name }) => `${name}=…`)].join(" ");
  return wrap(`> ${label === undefined || label === action ? "" : `${label}: `}${words}`, width);
}

function progressLines({ label, done, total }: ProgressNode, { width }: Page): readonly string[] {
  const share = Math.min(1, done / total);
  const percent = `${Math.floor(share * 100)}%`;
  const room = Math.max(BAR_CELLS_MIN, Math.min(BAR_CELLS_MAX, width - percent.length - 3));
  const full = Math.floor(share * room);
  const bar = `[${"#".repeat(full)}${"-".repeat(room - full)}] ${percent}`;
  if (label === undefined || label === "") return [bar];
  const both = `${label} ${bar}`;
  return cellsOf(both) <= width ? [both] : [...wrap(label, width), bar];
}

function narrowed(page: Page, by: number): Page {
  return { ...page, width: Math.max(LIMITS.widthCellsMin - by, page.width - by, NARROWEST_CELLS) };
}

/** The first line behind a mark, the others below its end. */
function indented(lines: readonly string[], mark: string): readonly string[] {
  const room = " ".repeat(mark.length);
  return lines.map((line, at) => line === "" ? "" : `${at === 0 ? mark : room}${line}`);
}

/** Breaks between words; a word that is wider than a line is split. */
function wrap(text: string, width: number): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const lines: string[] = [];
    let current = "";
    let taken = 0; // counted on, since counting each line anew takes long
    for (const word of line.split(" ").flatMap((each) => pieces(each, width))) {
      const cells = cellsOf(word);
      const isFirst = current === "";
      const isFitting = isFirst || taken + 1 + cells <= width;
      if (!isFitting) lines.push(current);
      current = isFirst || !isFitting ? word : `${current} ${word}`;
      taken = isFirst || !isFitting ? cells : taken + 1 + cells;
    }
    return [...lines, current].map((each) => each.trimEnd());
  });
}

function pieces(word: string, width: number): readonly string[] {
  if (cellsOf(word) <= width) return [word];
  const parts: string[] = [];
  let part = "";
  let taken = 0;
  for (const character of word) {
    const cells = cellsOf(character);
    if (taken + cells > width) {
      parts.push(part);
      part = "";
      taken = 0;
    }
    part += character;
    taken += cells;
  }
  return [...parts, part];
}

function cut(text: string, cells: number): string {
  if (cellsOf(text) <= cells) return text;
  let shown = "";
  let taken = 0;
  for (const character of text) {
    taken += cellsOf(character);
    if (taken > cells - 1) break;
    shown += character;
  }
  return `${shown}…`;
}

/** Cells that a text takes on a terminal, nearly: marks that combine take none, ideographs and pictures two. */
function cellsOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let cells = 0;
  for (const character of text) cells += /\p{M}/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return cells;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const GAP = "  ";
const COLUMN_CELLS_MIN = 4;
const BAR_CELLS_MIN = 8;
const BAR_CELLS_MAX = 40;
const NARROWEST_CELLS = 8;

/** Results as text: tables with medians, ratios and spread, and the word on each target. Pure. */
import { type Cell, CELL_NAMES, type CellName, CELLS } from "./cells.ts";
import { EXPLANATIONS, PEERS_BETTER } from "./explanations.ts";
import { PEER_NAMES, PEERS } from "./peers/mod.ts";
import { type Results, SHELL_PROGRAMS, type Subject, turnsOf } from "./results.ts";
import { median, ratioOf, type Stat, summarize } from "./stats.ts";
import { GATES, judge, SIZE_GATES, type Target, TARGETS, type Verdict } from "./targets.ts";

/** Every target of these cells with its figure and whether it is met; beside the medians the best tenth, in which other work hardly shows. */
export function targetTable(
  results: Results,
  cells: readonly CellName[] = CELL_NAMES,
): string {
  const rows = TARGETS.filter(({ cell }) => cells.includes(cell)).map(
    (target) => {
      const verdict = judge(results, target);
      const { cell, stat, isStretch, over } = target;
      const best = stat !== undefined || over === undefined ? "" : valueText(judge(results, bestOf(target)));
      return [
        CELLS[cell].title + (stat === undefined ? "" : `, ${stat}`),
        (isStretch === true ? "stretch: " : "") + boundText(target),
        valueText(verdict),
        best,
        verdict.words,
      ];
    },
  );
  return table(["cell", "target", "found", "best tenth", "verdict"], rows);
}

function bestOf(target: Target): Target {
  return { ...target, stat: target.is === "at least" ? "p90" : "p10" };
}

/** All tables, a heading before each. */
export function cellTables(results: Results): string {
  const groups = [...new Set(CELL_NAMES.map((name) => CELLS[name].group))];
  return groups.map((group) => {
    const cells = CELL_NAMES.filter((name) =>
      CELLS[name].group === group && results.cells[name] !== undefined
    );
    return cells.length === 0 ? "" : `### ${group}\n\n${groupTable(results, cells)}\n`;
  }).filter((text) => text !== "").join("\n");
}

/** The gate's breaches, in words; empty when it is passed. */
export function breaches(results: Results): readonly string[] {
  const ratios = GATES.map((target) => judge(results, target)).filter((
    { isMet },
  ) => !isMet).map((verdict) =>
    `${CELLS[verdict.target.cell].title}${
      verdict.target.stat === undefined ? "" : `, ${verdict.target.stat}`
    }: ${valueText(verdict)} for ${boundText(verdict.target)}`
  );
  const sizes = Object.entries(SIZE_GATES).filter(([name, most]) => !(results.sizes[name]! <= most)).map((
    [name, most],
  ) => `size of the ${name}: ${results.sizes[name] ?? "unknown"} bytes for at most ${most}`);
  return [...ratios, ...sizes];
}

/** The whole report, as RESULTS.md has it. */
export function markdown(results: Results): string {
  const missed = TARGETS.map((target) => judge(results, target)).filter((
    { isMet, value },
  ) => !isMet && value !== null);
  const cells = [...new Set(missed.map(({ target }) => target.cell))];
  return [
    "# Sallyport beside its peers",
    `Written by \`npm run bench\` (${results.effort}); do not edit. All peers did the same work in one run, in turns. Absolute ` +
    "figures belong to this machine in that hour; the ratios are what counts.",
    list(results.machine),
    "## Targets",
    targetTable(results),
    "## Why what is missed is missed",
    cells.length === 0
      ? "Nothing is missed."
      : list(cells.map((cell) => `**${CELLS[cell].title}**: ${EXPLANATIONS[cell] ?? "not explained yet."}`)),
    "## Where a peer is better",
    list([...better(results), ...PEERS_BETTER]),
    "## Figures",
    "Median ± half the distance between the least and the greatest median of a turn, and in brackets the ratio to raw " +
    "isolated-vm (or to what the heading says): the median of the turns' ratios. A pass is a fresh process of every peer. " +
    "Sallyport is its built package, called through `createHost` and across its process boundary. Its op is one that an " +
    "embedder defined; manifest and policy grant it, the broker checks it, and one HMAC-chained line in the audit file tells " +
    "of it before it acts. The peers' ops check nothing and write nothing down.",
    cellTables(results).trimEnd(),
    "## Sizes at the start",
    table(
      ["what", "bytes", "gate"],
      Object.entries(results.sizes).map((
        [name, bytes],
      ) => [name, String(bytes), String(SIZE_GATES[name] ?? "")]),
    ),
    ...(results.gaps.length === 0 ? [] : ["## Not measured", list(results.gaps)]),
  ].join("\n\n") + "\n";
}

/** Cells in which a peer's median beats Sallyport's, with by how much. */
function better(results: Results): readonly string[] {
  return CELL_NAMES.flatMap((name) => {
    const own = turnsOf(results, name, "sallyport");
    const isMore = CELLS[name].unit === "calls/s";
    const winners = subjectsOf(results, name).filter((peer) => peer !== "sallyport").flatMap((peer) => {
      const ratio = ratioOf(turnsOf(results, name, peer), own)?.value;
      return ratio !== undefined &&
          (isMore ? ratio > 1.05 : ratio < 0.95 && ratio > 0)
        ? [`${titleOf(peer)} (${number(ratio)})`]
        : [];
    });
    return winners.length === 0 ? [] : [
      `${CELLS[name].title}, as multiples of Sallyport: ${winners.join(", ")}`,
    ];
  });
}

interface Column {
  readonly cell: CellName;
  readonly stat: Stat;
}

function groupTable(results: Results, cells: readonly CellName[]): string {
  const columns = cells.flatMap((cell): readonly Column[] =>
    (cellOf(cell).stats ?? ["p50"]).map((stat) => ({ cell, stat }))
  );
  const subjects = [
    ...new Set(cells.flatMap((cell) => subjectsOf(results, cell))),
  ];
  const head = columns.map(({ cell, stat }) => {
    const { title, unit } = cellOf(cell);
    return `${title}${stat === "p50" ? "" : `, ${stat}`}, ${unit}`;
  });
  return table(
    ["", ...head],
    subjects.map((subject) => [
      titleOf(subject),
      ...columns.map((column) => figure(results, column, subject)),
    ]),
  );
}

function figure(
  results: Results,
  { cell, stat }: Column,
  subject: Subject,
): string {
  const turns = turnsOf(results, cell, subject);
  const summary = summarize(turns);
  if (summary === null) return "";
  const ratio = ratioOf(
    turns,
    turnsOf(results, cell, cellOf(cell).reference ?? "ivm"),
    stat,
  );
  const [least, greatest] = summary.range;
  const half = (greatest - least) / 2 /
    median(turns.filter(({ length }) => length > 0).map(median));
  const spread = stat === "p50" && turns.length > 1 ? ` ±${Math.round(100 * half)} %` : "";
  return `${number(summary[stat])}${spread}${ratio === null ? "" : ` (${number(ratio.value)})`}`;
}

const SUBJECTS: readonly Subject[] = [
  ...PEER_NAMES,
  ...Object.keys(SHELL_PROGRAMS) as Subject[],
];

/** Whoever has figures in a cell, in the order of all tables. */
function subjectsOf(results: Results, cell: CellName): readonly Subject[] {
  return SUBJECTS.filter((subject) => isMeasured(results, cell, subject));
}

function isMeasured(
  results: Results,
  cell: CellName,
  subject: Subject,
): boolean {
  return turnsOf(results, cell, subject).some(({ length }) => length > 0);
}

function titleOf(subject: Subject): string {
  if (subject in SHELL_PROGRAMS) {
    return SHELL_PROGRAMS[subject as keyof typeof SHELL_PROGRAMS];
  }
  const { title, remark } = PEERS[subject as keyof typeof PEERS] as {
    title: string;
    remark?: string;
  };
  return remark === undefined ? title : `${title} (${remark})`;
}

function boundText(
  { cell, is, bound, over, of = "sallyport" }: Target,
): string {
  const sign = is === "at most" ? "≤ " : is === "at least" ? "≥ " : "within ";
  if (over === undefined) return `${sign}${bound} ${CELLS[cell].unit}`;
  const reference = over.subject === of ? "itself" : titleOf(over.subject);
  const where = over.cell === undefined || over.cell === cell ? "" : `, ${CELLS[over.cell].title}`;
  return is === "within"
    ? `${sign}${100 * bound} % of ${reference}${where}`
    : `${sign}${bound} × ${reference}${where}`;
}

function valueText({ value, range, target }: Verdict): string {
  if (value === null) return "–";
  const unit = target.over === undefined ? ` ${CELLS[target.cell].unit}` : "";
  const spread = range === null || range[0] === range[1] || target.stat !== undefined
    ? ""
    : ` (${number(range[0])}–${number(range[1])})`;
  return `${number(value)}${unit}${spread}`;
}

function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? "").length)));
  const line = (cells: readonly string[]): string =>
    `| ${
      cells.map((cell, i) => i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)).join(" | ")
    } |`;
  const rule = `| ${
    widths.map((width, i) => i === 0 ? "-".repeat(width) : "-".repeat(width - 1) + ":").join(" | ")
  } |`;
  return [line(head), rule, ...rows.map(line)].join("\n");
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

/** Three digits that count. */
function number(value: number): string {
  if (Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function cellOf(name: CellName): Cell {
  return CELLS[name];
}

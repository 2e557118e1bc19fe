/** A markdown table from rows of cells, the first of which is its head; columns are padded, as the formatter wants them. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const [head, ...body] = rows.map((row) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`
  );
  const line = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [head, line, ...body].join("\n");
}

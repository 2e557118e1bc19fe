/** One HTML page of sections. */
export function page(title: string, sections: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${title}</title>
${sections.map((html) => `<section>\n${html}</section>`).join("\n")}
</html>
`;
}

import { marked } from "marked";
import { page } from "./page.ts";

/** Reads every Markdown file of a folder, in the order of their names, and writes one page. */
export async function render({ from, to }: { from: string; to: string }) {
  const names: string[] = [];
  for await (const { name, isFile } of Deno.readDir(from)) {
    if (isFile && name.endsWith(".md")) names.push(name);
  }
  names.sort();
  const sections = [];
  for (const name of names) sections.push(await marked.parse(await Deno.readTextFile(`${from}/${name}`)));
  const html = page("Report", sections);
  await Deno.mkdir(to, { recursive: true });
  await Deno.writeTextFile(`${to}/report.html`, html);
  return { pages: names.length, bytes: new TextEncoder().encode(html).length };
}

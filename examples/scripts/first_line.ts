/** The first line of a file, wherever the flags allow. */
export default async function firstLine({ file }: { file: string }) {
  const text = await Deno.readTextFile(file);
  return text.split("\n")[0];
}

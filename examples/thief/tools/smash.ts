/** Reads a key file and does not catch the refusal, so the caller gets it, with its cure. */
export async function smash({ path = "/etc/shadow" }: { path?: string }) {
  return await Deno.readTextFile(path);
}

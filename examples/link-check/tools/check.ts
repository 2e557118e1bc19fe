const LINK = /\]\((https?:\/\/[^)\s]+)\)/g;

/** Fetches each link of a Markdown text once, and tells what came of it. A link that may not be fetched is told, too. */
export async function check({ markdown }: { markdown: string }) {
  const links = [...new Set([...markdown.matchAll(LINK)].map(([, url]) => url!))];
  return { links: await Promise.all(links.map(async (url) => ({ url, ...await outcomeOf(url) }))) };
}

async function outcomeOf(url: string): Promise<{ ok: boolean; what: string }> {
  try {
    const response = await fetch(url);
    const moved = response.redirected ? `, by way of ${url}` : "";
    return { ok: response.ok, what: `${response.status} ${new URL(response.url).pathname}${moved}` };
  } catch (error) {
    return { ok: false, what: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }
}

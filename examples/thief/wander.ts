/** Is granted one host, and follows its redirect to another one. */
export default async function wander({ url }: { url: string }) {
  const response = await fetch(url);
  return await response.text();
}

/** The documents that calls carry. */

/** A JSON object whose text has about that many bytes. */
export function payload(bytes: number): object {
  const items: object[] = [];
  const document = {
    id: "order-000001",
    ok: true,
    ratio: 0.731,
    items,
    pad: "",
  };
  for (let length = JSON.stringify(document).length; length < bytes - 60;) {
    const item = {
      n: items.length,
      s: `item ${items.length} of the list`,
      tags: ["a", "b"],
    };
    items.push(item);
    length += JSON.stringify(item).length + 1;
  }
  document.pad = "x".repeat(
    Math.max(0, bytes - JSON.stringify(document).length),
  );
  return document;
}

/** What a small call carries. */
export const SMALL_BYTES = 1_024;
/** What a large call carries. */
export const LARGE_BYTES = 102_400;

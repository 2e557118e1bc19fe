import type { InterceptorHandler } from "sallyport/plugin";

const CHARS_MAX = 200;

/** Cuts long texts on the way out; on the way in there is nothing to do. */
export const clip: InterceptorHandler = ({ phase, output }) => {
  if (phase !== "after") return;
  const clipped = clipAll(output);
  return JSON.stringify(clipped) === JSON.stringify(output)
    ? undefined
    : { decision: "replace", value: clipped };
};

function clipAll(value: unknown): unknown {
  if (typeof value === "string") return clipText(value);
  if (Array.isArray(value)) return value.map(clipAll);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, clipAll(each)]));
}

function clipText(text: string): string {
  const more = text.length - CHARS_MAX;
  return more <= 0 ? text : `${text.slice(0, CHARS_MAX)}… (${more} more)`;
}

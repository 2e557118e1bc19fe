import type { HookHandler } from "sallyport/plugin";

const SNIPPETS = new Map([
  [";short", "Answer in at most three sentences."],
  [";sources", "Name a source for each claim, or say that there is none."],
]);

/** Puts each snippet in the place of its short name; a prompt without one goes on as it is. */
export const expand: HookHandler = ({ prompt }) => {
  if (typeof prompt !== "string") return;
  const expanded = prompt.replace(/;[a-z]+/g, (name) => SNIPPETS.get(name) ?? name);
  return expanded === prompt ? undefined : { decision: "replace", value: { prompt: expanded } };
};

import type { HookHandler } from "sallyport/plugin";

/** Who writes one word wants to know whether it is there. */
export const writeOut: HookHandler = ({ prompt }) => {
  const [, item] = /^(\w+)\?$/.exec(String(prompt)) ?? [];
  if (item === undefined) return;
  return { decision: "replace", value: { prompt: `Is there any ${item}? If not, order some.` } };
};

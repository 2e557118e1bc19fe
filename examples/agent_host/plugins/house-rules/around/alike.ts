import type { InterceptorHandler } from "sallyport/plugin";

/** Writes items in small letters before they are looked for. */
export const alike: InterceptorHandler = ({ phase, input }) => {
  const { item, ...rest } = input as { readonly item: string };
  if (phase !== "before" || item === item.toLowerCase()) return;
  return { decision: "replace", value: { ...rest, item: item.toLowerCase() } };
};

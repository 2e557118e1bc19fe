import type { InterceptorHandler } from "sallyport/plugin";

/** Takes spaces around a name away before it is written down. */
export const tidy: InterceptorHandler = ({ phase, input }) => {
  const { name } = (input ?? {}) as { readonly name?: string };
  if (phase !== "before" || name === undefined || name === name.trim()) return;
  return { decision: "replace", value: { name: name.trim() } };
};

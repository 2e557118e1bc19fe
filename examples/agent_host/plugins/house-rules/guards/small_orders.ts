import type { GuardrailHandler } from "sallyport/plugin";

/** Stops orders of more than ten. */
export const smallOrders: GuardrailHandler = ({ input }) => {
  const { count = 0 } = input as { readonly count?: number };
  return count > 10 ? { decision: "block", reason: "ten at most in one order" } : undefined;
};

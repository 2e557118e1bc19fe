import type { GuardrailHandler } from "sallyport/plugin";

/** Nobody was never here. */
export const noNobody: GuardrailHandler = ({ input }) => {
  const { name = "" } = input as { readonly name?: string };
  return name.trim().toLowerCase() === "nobody"
    ? { decision: "block", reason: "nobody was never here" }
    : undefined;
};

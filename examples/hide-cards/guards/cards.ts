import type { GuardrailHandler } from "sallyport/plugin";

/** Puts [card] in the place of each number of a card, wherever in a result it stands. */
export const cards: GuardrailHandler = ({ output }) => {
  const text = JSON.stringify(output) ?? "null";
  const hidden = text.replace(/\b\d(?:[ -]?\d){12,18}\b/g, (digits) => isCard(digits) ? "[card]" : digits);
  if (hidden === text) return;
  try {
    return { decision: "replace", value: JSON.parse(hidden) };
  } catch {
    // A number by itself has become no number.
    return { decision: "block", reason: "it holds the number of a card" };
  }
};

/** The last digit of a card's number follows from the others (Luhn). */
function isCard(text: string): boolean {
  const digits = text.replaceAll(/\D/g, "").split("").reverse().map(Number);
  const sum = digits.reduce((sum, digit, place) => {
    const counted = place % 2 === 0 ? digit : digit * 2;
    return sum + (counted > 9 ? counted - 9 : counted);
  }, 0);
  return sum % 10 === 0;
}

/** What is answered, by the prompt. */
export const script: ReadonlyMap<string, string> = new Map([
  ["hello", "Good day. I am a script, and no model at all."],
  ["Which bread?", "Rye, with caraway. It keeps for a week."],
]);

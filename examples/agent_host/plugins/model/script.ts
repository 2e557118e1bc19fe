/** One piece of an answer: a word, or a tool that is to be called. */
export type Piece =
  | { readonly word: string }
  | { readonly call: string; readonly input: Readonly<Record<string, string | number>> };

const say = (text: string): Piece[] => text.split(" ").map((word) => ({ word }));

/** What is said in each turn, whatever was said before it. */
export const script: readonly (readonly Piece[])[] = [
  [...say("I will see what there is."), { call: "plugin__pantry__stock", input: { item: "Bread" } }],
  [...say("None is left, so I order plenty."), {
    call: "plugin__pantry__order",
    input: { item: "Bread", count: 50 },
  }],
  [...say("That was too much for one order, so I order four."), {
    call: "plugin__pantry__order",
    input: { item: "Bread", count: 4 },
  }],
  say("Four loaves of bread are on their way."),
];

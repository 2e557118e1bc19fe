/**
 * The questions of `run --prompt`, at the terminal: what a guest wrote is shown escaped and cut, and its console waits until
 * the answer is there, so that nothing of it lies over the question (T16).
 */
import { flagName, UsageError } from "../../permissions/mod.ts";
import type { Answer, Answered, Asker, Question } from "../../runtime/mod.ts";
import { display } from "../display.ts";
import { openPrompt } from "./ask.ts";
import type { Terminal } from "./terminal.ts";
import { userName } from "./trust.ts";

/** An operator at a terminal. */
export interface Operator extends Disposable {
  /** Who is asked. */
  readonly asker: Asker;
  /** What was answered, in order. */
  readonly answers: readonly Answered[];
  /** The terminal, for the guest's lines. */
  readonly guest: Terminal["guest"];
}

/** The longest text of a guest's that is shown, in UTF-16 units. */
const SHOWN_CHARS_MAX = 400;

/** Throws UsageError where there is no terminal. */
export function openOperator({ guest }: Terminal): Operator {
  const prompt = openPrompt();
  if (prompt === null) {
    throw new UsageError(
      "ERR_USAGE",
      "Cannot use --prompt: there is no terminal to ask at. Say with --allow-* what is granted",
    );
  }
  const answers: Answered[] = [];
  const held: [prefix: string | null, text: string][] = [];
  let isAsking = false;
  const ask = async (question: Question, signal: AbortSignal): Promise<Answer> => {
    isAsking = true;
    try {
      prompt.show(questionLines(question));
      for (;;) {
        const typed = (await prompt.ask("Allow it? [y/n/a/w] ", signal))?.trim().toLowerCase();
        if (typed === "w") prompt.show(whyLines(question));
        else return typed === "y" ? "yes" : typed === "a" ? "always" : "no";
      }
    } finally {
      isAsking = false;
      for (const line of held.splice(0)) guest(...line);
    }
  };
  return {
    asker: { name: userName(), ask, onAnswer: (answered) => void answers.push(answered) },
    answers,
    // How much a call may write is bounded, and so is what waits here.
    guest: (prefix, text) => isAsking ? void held.push([prefix, text]) : guest(prefix, text),
    [Symbol.dispose]: () => prompt.close(),
  };
}

function questionLines(question: Question): string[] {
  const { title, kind, entry, leadsTo, isUnlimited, spelled, op, decision } = question;
  return [
    "",
    `${shown(title)} asks to ${shown(decision.phrase ?? `use ${kind}`)}`,
    ...(spelled === null || spelled === entry ? [] : [`  as it wrote it  ${shown(spelled)}`]),
    ...(leadsTo === null ? [] : [`  which leads to  ${shown(leadsTo)}`]),
    `  by              ${op}`,
    `  y  allow        ${kind} ${entry === null ? "everything" : shown(entry)}, for this run`,
    `  a  always       all of ${kind}${
      isUnlimited ? `, as --allow-${flagName(kind)} does` : " that its manifest asks for"
    }, for this run`,
    "  n  refuse       so does anything else",
    "  w  why          the rule, and what else would allow it",
  ];
}

function whyLines({ decision: { rule, remedy, value } }: Question): string[] {
  return [
    `  rule            ${shown(rule)}`,
    `  remedy          ${shown(remedy)}`,
    `  value           ${value === null ? "the whole kind" : shown(value)}`,
  ];
}

function shown(text: string): string {
  return display(text, { max: SHOWN_CHARS_MAX });
}

/** Asks Deno and Sallyport the same questions, and holds each answer against the one that is right. */
import fc from "fast-check";
import { check, grantOf, layerOf, splitFlag, UsageError } from "../../permissions/mod.ts";
import {
  DENO_KINDS,
  type DenoAnswer,
  type DenoKind,
  type Flags,
  type Given,
  makePlace,
  type Place,
  type Question,
} from "./deno.ts";
import { readEntry, readRequest } from "./rewording.ts";
import { type Answers, type Case, type Outcome, outcomeOf, predict, type RuleName } from "./rules.ts";
import { type Cell, oddCells, REQUESTS_PER_CELL, worlds } from "./samples.ts";

/** A question and all that Deno said to it. */
export interface Compared {
  readonly question: Case;
  readonly answers: Answers;
  /** Sallyport's own answer. */
  readonly outcome: Outcome;
}

/** What an answer turned out to be. */
export type Verdict =
  | { readonly form: "same" }
  | { readonly form: "explained"; readonly rule: RuleName }
  | { readonly form: "unexplained"; readonly right: Outcome };

/** Judges an answer: it is right, and if it is not Deno's, a rule says why. */
export function judge({ question, answers, outcome }: Compared): Verdict {
  const { outcome: right, rule } = predict(question, answers);
  const isRight = outcome === right || (right === "readable" && outcome !== "invalid-grant");
  if (isRight && rule !== undefined) return { form: "explained", rule };
  return isRight && outcome === outcomeOf(answers.verbatim)
    ? { form: "same" }
    : { form: "unexplained", right };
}

/** Asks about `cases` questions, evenly of each kind, that the seed leads to. Linux and its like only. */
export async function* compare(seed: number, cases: number): AsyncGenerator<Compared, void> {
  using place = makePlace();
  const numRuns = Math.max(1, Math.round(cases / (REQUESTS_PER_CELL * DENO_KINDS.length)));
  const jobs = [
    ...fc.sample(worlds(place.cwd), { seed, numRuns }),
    ...fc.sample(oddCells(place.cwd), { seed, numRuns }).map((cell) => [cell]),
  ];
  const questions = jobs.flatMap(reworded);
  const answers = await place.ask({}, questions) ?? [];
  const bare = new Map(questions.map((question, at) => [JSON.stringify(question), answers[at]]));
  // A few at a time: each waits for processes.
  const waiting: Promise<readonly Compared[]>[] = [];
  for (const job of jobs) {
    waiting.push(ask(place, bare, job));
    if (waiting.length === AT_ONCE) yield* await waiting.shift()!; // it holds that many
  }
  for (const answered of waiting) yield* await answered;
}

/** Sallyport's answer, by the way that flags go. */
export function answer(question: Case): Outcome {
  const { kind, request, cwd, which } = question;
  const context = { cwd, which };
  const split = (given: Given) =>
    given === null || given === true ? given : given.flatMap((text) => splitFlag(kind, text));
  try {
    const [allow, deny] = [split(question.allow) ?? [], split(question.deny)];
    const layer = layerOf("flags", { [kind]: { allow, ...(deny === null ? {} : { deny }) } }, context);
    const { state, rule } = check(grantOf(layer), { kind, value: request }, context);
    return rule.includes(" is malformed: ") ? "invalid-request" : state;
  } catch (error) {
    if (error instanceof UsageError) return "invalid-grant";
    throw error;
  }
}

const AT_ONCE = 3;

type Bare = ReadonlyMap<string, DenoAnswer | undefined>;
type AllFlags = Partial<Readonly<Record<DenoKind, Flags>>>;

async function ask(place: Place, bare: Bare, cells: readonly Cell[]): Promise<readonly Compared[]> {
  const questions = cells.flatMap(questionsOf);
  const asked = reworded(cells);
  const given = byKind(cells, (cell) => cell);
  const verbatim = await place.ask(given, questions);
  const isPlain = JSON.stringify(questions) === JSON.stringify(asked);
  // Flags and questions that are the same as before, and everything allowed, need no process.
  const half = async (flags: AllFlags) => {
    if (Object.values(flags).every(({ allow, deny }) => allow === true && deny === null)) {
      return asked.map((): DenoAnswer => "granted");
    }
    const isSame = isPlain && JSON.stringify(flags) === JSON.stringify(given);
    return isSame ? verbatim : await place.ask(flags, asked);
  };
  const [allowed, spared] = await Promise.all([
    half(byKind(cells, ({ kind, allow }) => ({ allow: inDenosWords(kind, allow), deny: null }))),
    half(byKind(cells, ({ kind, deny }) => ({ allow: true, deny: inDenosWords(kind, deny) }))),
  ]);
  // One kind's bad entry keeps Deno from starting, so that each is asked for by itself.
  if (cells.length > 1 && (verbatim === undefined || allowed === undefined || spared === undefined)) {
    return (await Promise.all(cells.map((cell) => ask(place, bare, [cell])))).flat();
  }
  const all = cells.flatMap((cell) => cell.requests.map((request) => ({ ...cell, request })))
    .map(({ kind, allow, deny, request }, at): Compared => {
      const question = { kind, allow, deny, request, cwd: place.cwd, which: place.which };
      const answers = {
        verbatim: verbatim?.[at],
        allowed: allowed?.[at],
        spared: spared?.[at],
        bare: bare.get(JSON.stringify(asked[at])) ?? "invalid-request",
      };
      return { question, answers, outcome: answer(question) };
    });
  // What is no grant has one answer, whatever is asked.
  return verbatim === undefined && (allowed ?? spared) === undefined ? all.slice(0, 1) : all;
}

function questionsOf({ kind, requests }: Cell): readonly Question[] {
  return requests.map((value) => [kind, value]);
}

function reworded(cells: readonly Cell[]): readonly Question[] {
  return cells.flatMap(questionsOf).map(([kind, value]) => [
    kind,
    value === null ? null : readRequest(kind, value).text ?? value,
  ]);
}

function byKind(cells: readonly Cell[], flags: (cell: Cell) => Flags): AllFlags {
  return Object.fromEntries(cells.map((cell) => {
    const { allow, deny } = flags(cell);
    return [cell.kind, { allow, deny }];
  }));
}

function inDenosWords(kind: DenoKind, given: Given): Given {
  if (given === null || given === true) return given;
  return given.flatMap((entry) => entry.split(",")).map((entry) => readEntry(kind, entry).text ?? entry);
}

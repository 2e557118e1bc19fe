/** Turns what a bundler process reports into an error that names the importing file, the specifier and the chain. */
import { BundleError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import { relativeOf } from "../source.ts";
import type { BundleLimits } from "./limits.ts";
import type { BuildMessage } from "./protocol.ts";
import type { BuildSession, ImportIssue } from "./session.ts";

/** A message of the bundler, with the path of a file of the plugin. */
export interface BundleMessage {
  /** What it says. */
  readonly text: string;
  /** File, relative to the plugin, or "". */
  readonly file: string;
  /** Line, counted from one; 0 when unknown. */
  readonly line: number;
  /** Column, counted from zero. */
  readonly column: number;
}

/** The error of a build that ended with messages. */
export function failureOf(
  session: BuildSession,
  target: string,
  errors: readonly BuildMessage[],
  limits: BundleLimits,
): BundleError {
  const issues = session.issues;
  const refused = issues.find((issue) => issue.isRefused);
  if (refused !== undefined) return importError(session, refused);
  const messages = errors.filter((message) => !isNoise(message)).map((message) =>
    cleanMessage(message, limits)
  );
  const first = messages[0];
  // An import that was not found and stands in `try` is no error, so the bundler's word decides which one failed.
  const absent = issues.find((issue) =>
    messages.some(({ text, file }) =>
      file === issue.importer && text.includes(JSON.stringify(issue.specifier))
    ) || issue.importer === ""
  );
  if (absent !== undefined) return importError(session, absent);
  const computed = messages.find(({ text }) => COMPUTED.test(text));
  if (computed !== undefined) return computedError(session, computed);
  const where = first === undefined || first.file === ""
    ? ""
    : ` (${first.file}:${first.line}:${first.column + 1})`;
  return new BundleError(
    "ERR_BUNDLE_FAILED",
    `Cannot bundle "${target}": ${first?.text ?? "the bundler gave no reason"}${where}`,
    { details: { file: target, messages: messages.slice(0, limits.bundleMessagesMax) } },
  );
}

/** A message without anything but the plugin's own names in it, and no longer than it may be. */
export function cleanMessage(message: BuildMessage, limits: BundleLimits): BundleMessage {
  const text = String(message.text)
    .slice(0, 4 * limits.bundleMessageCharsMax)
    .replaceAll(
      /\b(?:module|plugin|meta):\/p\/([^"]*?)\.mjs\b(?=")/g,
      (whole, path: string) => whole.startsWith("module:") ? path : `${path}.mjs`,
    )
    .replaceAll(/\b(?:module|plugin|meta):\/p\//g, "")
    // deno-lint-ignore no-control-regex -- control characters are what it takes out
    .replaceAll(/[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, " ")
    .slice(0, limits.bundleMessageCharsMax);
  const file = relativeOf(String(message.file)).replace(/^(?:entry|meta|disabled):.*/, "");
  return { text, file, line: Number(message.line) || 0, column: Number(message.column) || 0 };
}

const COMPUTED = /^Could not resolve (?:import|require)\("/;

/** The engine without a file system says that it has none whenever an import is computed. */
function isNoise(message: BuildMessage): boolean {
  return String(message.text).startsWith("Cannot read directory");
}

function importError(session: BuildSession, issue: ImportIssue, line = ""): BundleError {
  const { importer, specifier, reason, code } = issue;
  const chain = session.chainOf(importer);
  const place = importer === "" ? "" : ` in "${importer}"${line}`;
  const reached = chain.length > 1
    ? `. Imported by way of ${chain.map((path) => `"${path}"`).join(" → ")}`
    : "";
  return new BundleError(code, display(`Cannot import "${specifier}"${place}: ${reason}${reached}`), {
    details: { importer, specifier, reason, chain },
  });
}

function computedError(session: BuildSession, { text, file, line }: BundleMessage): BundleError {
  const specifier = /\("(.*)"\)/.exec(text)?.[1] ?? "";
  const reason =
    "its path is computed when it runs, so its files cannot be pinned; import each file by its name";
  const issue = { importer: file, specifier, reason, code: "ERR_IMPORT_REFUSED", isRefused: true } as const;
  return importError(session, issue, ` (line ${line})`);
}

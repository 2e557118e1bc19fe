/** The command line: a table of verbs, and one way from argv to an exit code. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { Command, CommanderError } from "commander";
import {
  errorToJson,
  exitCodeOf,
  type KindTable,
  kindTable,
  type NotCapableError,
  SallyportError,
  UsageError,
} from "../../permissions/mod.ts";
import { Redactor } from "../../runtime/mod.ts";
import { VERSION } from "../version.ts";
import { audit } from "./audit.ts";
import { check } from "./check.ts";
import { type CliCommand, type CommandContext, CommandFailure } from "./command.ts";
import { dev } from "./dev.ts";
import { diff } from "./diff.ts";
import { disable } from "./disable.ts";
import { discover } from "./discover.ts";
import { doctor } from "./doctor.ts";
import { emit } from "./emit.ts";
import { enable } from "./enable.ts";
import { explain } from "./explain.ts";
import { expose, hide } from "./expose.ts";
import { info } from "./info.ts";
import { init } from "./init.ts";
import { link } from "./link.ts";
import { list } from "./list.ts";
import { plan } from "./plan.ts";
import { revoke } from "./revoke.ts";
import { run } from "./run.ts";
import { secrets } from "./secrets.ts";
import { show } from "./show.ts";
import { shownLines } from "./terminal.ts";
import { trust } from "./trust.ts";
import { untrust } from "./untrust.ts";

export type { CliCommand, CommandContext } from "./command.ts";
export { processTerminal, type Terminal } from "./terminal.ts";

/** All verbs, in the order of the help. */
export const COMMANDS: readonly CliCommand[] = [
  run,
  show,
  emit,
  explain,
  discover,
  check,
  list,
  info,
  trust,
  untrust,
  revoke,
  enable,
  disable,
  expose,
  hide,
  diff,
  plan,
  secrets,
  audit,
  doctor,
  init,
  link,
  dev,
];

/** Runs one command line and gives its exit code; never rejects. */
export async function runCli(argv: readonly string[], context: CommandContext): Promise<number> {
  const isJson = argv.includes("--json");
  let exitCode = 0;
  const program = new Command("sallyport")
    .description("Runs plugins that nobody has vetted")
    .version(VERSION)
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => context.terminal.out(text.trimEnd()),
      writeErr: (text) => isJson ? undefined : context.terminal.err(shownLines(text.trimEnd())),
      outputError: () => {}, // reportError tells it, in the shape that all errors have
    });
  program.addHelpText("after", INSTALL_NOTE);
  const configure = (verb: CliCommand, kinds: KindTable): void => {
    const command = program.command(verb.name).exitOverride();
    verb.configure(command, kinds);
    command.option("--json", "print one JSON document");
    command.action(async (...all: unknown[]) => {
      const flags = command.opts() as Record<string, unknown>;
      const args = all.slice(0, -2).flat().filter((arg): arg is string => typeof arg === "string");
      const result = await verb.run(context, args, flags);
      if (isJson) {
        context.terminal.json({
          schema_version: 1,
          ok: true,
          value: result.value,
          denials: result.denials ?? [],
        });
      } else result.print(context.terminal);
      exitCode = result.exitCode ?? 0;
    });
  };
  try {
    const kinds = kindTable(context.permissions);
    // Where the line names a verb, nobody asks for the flags of the others.
    const named = COMMANDS.filter(({ name }) => name === argv.find((word) => !word.startsWith("-")));
    for (const verb of named.length > 0 ? named : COMMANDS) configure(verb, kinds);
    await program.parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommandFailure) return reportError(error.error, error.denials, argv, context);
    return reportError(error, [], argv, context);
  }
}

const INSTALL_NOTE = `
There is no install: a plugin is a directory, however it came. Put it under ~/.sallyport/plugins or a project's
.sallyport/plugins, or name its directory.`;

function reportError(
  error: unknown,
  denials: readonly NotCapableError[],
  argv: readonly string[],
  { terminal, cwd }: CommandContext,
): number {
  if (error instanceof CommanderError && error.exitCode === 0) return 0; // --help and --version
  // Whatever went wrong, and wherever: nothing that has a credential's shape is repeated to a terminal or a log (R23).
  const known = new Redactor().error(
    error instanceof SallyportError ? error : usageOrUnexpected(error, argv, cwd),
  );
  if (argv.includes("--json")) {
    terminal.json({
      schema_version: 1,
      ok: false,
      error: errorToJson(known),
      denials: denials.map(({ details }) => details),
    });
  } else if (!(error instanceof CommanderError) || error.code !== HELP_SHOWN) {
    terminal.err(`error ${known.code}: ${shownLines(known.message)}`);
    const { guestStack } = known.details;
    if (typeof guestStack === "string" && guestStack !== "") {
      terminal.err(shownLines(guestStack.split("\n").map((frame) => `    ${frame}`).join("\n")));
      terminal.err("    (as the plugin itself reports it)");
    }
    for (const { message } of denials) terminal.guest("refused", message);
  }
  return exitCodeOf(known);
}

/** Code of the commander for a line without a verb, which it answers with the help. */
const HELP_SHOWN = "commander.help";

function usageMessage({ code, message }: CommanderError, argv: readonly string[], cwd: string): string {
  if (code === HELP_SHOWN) return "Cannot tell what to do: name a command. See `sallyport --help`";
  const swallowed = code === "commander.missingArgument" ? swallowedFile(argv, cwd) : null;
  if (swallowed !== null) return swallowed;
  const what = message.replace(/^error: /, "").replaceAll("\n", " ").replace(/\.+$/, "");
  const verb = COMMANDS.find(({ name }) => name === argv.find((word) => !word.startsWith("-")));
  const help = verb === undefined ? "sallyport --help" : `sallyport ${verb.name} --help`;
  const note = code === "commander.unknownCommand" ? INSTALL_NOTE : "";
  return `Cannot run this: ${what}. See \`${help}\`${note}`;
}

/** A flag whose value may be left out takes the word behind it, which may have been meant as what to run. */
function swallowedFile(argv: readonly string[], cwd: string): string | null {
  const place = argv.findIndex((word, at) =>
    /^--(?:allow|deny)-[a-z-]+$/.test(word) && isFile(argv[at + 1], cwd)
  );
  if (place === -1) return null;
  const [flag, value] = argv.slice(place);
  return `Cannot tell what to run: "${value}" was taken as the value of ${flag}. Write ${flag}=… or put the flag last`;
}

function isFile(word: string | undefined, cwd: string): boolean {
  if (word === undefined || word.startsWith("-")) return false;
  try {
    return statSync(resolve(cwd, word)).isFile();
  } catch {
    return false;
  }
}

function usageOrUnexpected(error: unknown, argv: readonly string[], cwd: string): SallyportError {
  if (error instanceof CommanderError) {
    return new UsageError("ERR_USAGE", usageMessage(error, argv, cwd));
  }
  const message = error instanceof Error ? error.message : String(error);
  return new SallyportError("ERR_UNEXPECTED", `Sallyport itself failed: ${message}. Please report this`, {
    cause: error,
  });
}

/** The command line: a table of verbs, and one way from argv to an exit code. */
import { Command, CommanderError } from "commander";
import { errorToJson, exitCodeOf, SallyportError, UsageError } from "../../permissions/mod.ts";
import { VERSION } from "../version.ts";
import { check } from "./check.ts";
import type { CliCommand, CommandContext } from "./command.ts";
import { info } from "./info.ts";
import { init } from "./init.ts";
import { list } from "./list.ts";
import { run } from "./run.ts";
import { shownLines } from "./terminal.ts";
import { trust } from "./trust.ts";
import { untrust } from "./untrust.ts";

export type { CliCommand, CommandContext } from "./command.ts";
export { processTerminal, type Terminal } from "./terminal.ts";

/** All verbs, in the order of the help. */
export const COMMANDS: readonly CliCommand[] = [run, check, list, info, trust, untrust, init];

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
  for (const verb of COMMANDS) {
    const command = program.command(verb.name).exitOverride();
    verb.configure(command);
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
  }
  try {
    await program.parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (error) {
    return reportError(error, isJson, context);
  }
}

const INSTALL_NOTE = `
There is no install: a plugin is a directory, however it came. Put it under ~/.sallyport/plugins or a project's
.sallyport/plugins, or name its directory.`;

function reportError(error: unknown, isJson: boolean, { terminal }: CommandContext): number {
  if (error instanceof CommanderError && error.exitCode === 0) return 0; // --help and --version
  const known = error instanceof SallyportError ? error : usageOrUnexpected(error);
  if (isJson) terminal.json({ schema_version: 1, ok: false, error: errorToJson(known) });
  else if (!(error instanceof CommanderError) || error.code !== HELP_SHOWN) {
    terminal.err(`error ${known.code}: ${shownLines(known.message)}`);
    const { guestStack } = known.details;
    if (typeof guestStack === "string" && guestStack !== "") {
      terminal.err(shownLines(guestStack.split("\n").map((frame) => `    ${frame}`).join("\n")));
      terminal.err("    (as the plugin itself reports it)");
    }
  }
  return exitCodeOf(known);
}

/** Code of the commander for a line without a verb, which it answers with the help. */
const HELP_SHOWN = "commander.help";

function usageMessage({ code, message }: CommanderError): string {
  if (code === HELP_SHOWN) return "Cannot tell what to do: name a command. See `sallyport --help`";
  const what = message.replace(/^error: /, "").replaceAll("\n", " ");
  const note = code === "commander.unknownCommand" ? INSTALL_NOTE : "";
  return `Cannot run this: ${what}. See \`sallyport --help\`${note}`;
}

function usageOrUnexpected(error: unknown): SallyportError {
  if (error instanceof CommanderError) {
    return new UsageError("ERR_USAGE", usageMessage(error));
  }
  const message = error instanceof Error ? error.message : String(error);
  return new SallyportError("ERR_UNEXPECTED", `Sallyport itself failed: ${message}. Please report this`, {
    cause: error,
  });
}

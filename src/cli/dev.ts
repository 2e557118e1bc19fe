/** `dev`: runs a plugin while its author edits it. Asks once, for this process; asks again for whatever is more. */
import { watch } from "node:fs";
import { UsageError } from "../../permissions/mod.ts";
import type { AuditSink } from "../../runtime/mod.ts";
import { jsonlAudit } from "../audit/jsonl.ts";
import { DevSession } from "../dev.ts";
import type { DevOptions, DevRound } from "../dev.ts";
import { display } from "../display.ts";
import { findHome } from "../home.ts";
import { quoteArgument } from "../quote.ts";
import { openPrompt } from "./ask.ts";
import { checkLines } from "./check.ts";
import type { CliCommand, CommandContext } from "./command.ts";
import { diffLines } from "./diff.ts";
import { readInput } from "./input.ts";
import { kindsOf, LOCAL, localHost, localPolicy } from "./local.ts";
import { addPermissionFlags, permissionsOf } from "./permission_flags.ts";
import { directoryOf } from "./target.ts";
import { shownLines } from "./terminal.ts";
import { isAgreed } from "./trust.ts";

type Flags = Readonly<Record<string, unknown>>;

/** The verb. */
export const dev: CliCommand = {
  name: "dev",
  configure(command, kinds) {
    command
      .description(
        "Watches a plugin that you write: checks each edit, and runs it under what you agreed to once",
      )
      .argument("<directory>", "the plugin")
      .option("--run <capability>", "call this after each edit that is good")
      .option("--input <json>", "its input: JSON, @file or - for stdin")
      .option("--once", "look once and end")
      .option("--fingerprint <sha256>", "agree to what has this fingerprint; needed without a terminal")
      .addHelpText(
        "after",
        '\nExample:\n  sallyport dev ./web-research --run web_search --input \'{"q":"x"}\'',
      );
    addPermissionFlags(command, kinds);
  },
  async run(context, [what], flags) {
    const directory = directoryOf(context, what!);
    if (directory === null) {
      throw new UsageError("ERR_USAGE", `Cannot watch "${display(what!)}": it is no directory`);
    }
    if (flags.json === true && flags.once !== true) {
      throw new UsageError(
        "ERR_USAGE",
        "Cannot use --json without --once: it is one document, and watching has no end",
      );
    }
    const input = readInput(flags.input);
    await using host = await localHost(context, undefined, { audit: devAudit(context) });
    using changes = watchEdits(directory);
    const session = new DevSession({
      host,
      directory,
      policy: localPolicy(context, {}),
      kinds: kindsOf(context),
      flags: { permissions: permissionsOf(flags, kindsOf(context)), cwd: context.cwd },
      ask: askerOf(what!, flags),
    });
    const first = await session.round();
    if (flags.once === true) return await once(first, context, input, flags);
    const tell = async (round: DevRound): Promise<void> => await report(round, context, input, flags);
    await tell(first);
    for (;;) {
      await changes.next();
      await tell(await session.round());
    }
  },
};

/** At a terminal a person says so; elsewhere the fingerprint does, and only for what has it. */
function askerOf(what: string, { fingerprint }: Flags): DevOptions["ask"] {
  return async (review, grants, since) => {
    const { hash } = review.fingerprint;
    if (fingerprint !== undefined && fingerprint === hash) return true;
    const prompt = openPrompt();
    if (prompt === null) {
      if (since !== null) return false;
      throw new UsageError(
        "ERR_USAGE",
        `Cannot ask: there is no terminal. Look at it with \`sallyport check ${
          quoteArgument(what)
        }\`; to agree to what is there now, add --fingerprint ${hash}`,
      );
    }
    try {
      if (since !== null) prompt.show(diffLines(since));
      return await isAgreed(prompt, { ...review, secrets: [], through: [] }, grants);
    } finally {
      prompt.close();
    }
  };
}

async function once(round: DevRound, context: CommandContext, input: unknown, flags: Flags) {
  if (round.outcome === "same") throw new TypeError("the first look finds nothing that it saw before");
  if (round.outcome !== "good") throw round.error;
  const { check } = round;
  const result = flags.run === undefined ? undefined : await call(round, context, input, flags);
  return {
    value: { ...check, ...(result === undefined ? {} : { result }) },
    print: () => {
      for (const line of checkLines(check)) context.terminal.out(line);
      if (result !== undefined) context.terminal.result(textOf(result), false);
    },
  };
}

async function report(round: DevRound, context: CommandContext, input: unknown, flags: Flags): Promise<void> {
  const { terminal } = context;
  if (round.outcome === "same") return;
  if (round.outcome !== "good") {
    terminal.err(`error ${round.error.code}: ${shownLines(round.error.message)}`);
    terminal.err("what was good before is kept");
    return;
  }
  for (const line of checkLines(round.check)) terminal.out(line);
  if (flags.run === undefined) return;
  try {
    terminal.result(textOf(await call(round, context, input, flags)), false);
  } catch (error) {
    // The author's next edit may be the cure, so a call that fails ends nothing.
    const { code, message } = error as { code?: string; message?: string };
    terminal.err(`error ${code ?? "ERR_UNEXPECTED"}: ${shownLines(message ?? String(error))}`);
  }
}

function call(
  { tenant, check }: DevRound & { readonly outcome: "good" },
  { terminal }: CommandContext,
  input: unknown,
  { run }: Flags,
): Promise<unknown> {
  return tenant.call(String(run), input, { onLine: (line) => terminal.guest(check.name, line.text) });
}

/** Tells of changes below the directory, many of them at once: an editor writes a file in several steps. */
function watchEdits(directory: string): Disposable & { next(): Promise<void> } {
  let change = Promise.withResolvers<void>();
  const watcher = watch(directory, { recursive: true }, () => change.resolve());
  watcher.on("error", (error) => change.reject(error));
  return {
    async next() {
      await change.promise;
      await new Promise((resume) => setTimeout(resume, QUIET_MS));
      change = Promise.withResolvers<void>();
    },
    [Symbol.dispose]: () => watcher.close(),
  };
}

const QUIET_MS = 100;

/** Every version is a tenant of its own, and all of them are the person's: their events stand in one log. */
function devAudit({ userHome, cwd, environment }: CommandContext): (tenant: string) => AuditSink {
  const home = findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME });
  const keyFile = home.auditKey;
  const log = jsonlAudit({ directory: home.audit, tenant: LOCAL, keyFile, now: () => Date.now() });
  let isClosed = false;
  return () => ({
    write: (event) => log.write(event),
    close: () => {
      if (!isClosed) log.close();
      isClosed = true;
    },
  });
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

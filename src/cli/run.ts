/** `run`: one capability of a plugin, or a single script whose flags are its manifest. */
import { resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { UsageError } from "../../permissions/mod.ts";
import { type Denial, type GuestLine, type Progress, toOperator } from "../../runtime/mod.ts";
import type { Host } from "../host.ts";
import type { CallOptions } from "../run.ts";
import { type CliCommand, type CommandContext, CommandFailure, type CommandResult } from "./command.ts";
import { readInput } from "./input.ts";
import {
  kindsOf,
  limitFlags,
  LOCAL,
  localHost,
  localPolicy,
  localSecrets,
  noticeUnconfined,
} from "./local.ts";
import { addPermissionFlags, permissionsOf } from "./permission_flags.ts";
import { openOperator, type Operator } from "./prompt.ts";
import { readStream } from "./run_as/call.ts";
import { runCapability } from "./run_as/mod.ts";
import type { Ran } from "./run_as/runner.ts";
import { kindOfTarget, pluginInId } from "./run_target.ts";
import type { Terminal } from "./terminal.ts";
import { userName } from "./trust.ts";
import { openTrusted, type PluginTarget } from "./trusted_target.ts";

type Flags = Readonly<Record<string, unknown>>;

/** The verb. */
export const run: CliCommand = {
  name: "run",
  configure(command, kinds) {
    command
      .description("Runs a capability of a plugin, or a single script")
      .argument("<what>", "a plugin's directory or name, the id of what it offers, or a script file")
      .argument("[capability]", "full id or name; not needed where there is only one")
      .argument("[words...]", "what a command or prompt is given; behind -- where one begins with a dash")
      .option("--input <json>", "the input: JSON, @file, or - for standard input")
      .option("--yes", "trust the plugin as it is, for this run only")
      .option("--fingerprint <sha256>", "run only what has this fingerprint")
      .option("--lock", "print the fingerprint of a script and end")
      .option("--wall-ms <ms>", "how long a call may take (30000)")
      .option("--memory-mb <mb>", "how much memory it may use")
      .option(
        "--prompt",
        "ask at the terminal about what is not granted; a plugin never for more than it asks for",
      )
      .option("--save", "with --prompt: keep what you agree to in the plugin's trust record")
      .option("--raw", "print a text result as it is, even on a terminal")
      .addHelpText(
        "after",
        `
Examples:
  sallyport run ./web-research web_search --yes --input '{"q":"x"}'
  sallyport run /web-research:brief some words
  sallyport run web-research/status
  sallyport run script.ts --allow-read=./data`,
      );
    addPermissionFlags(command, kinds);
  },
  async run(context, args, flags) {
    const target = targetOf(args, context.cwd);
    const { what, isScript, capability } = target;
    refuseForeignFlags(isScript, what, capability, flags);
    const input = flags.input === undefined ? undefined : readInput(flags.input);
    using operator = flags.prompt === true ? openOperator(context.terminal) : null;
    await using host = await localHost(context, operator?.asker, { isPassing: flags.yes === true });
    noticeConfinement(host, context, flags);
    await setImmediate(); // the worker that starts meanwhile is answered here, and goes on
    const guest = operator?.guest ?? context.terminal.guest;
    if (isScript) return await runScript(host, context, what, input ?? {}, flags, guest);
    return await runPlugin(host, context, target, input, flags, { guest, answers: operator?.answers ?? [] });
  },
};

/** The words of the line: whose, what of it, and what it is given. Throws UsageError for what is nothing. */
function targetOf(
  [what = "", ...rest]: readonly string[],
  cwd: string,
): PluginTarget & { readonly isScript: boolean } {
  const plugin = pluginInId(what, cwd);
  if (plugin !== null) {
    return { what: plugin, isDirectory: false, isScript: false, capability: what, words: rest };
  }
  const kind = kindOfTarget(what, cwd);
  const [capability, ...words] = rest;
  return { what, isDirectory: kind === "directory", isScript: kind === "script", capability, words };
}

async function runScript(
  host: Host,
  context: CommandContext,
  file: string,
  input: unknown,
  flags: Flags,
  guest: Terminal["guest"],
): Promise<CommandResult> {
  const denials: Denial[] = [];
  const policy = localPolicy(context, {});
  const { unconfinedCommands } = policy;
  const script = host.script(LOCAL, resolve(context.cwd, file), {
    permissions: permissionsOf(flags, kindsOf(context)),
    cwd: context.cwd,
    secrets: localSecrets(context),
    environment: context.environment,
    ...(unconfinedCommands === undefined ? {} : { unconfinedCommands }),
    limits: { wallMs: DEFAULT_WALL_MS, ...limitFlags(flags) },
    ...(flags.fingerprint === undefined ? {} : { fingerprint: String(flags.fingerprint) }),
    onLine: (line) => guest(flags.json === true || isForStderr(line) ? file : null, line.text),
    onProgress: (progress) => context.terminal.progress?.(file, progressText(progress)),
    onDenial: (denial) => denials.push(denial),
  });
  noticeUnconfined(context, policy, flags);
  if (flags.lock === true) {
    const { hash } = await script.fingerprint();
    return { value: { fingerprint: hash }, print: (terminal) => terminal.out(hash) };
  }
  const ran = readStream(file, script.stream(input), { flags, terminal: context.terminal });
  return resultOf(await withDenials(denials, ran), denials, flags);
}

async function runPlugin(
  host: Host,
  context: CommandContext,
  target: PluginTarget,
  input: unknown,
  flags: Flags,
  { guest, answers }: Pick<Operator, "guest" | "answers">,
): Promise<CommandResult> {
  const { tenant, plugin, capability, limits } = await openTrusted(host, context, target, flags, "run");
  const denials: Denial[] = [];
  const options: CallOptions = {
    onLine: (line) => guest(plugin.name, line.text),
    onProgress: (progress) => context.terminal.progress?.(plugin.name, progressText(progress)),
    onDenial: (denial) => denials.push(denial),
    ...(limits.wallMs === undefined ? {} : { wallMs: limits.wallMs }),
  };
  const { words = [] } = target;
  const { terminal } = context;
  try {
    const ran = runCapability({ tenant, capability, input, words, flags, options, terminal });
    return resultOf(await withDenials(denials, ran), denials, flags);
  } finally {
    // What a person agreed to is kept even where the call came to nothing.
    const agreed = flags.save === true ? answers.filter(({ answer }) => answer !== "no") : [];
    if (agreed.length > 0) await tenant.saveAnswers(plugin.name, agreed, userName());
  }
}

/** What a call gives; its failure takes along what was refused before, which often explains it. */
async function withDenials<Value>(denials: readonly Denial[], call: Promise<Value>): Promise<Value> {
  try {
    return await call;
  } catch (error) {
    const refusals = denials.map((denial) => toOperator(denial));
    const message = error instanceof Error ? error.message : null;
    throw new CommandFailure(error, refusals.filter((refusal) => refusal.message !== message));
  }
}

function resultOf(ran: Ran, denials: readonly Denial[], flags: Flags): CommandResult {
  const refusals = denials.map((denial) => toOperator(denial));
  const { value } = ran;
  const shown = ran.text === undefined ? value : ran.text;
  return {
    value,
    denials: refusals.map(({ details }) => details),
    print(terminal) {
      if (shown !== null) {
        terminal.result(
          typeof shown === "string" ? shown : JSON.stringify(shown, null, 2),
          flags.raw === true,
        );
      }
      for (const { message } of refusals) terminal.guest("refused", message);
    },
  };
}

const DEFAULT_WALL_MS = 30_000;

function progressText({ done, total, message }: Progress): string {
  return [total === null ? String(done) : `${done}/${total}`, ...message === null ? [] : [message]].join(" ");
}

function isForStderr({ level }: GuestLine): boolean {
  return level === "warn" || level === "error";
}

/** What means nothing for a script, or nothing for a plugin, is refused: silence would look like consent. */
function refuseForeignFlags(
  isScript: boolean,
  what: string,
  capability: string | undefined,
  flags: Flags,
): void {
  const problem = !isScript
    ? flags.save === true && (flags.prompt !== true || flags.yes === true)
      ? flags.yes === true
        ? "--save with --yes: nothing is trusted beyond this run"
        : "--save without --prompt: nothing is answered"
      : flags.lock === true
      ? `--lock with a plugin: \`sallyport check\` prints its fingerprint`
      : null
    : flags.save === true
    ? "--save with a script: it has no trust record"
    : flags.yes === true
    ? "--yes with a script: what it may do are its --allow-* flags"
    : capability !== undefined
    ? `"${capability}" with script "${what}": a script has no capabilities. Pass values with --input`
    : null;
  if (problem !== null) throw new UsageError("ERR_USAGE", `Cannot use ${problem}`);
}

/** Says where workers are confined less than they could be. */
export function noticeConfinement(host: Host, { terminal }: CommandContext, flags: Flags): void {
  const { level, reasons } = host.confinement;
  if (level === "strong" || flags.json === true) return;
  terminal.err(`sallyport: confinement of workers is ${level}: ${reasons.join("; ")}`);
}

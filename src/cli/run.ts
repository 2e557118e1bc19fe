/** `run`: one capability of a plugin, or a single script whose flags are its manifest. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { UsageError } from "../../permissions/mod.ts";
import { type Denial, type GuestLine, toOperator } from "../../runtime/mod.ts";
import type { Host } from "../host.ts";
import { isArchive } from "../plugin.ts";
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
      .argument("<what>", "a plugin's directory or name, or a script file")
      .argument("[capability]", "full id or name; not needed where there is only one")
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
  sallyport run script.ts --allow-read=./data`,
      );
    addPermissionFlags(command, kinds);
  },
  async run(context, [what, capability], flags) {
    const kind = kindOfTarget(what!, context.cwd);
    refuseForeignFlags(kind === "script", what!, capability, flags);
    const input = readInput(flags.input);
    using operator = flags.prompt === true ? openOperator(context.terminal) : null;
    await using host = await localHost(context, operator?.asker, { isPassing: flags.yes === true });
    noticeConfinement(host, context, flags);
    await setImmediate(); // the worker that starts meanwhile is answered here, and goes on
    const guest = operator?.guest ?? context.terminal.guest;
    if (kind === "script") return await runScript(host, context, what!, input, flags, guest);
    const target = { what: what!, isDirectory: kind === "directory", capability };
    return await runPlugin(host, context, target, input, flags, { guest, answers: operator?.answers ?? [] });
  },
};

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
    onDenial: (denial) => denials.push(denial),
  });
  noticeUnconfined(context, policy, flags);
  if (flags.lock === true) {
    const { hash } = await script.fingerprint();
    return { value: { fingerprint: hash }, print: (terminal) => terminal.out(hash) };
  }
  return resultOf(await withDenials(denials, script.run(input)), denials, flags);
}

async function runPlugin(
  host: Host,
  context: CommandContext,
  target: PluginTarget,
  input: unknown,
  flags: Flags,
  { guest, answers }: Pick<Operator, "guest" | "answers">,
): Promise<CommandResult> {
  const { tenant, plugin, id, limits } = await openTrusted(host, context, target, flags, "run");
  const denials: Denial[] = [];
  try {
    const call = tenant.call(id, input, {
      onLine: (line) => guest(plugin.name, line.text),
      onDenial: (denial) => denials.push(denial),
      ...(limits.wallMs === undefined ? {} : { wallMs: limits.wallMs }),
    });
    return resultOf(await withDenials(denials, call), denials, flags);
  } finally {
    // What a person agreed to is kept even where the call came to nothing.
    const agreed = flags.save === true ? answers.filter(({ answer }) => answer !== "no") : [];
    if (agreed.length > 0) await tenant.saveAnswers(plugin.name, agreed, userName());
  }
}

/** What a call gives; its failure takes along what was refused before, which often explains it. */
async function withDenials(denials: readonly Denial[], call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    const refusals = denials.map((denial) => toOperator(denial));
    const message = error instanceof Error ? error.message : null;
    throw new CommandFailure(error, refusals.filter((refusal) => refusal.message !== message));
  }
}

function resultOf(value: unknown, denials: readonly Denial[], flags: Flags): CommandResult {
  const refusals = denials.map((denial) => toOperator(denial));
  return {
    value,
    denials: refusals.map(({ details }) => details),
    print(terminal) {
      if (value !== null) {
        terminal.result(
          typeof value === "string" ? value : JSON.stringify(value, null, 2),
          flags.raw === true,
        );
      }
      for (const { message } of refusals) terminal.guest("refused", message);
    },
  };
}

const DEFAULT_WALL_MS = 30_000;

function isForStderr({ level }: GuestLine): boolean {
  return level === "warn" || level === "error";
}

/** What the word on the line means. Throws UsageError for what is nothing. */
export function kindOfTarget(what: string, cwd: string): "script" | "directory" | "name" {
  try {
    const stats = statSync(resolve(cwd, what));
    // An archive takes a plugin's way, where the refusal says what to do with it.
    return stats.isDirectory() || isArchive(what) ? "directory" : "script";
  } catch {
    if (/^[a-z0-9][a-z0-9-]{0,31}$/.test(what)) return "name";
    throw new UsageError(
      "ERR_USAGE",
      `Cannot run "${what}": there is no such file or directory, and no plugin has such a name`,
    );
  }
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

/** What a command of the command line is. */
import type { Command } from "commander";
import type { Kind, KindTable, NotCapableError } from "../../permissions/mod.ts";
import type { EarlyWorker, OpDefinition } from "../../runtime/mod.ts";
import type { Terminal } from "./terminal.ts";

/** What a command works with. */
export interface CommandContext {
  /** Where it writes. */
  readonly terminal: Terminal;
  /** The working directory, without links. */
  readonly cwd: string;
  /** The environment of the person who typed. */
  readonly environment: Readonly<Record<string, string>>;
  /** The person's home directory. */
  readonly userHome: string;
  /** Kinds of permission beside the built-in ones, as `createHost` takes them. */
  readonly permissions?: readonly Kind[];
  /** Ops beside the built-in ones, as `createHost` takes them. */
  readonly ops?: readonly OpDefinition[];
  /** Names of events beside the built-in ones, as `createHost` takes them. */
  readonly events?: readonly string[];
  /** A worker that was started before the command was known in full. */
  readonly early?: EarlyWorker;
}

/** One verb. */
export interface CliCommand {
  /** Its name. */
  readonly name: string;
  /** Adds arguments, flags, help and an example; `kinds` are the kinds of permission that exist. */
  configure(command: Command, kinds: KindTable): void;
  /** Does it. Gives what `--json` prints as `value`; throws a SallyportError. */
  run(
    context: CommandContext,
    args: readonly string[],
    flags: Readonly<Record<string, unknown>>,
  ): Promise<CommandResult>;
}

/** What a command failed with, beside refusals that its guest had met and lived with before. */
export class CommandFailure extends Error {
  /** For the exit code and the message. */
  readonly error: unknown;
  /** The refusals, without the one that is the error. */
  readonly denials: readonly NotCapableError[];

  /** Carries both. */
  constructor(error: unknown, denials: readonly NotCapableError[]) {
    super("the command failed", { cause: error });
    this.error = error;
    this.denials = denials;
  }
}

/** What a command gives. */
export interface CommandResult {
  /** The JSON value. */
  readonly value: unknown;
  /** Refusals that the guest met and lived with. */
  readonly denials?: readonly unknown[];
  /** Writes the same for a person; not called with `--json`. */
  print(terminal: Terminal): void;
  /** Exit code when it is not 0. */
  readonly exitCode?: number;
}

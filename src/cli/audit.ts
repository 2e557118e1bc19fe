/** `audit`: shows the newest events, or tells whether the log is what was written. */
import { ERRORS, UsageError } from "../../permissions/mod.ts";
import { verifyLocalAudit } from "../audit/local.ts";
import { newestEvents, type WrittenEvent } from "../audit/read.ts";
import type { AuditVerification } from "../audit/verify.ts";
import { display } from "../display.ts";
import { findHome, type Home } from "../home.ts";
import type { CliCommand, CommandContext, CommandResult } from "./command.ts";
import { LOCAL } from "./local.ts";
import type { Terminal } from "./terminal.ts";

const LAST_DEFAULT = 50;
const LAST_MAX = 10_000;

/** The verb. */
export const audit: CliCommand = {
  name: "audit",
  configure(command) {
    command
      .description("Shows what plugins did and were refused, or verifies the log itself")
      .argument("[action]", "verify: finds a line that was edited, removed, moved or cut off")
      .option("--plugin <name>", "only this plugin's events")
      .option("--type <type>", "only events of this type: trust, grant, activate, call, op, limit, crash …")
      .option("--last <count>", "how many of the newest", String(LAST_DEFAULT))
      .addHelpText(
        "after",
        "\nExamples:\n  sallyport audit --plugin notes --last 20\n  sallyport audit verify",
      );
  },
  run(context, [action], flags) {
    const home = homeOf(context);
    if (action === undefined) return Promise.resolve(show(home, flags));
    if (action === "verify") return Promise.resolve(verify(home));
    throw new UsageError(
      "ERR_USAGE",
      `Cannot do "${display(action)}" with the audit: the only action is verify; without one it is shown`,
    );
  },
};

function homeOf({ userHome, cwd, environment }: CommandContext): Home {
  return findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME });
}

function show(home: Home, flags: Readonly<Record<string, unknown>>): CommandResult {
  const last = Number(flags.last);
  if (!Number.isInteger(last) || last < 1 || last > LAST_MAX) {
    throw new UsageError(
      "ERR_USAGE",
      `Cannot show "${display(String(flags.last))}" events: --last is a whole number from 1 to ${LAST_MAX}`,
    );
  }
  const events = [...newestEvents(home.audit, LOCAL)]
    .filter(({ plugin, type }) =>
      (flags.plugin === undefined || plugin === flags.plugin) &&
      (flags.type === undefined ? type !== "segment" : type === flags.type)
    )
    .sort((a, b) => String(a.time) < String(b.time) ? -1 : 1)
    .slice(-last);
  return {
    value: { events },
    print: ({ out }) => {
      for (const event of events) out(lineOf(event));
    },
  };
}

function lineOf({ time, type, plugin, op, kind, value, decision, rule, details }: WrittenEvent): string {
  const facts = [time, type, plugin, op, kind, value, decision, rule]
    .filter((fact) => typeof fact === "string").map((fact) => display(fact as string));
  const more = details === undefined || Object.keys(Object(details)).length === 0
    ? []
    : [display(JSON.stringify(details))];
  return [...facts, ...more].join("  ");
}

function verify(home: Home): CommandResult {
  const found = verifyLocalAudit(home, LOCAL) ?? { segments: 0, lines: 0, problems: [] };
  return {
    value: found,
    print: (terminal) => print(found, terminal),
    ...(found.problems.length === 0 ? {} : { exitCode: ERRORS.ERR_AUDIT_FAILED.exit }),
  };
}

function print({ segments, lines, problems }: AuditVerification, { out }: Terminal): void {
  for (const { segment, line, problem } of problems) {
    out(`${display(segment)}${line === null ? "" : `:${line}`}  ${problem}`);
  }
  const verdict = problems.length === 0
    ? "nothing was changed"
    : `${problems.length} problem${problems.length === 1 ? "" : "s"}`;
  out(`${segments} segments, ${lines} lines: ${verdict}`);
}

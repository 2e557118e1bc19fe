/** `emit`: tells the plugins in force of an event, as an embedder does, and shows what became of it. */
import { ERRORS, UsageError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import type { Emitted } from "../points/emit.ts";
import { eventFacts, HOOK_EVENTS } from "../surfaces/mod.ts";
import type { CliCommand } from "./command.ts";
import { readInput } from "./input.ts";
import {
  LOCAL,
  localDocuments,
  localHost,
  localLoader,
  localPolicy,
  localSecrets,
  localStore,
  noticeUnconfined,
} from "./local.ts";
import { valueLines } from "./review_text.ts";
import { noticeConfinement } from "./run.ts";
import type { Terminal } from "./terminal.ts";

/** The verb. */
export const emit: CliCommand = {
  name: "emit",
  configure(command) {
    command
      .description("Tells an event to the hooks that are in force, and shows what they made of it")
      .argument("<event>", `one of ${HOOK_EVENTS.filter((name) => !eventFacts(name).isTargeted).join(", ")}`)
      .option("--input <json>", "its fields, a JSON object: text, @file, or - for standard input")
      .addHelpText("after", '\nExample:\n  sallyport emit UserPromptSubmit --input \'{"prompt":"hello"}\'');
  },
  async run(context, [name], flags) {
    const fields = readInput(flags.input);
    if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
      throw new UsageError("ERR_USAGE", `Cannot emit "${display(name!)}": its fields are a JSON object`);
    }
    await using host = await localHost(context);
    noticeConfinement(host, context, flags);
    const policy = localPolicy(context, {});
    noticeUnconfined(context, policy, flags);
    const tenant = host.tenant(LOCAL, {
      policy,
      plugins: localLoader(context),
      documents: localDocuments(context),
      store: localStore(context),
      secrets: localSecrets(context),
    });
    const emitted = await tenant.emit({ ...fields, name: name! });
    const isBlocked = emitted.verdict === "block";
    return {
      value: emitted,
      print: (terminal) => print(emitted, terminal),
      ...(isBlocked ? { exitCode: ERRORS.ERR_BLOCKED.exit } : {}),
    };
  },
};

function print({ verdict, by, reason, value, diagnostics }: Emitted, { out, err }: Terminal): void {
  out(verdict);
  if (by !== null) out(`  by           ${display(by)}`);
  if (reason !== null) out(`  because      ${display(reason)}`);
  for (const line of valueLines(value, "  ")) out(line);
  for (const { id, message } of diagnostics) {
    for (const line of `${id}: ${message}`.split("\n")) err(display(line));
  }
}

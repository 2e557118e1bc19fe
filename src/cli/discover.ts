/**
 * `discover`: runs code with what it declares, widened to a ceiling that is named on the line, and prints the smallest
 * `permissions:` block that would have done. Only what is trusted runs (T37).
 */
import { resolve } from "node:path";
import {
  errorToJson,
  exitCodeOf,
  type KindRequestObject,
  type PermissionRequest,
  splitFlag,
  UsageError,
} from "../../permissions/mod.ts";
import { type Discovery, type KindEntry, NEVER_DISCOVERED } from "../discovery.ts";
import { display } from "../display.ts";
import type { Host } from "../host.ts";
import { openPrompt } from "./ask.ts";
import type { CliCommand, CommandContext } from "./command.ts";
import { readInput } from "./input.ts";
import { kindsOf, limitFlags, LOCAL, localHost, localPolicy, localSecrets } from "./local.ts";
import {
  addKindFlags,
  addPermissionFlags,
  kindFlagsOf,
  permissionsOf,
  spellFlags,
} from "./permission_flags.ts";
import { noticeConfinement } from "./run.ts";
import { kindOfTarget } from "./run_target.ts";
import { shownLines, type Terminal } from "./terminal.ts";
import { openTrusted } from "./trusted_target.ts";

type Flags = Readonly<Record<string, unknown>>;

/** The verb. */
export const discover: CliCommand = {
  name: "discover",
  configure(command, kinds) {
    command
      .description(
        "Runs what is trusted under a ceiling, and prints the smallest permissions that would have done",
      )
      .argument("<what>", "a plugin's directory or name, or a script file")
      .argument("[capability]", "full id or name; not needed where there is only one")
      .option("--input <json>", "the input: JSON, @file, or - for standard input")
      .option("--yes", "trust the plugin as it is, for this run only")
      .option(
        "--fingerprint <sha256>",
        "run only what has this fingerprint; needed where there is no terminal",
      )
      .option("--wall-ms <ms>", "how long a call may take (30000)")
      .option("--memory-mb <mb>", "how much memory it may use")
      .addHelpText(
        "after",
        `
A ceiling holds neither run nor secrets, and never Sallyport's own state; every deny stands.

Examples:
  sallyport discover ./web-research web_search --ceiling-net=*:443 --ceiling-read=./web-research
  sallyport discover script.ts --ceiling-read=.`,
      );
    const ceiling = { prefix: "ceiling-", value: "entries", verb: "Allow at most", except: NEVER_DISCOVERED };
    addKindFlags(command, kinds, ceiling);
    addPermissionFlags(command, kinds);
  },
  async run(context, [what, capability], flags) {
    const kind = kindOfTarget(what!, context.cwd);
    if (kind === "script" && (flags.yes === true || capability !== undefined)) {
      const problem = flags.yes === true ? "--yes" : `"${capability}"`;
      throw new UsageError("ERR_USAGE", `Cannot use ${problem} with a script: it is no plugin`);
    }
    refuseUnattended(flags);
    const input = readInput(flags.input);
    await using host = await localHost(context, undefined, { isPassing: flags.yes === true });
    noticeConfinement(host, context, flags);
    const found = kind === "script"
      ? await discoverScript(host, context, what!, input, flags)
      : await discoverPlugin(
        host,
        context,
        { what: what!, isDirectory: kind === "directory", capability },
        input,
        flags,
      );
    const { outcome, refused, request, used, unrequested, unused } = found;
    const error = "error" in outcome ? outcome.error : null;
    const block = blockOf(request);
    return {
      value: {
        permissions: request,
        block,
        used,
        unrequested,
        unused,
        refused: refused.map(({ kind, value, rule, reason, remedy }) => ({
          kind,
          value,
          rule,
          reason,
          remedy,
        })),
        error: error === null ? null : errorToJson(error),
      },
      print: (terminal) => print(found, block, kind === "script", terminal),
      exitCode: error === null ? 0 : exitCodeOf(error),
    };
  },
};

/** Whoever is not there to see what runs says beforehand what it is, by its hash. */
function refuseUnattended({ fingerprint }: Flags): void {
  if (fingerprint !== undefined) return;
  const prompt = openPrompt();
  if (prompt !== null) return prompt.close();
  throw new UsageError(
    "ERR_USAGE",
    "Cannot discover without a terminal: say what may run with --fingerprint sha256:… (`sallyport check` prints a plugin's, `sallyport run --lock` a script's)",
  );
}

function ceilingOf(context: CommandContext, flags: Flags): { permissions: PermissionRequest; cwd: string } {
  const kinds = kindsOf(context);
  const given = Object.entries(kindFlagsOf(flags, kinds, "ceiling-")).map(([kind, texts]) =>
    [kind, texts === true ? true : texts.flatMap((text) => [...splitFlag(kind, text, kinds)])] as const
  );
  if (given.length === 0) {
    throw new UsageError(
      "ERR_USAGE",
      "Cannot discover without a ceiling: name one, such as --ceiling-read=./data",
    );
  }
  return { permissions: Object.fromEntries(given), cwd: context.cwd };
}

async function discoverScript(
  host: Host,
  context: CommandContext,
  file: string,
  input: unknown,
  flags: Flags,
): Promise<Discovery> {
  const { environment = {}, limits = {} } = localPolicy(context, limitFlags(flags));
  const script = host.script(LOCAL, resolve(context.cwd, file), {
    permissions: permissionsOf(flags, kindsOf(context)),
    cwd: context.cwd,
    secrets: localSecrets(context),
    environment,
    limits,
    ...(flags.fingerprint === undefined ? {} : { fingerprint: String(flags.fingerprint) }),
    onLine: ({ text }) => context.terminal.guest(file, text),
  });
  return await script.discover(input, ceilingOf(context, flags));
}

async function discoverPlugin(
  host: Host,
  context: CommandContext,
  target: Parameters<typeof openTrusted>[2],
  input: unknown,
  flags: Flags,
): Promise<Discovery> {
  const ceiling = ceilingOf(context, flags);
  const { tenant, plugin, capability, limits } = await openTrusted(host, context, target, flags, "discover");
  return await tenant.discover(capability.fullId, input, ceiling, {
    onLine: ({ text }) => context.terminal.guest(plugin.name, text),
    ...(limits.wallMs === undefined ? {} : { wallMs: limits.wallMs }),
  });
}

/** As a manifest has it. Every text is quoted as JSON, which YAML reads as well. */
function blockOf(request: PermissionRequest): string {
  const kinds = Object.entries(request);
  if (kinds.length === 0) return "permissions: {}";
  const lines = kinds.flatMap(([kind, given]) => {
    if (given === true) return [`  ${kind}: true`];
    if (Array.isArray(given)) return [`  ${kind}:`, ...entryLines(given, "    ")];
    // The cast holds: what is neither is the long form.
    const { allow, ...more } = given as KindRequestObject;
    const own = Object.entries(more).map(([key, value]) => `    ${key}: ${quoted(value)}`);
    return [
      `  ${kind}:`,
      ...(Array.isArray(allow) ? ["    allow:", ...entryLines(allow, "      ")] : []),
      ...own,
    ];
  });
  return ["permissions:", ...lines].join("\n");
}

function entryLines(entries: readonly unknown[], indent: string): string[] {
  return entries.map((entry) => `${indent}- ${quoted(entry)}`);
}

/** What could move a terminal is written as an escape that YAML reads back. */
function quoted(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu,
    (character) =>
      Array.from(character.split(""), (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
        .join(""),
  );
}

function print(found: Discovery, block: string, isScript: boolean, { out, err }: Terminal): void {
  const { request, unrequested, unused, refused, outcome } = found;
  if (isScript) {
    const flags = Object.entries(request).flatMap(([kind, given]) =>
      spellFlags(kind, { allow: given === true || Array.isArray(given) ? given : true })
    );
    out(flags.length === 0 ? "# it used nothing" : `# ${display(flags.join(" "))}`);
  }
  out(block);
  section("# used, and not asked for", unrequested, out);
  section("# asked for, and not used", unused, out);
  const seen = new Set(
    refused.map(({ kind, value, rule }) => display(`${kind} ${value ?? "everything"}: ${rule}`)),
  );
  if (seen.size > 0) out("# refused all the same");
  for (const line of seen) out(`#   ${line}`);
  if ("error" in outcome) err(`error ${outcome.error.code}: ${shownLines(outcome.error.message)}`);
}

function section(title: string, entries: readonly KindEntry[], out: Terminal["out"]): void {
  if (entries.length > 0) out(title);
  for (const { kind, entry } of entries) out(`#   ${kind} ${entry === true ? "everything" : display(entry)}`);
}

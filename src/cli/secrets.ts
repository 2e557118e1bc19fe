/** `secrets`: sets, lists and removes what the broker places into requests. A value is never an argument, nor printed. */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { isatty } from "node:tty";
import { resolve } from "node:path";
import { UsageError } from "../../permissions/mod.ts";
import { REDACTION_LIMITS } from "../../runtime/mod.ts";
import { display } from "../display.ts";
import type { SecretRow, Secrets } from "../secrets/mod.ts";
import type { Tenant } from "../tenant.ts";
import { openPrompt } from "./ask.ts";
import type { CliCommand, CommandContext, CommandResult } from "./command.ts";
import { LOCAL, localHost, localLoader, localSecrets, localStore } from "./local.ts";
import type { Terminal } from "./terminal.ts";

type Flags = Readonly<Record<string, unknown>>;

/** The verb. */
export const secrets: CliCommand = {
  name: "secrets",
  configure(command) {
    const more = (
      value: string,
      before: unknown,
    ) => [...(Array.isArray(before) ? before as string[] : []), value];
    command
      .description("Sets, lists or removes secrets: where each may go, and for which plugins")
      .argument("<action>", "set, list or remove")
      .argument("[name]", "the secret's name")
      // What is too much may be a value, which the usual message would repeat.
      .allowExcessArguments()
      .hook("preAction", ({ args }) => {
        if (args.length > 2) throw usage("too many arguments; the value is none of them");
      })
      .option("--host <host:port>", "set: where it may go; may be given again", more)
      .option(
        "--plugin <plugin>",
        "set: who may use it, a plugin's directory or name or a script; may be given again",
        more,
      )
      .addHelpText(
        "after",
        `
The value is typed where nobody sees it, or comes from standard input; never as an argument. A host is then
trusted with it.

Examples:
  sallyport secrets set SEARCH_KEY --host api.example.com:443 --plugin ./web-research
  sallyport secrets set SEARCH_KEY --host api.example.com:443 --plugin web-research < key.txt
  sallyport secrets list`,
      );
  },
  async run(context, [action, name], flags) {
    const act = Object.hasOwn(ACTIONS, action!) ? ACTIONS[action!]! : null;
    if (act === null) {
      throw usage(`there is no action "${display(action!)}"; the actions are set, list and remove`);
    }
    if (act.takesName !== (name !== undefined)) {
      throw usage(act.takesName ? `${action} needs the secret's name` : `${action} takes no name`);
    }
    if (action !== "set" && (flags.host !== undefined || flags.plugin !== undefined)) {
      throw usage(`--host and --plugin belong to set`);
    }
    await using host = await localHost(context);
    const tenant = host.tenant(LOCAL, {
      plugins: localLoader(context),
      // Who is trusted now is whom a binding is meant for.
      store: localStore(context),
      secrets: localSecrets(context),
    });
    return await act.run(tenant, name ?? "", context, flags);
  },
};

interface Action {
  readonly takesName: boolean;
  run(tenant: Tenant, name: string, context: CommandContext, flags: Flags): Promise<CommandResult>;
}

const ACTIONS: Readonly<Record<string, Action>> = {
  set: {
    takesName: true,
    async run(tenant, name, context, flags) {
      const hosts = listOf(flags.host);
      if (hosts.length === 0) throw usage("say where it may go with --host HOST:PORT");
      if (listOf(flags.plugin).length === 0) throw usage("say who may use it with --plugin");
      const plugins = await Promise.all(listOf(flags.plugin).map((what) => placeOf(tenant, context, what)));
      await tenant.secrets.set(name, await readValue(name), { hosts, plugins });
      const [row] = (await tenant.secrets.list()).filter((each) => each.name === name);
      return { value: row, print: ({ out }) => out(`Set ${rowText(row!)}`) };
    },
  },
  list: {
    takesName: false,
    async run({ secrets }: { readonly secrets: Secrets }) {
      const rows = await secrets.list();
      return { value: { secrets: rows }, print: (terminal) => printRows(rows, terminal) };
    },
  },
  remove: {
    takesName: true,
    async run({ secrets }: { readonly secrets: Secrets }, name) {
      if (!await secrets.delete(name)) throw usage(`there is no secret "${display(name)}"`);
      return { value: { name }, print: ({ out }) => out(`Removed ${display(name)}`) };
    },
  },
};

/**
 * The real path of a plugin's directory or a script. A bare name would be whatever plugin comes along under it (T13), so
 * it is looked up now, among the project's and the person's own.
 */
async function placeOf(tenant: Tenant, { cwd }: CommandContext, what: string): Promise<string> {
  const row = (await tenant.list()).find(({ name }) => name === what);
  if (row !== undefined) return row.directory;
  const path = resolve(cwd, what);
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return realpathSync(path);
  throw usage(`there is no plugin and no directory "${display(what)}"; name the plugin's directory`);
}

async function readValue(name: string): Promise<string> {
  if (!isatty(0)) return readPiped();
  const prompt = openPrompt();
  if (prompt === null) throw usage("there is no terminal to type the value at; pipe it into standard input");
  try {
    const value = await prompt.askHidden(`Value of ${display(name)} (not shown): `);
    if (value === null) throw usage("no value was typed");
    return value;
  } finally {
    prompt.close();
  }
}

/** One line end belongs to the tool that wrote it. */
function readPiped(): string {
  try {
    const text = readFileSync(0, "utf8").replace(/\r?\n$/, "");
    if (text.length <= REDACTION_LIMITS.secretCharsMax) return text;
  } catch {
    throw usage("the value cannot be read from standard input");
  }
  throw usage(`the value on standard input has more than ${REDACTION_LIMITS.secretCharsMax} characters`);
}

function listOf(flag: unknown): readonly string[] {
  return (flag as readonly string[] | undefined) ?? []; // as `configure` gathers them
}

function printRows(rows: readonly SecretRow[], { out }: Terminal): void {
  if (rows.length === 0) out("No secrets.");
  for (const row of rows) out(rowText(row));
}

function rowText({ name, hosts, plugins }: SecretRow): string {
  return `${name}  to ${hosts.map((host) => display(host)).join(", ")}  for ${
    plugins.map((plugin) => display(plugin)).join(", ")
  }`;
}

function usage(why: string): UsageError {
  return new UsageError("ERR_USAGE", `Cannot do this with secrets: ${why}. See \`sallyport secrets --help\``);
}

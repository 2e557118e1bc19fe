/** `show`: one document of a trusted plugin, or of the project's or the person's own. Runs nothing. */
import { createHash } from "node:crypto";
import { UsageError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import type { Document, ThemeFile } from "../documents/types.ts";
import { fixedLoader } from "../loaders/mod.ts";
import { prompts } from "../surfaces/prompts.ts";
import { themes } from "../surfaces/themes.ts";
import type { Tenant } from "../tenant.ts";
import type { CliCommand, CommandResult } from "./command.ts";
import { LOCAL, localDocuments, localHost, localLoader, localPolicy, localStore } from "./local.ts";
import { valueLines } from "./review_text.ts";
import { directoryOf } from "./target.ts";
import type { Terminal } from "./terminal.ts";

type Flags = Readonly<Record<string, unknown>>;

/** The verb. */
export const show: CliCommand = {
  name: "show",
  configure(command) {
    const each = (value: string, before: readonly string[] = []) => [...before, value];
    command
      .description("Shows a prompt with its arguments, a skill, an agent, a playbook, a pack or a theme")
      .argument("<id>", "full id, or a name that only one has; a file of your own wins its name")
      .argument("[words...]", "what a prompt is given; behind -- where one begins with a dash")
      .option("--arg <name=value>", "an argument of a prompt, by its name; may be repeated", each)
      .option("--surface <surface>", "which one, where several surfaces have the id")
      .option("--in <directory>", "a plugin's directory, when it is not among the project's and your own")
      .option("--raw", "print the text as it is, even on a terminal")
      .addHelpText(
        "after",
        `
Examples:
  sallyport show /web-research:brief --arg topic=bees
  sallyport show web-research/researcher`,
      );
  },
  async run(context, [id = "", ...words], flags) {
    const directory = typeof flags.in === "string" ? directoryOf(context, flags.in) : null;
    if (typeof flags.in === "string" && directory === null) {
      throw new UsageError("ERR_USAGE", `Cannot find "${display(flags.in)}": there is no such directory`);
    }
    await using host = await localHost(context);
    const tenant = host.tenant(LOCAL, {
      policy: localPolicy(context, {}),
      plugins: directory === null ? localLoader(context) : fixedLoader([directory]),
      documents: localDocuments(context),
      store: localStore(context),
    });
    const surface = typeof flags.surface === "string" ? { surface: flags.surface } : {};
    const found = await tenant.documents.read(id, surface);
    if (found.shadows.length > 0 && flags.json !== true) {
      const hidden = found.shadows.map((each) => display(each)).join(", ");
      context.terminal.err(
        `sallyport: "${display(found.name)}" is a file of the ${display(found.root!)}; it hides ${hidden}`,
      );
    }
    if (found.surface === prompts.name) return await showPrompt(tenant, found, words, flags);
    if (words.length > 0 || flags.arg !== undefined) {
      throw new UsageError("ERR_USAGE", `Cannot give arguments to "${display(id)}": it is no prompt`);
    }
    return found.surface === themes.name
      ? await showTheme(tenant, found)
      : showText(found, found.text, flags);
  },
};

async function showPrompt(
  tenant: Tenant,
  found: Document,
  words: readonly string[],
  flags: Flags,
): Promise<CommandResult> {
  const text = await tenant.documents.prompt(found.id, { values: valuesOf(flags), words });
  return showText({ ...found, text }, text, flags);
}

function showText(found: Document, text: string, flags: Flags): CommandResult {
  return {
    value: found,
    print(terminal) {
      styleLines(found, terminal);
      terminal.result(text.endsWith("\n") ? text.slice(0, -1) : text, flags.raw === true);
    },
  };
}

/** What packs say of it is nobody's text but theirs, and goes beside what is shown. */
function styleLines({ style }: Document, { err }: Terminal): void {
  if (style === null) return;
  const { packs, ...said } = style;
  err(`sallyport: ${packs.map((id) => display(id)).join(", ")} would show it as:`);
  for (const line of valueLines(said, "  ")) err(line);
}

async function showTheme(tenant: Tenant, found: Document): Promise<CommandResult> {
  const theme = await tenant.documents.theme(found.id);
  const { title, description, colors } = theme;
  const shown = {
    ...(title === null ? {} : { title }),
    ...(description === null ? {} : { description }),
    colors,
    fonts: mapped(
      theme.fonts,
      ({ family, file }) => ({ family, file: file === null ? null : fileFacts(file) }),
    ),
    images: mapped(theme.images, fileFacts),
  };
  return {
    value: { ...found, theme: shown },
    print: ({ out }) => valueLines(shown, "").forEach((line) => out(line)),
  };
}

/** Bytes are for programs; a person sees which ones they are. */
function fileFacts({ path, type, bytes }: ThemeFile): Readonly<Record<string, unknown>> {
  return { path, type, bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}

function mapped<Value>(
  values: Readonly<Record<string, Value>>,
  make: (value: Value) => unknown,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, make(value)]));
}

function valuesOf({ arg }: Flags): Readonly<Record<string, string>> {
  const given = (arg ?? []) as readonly string[]; // commander gathers them
  return Object.fromEntries(given.map((text) => {
    const at = text.indexOf("=");
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
    throw new UsageError("ERR_USAGE", `Cannot use --arg "${display(text)}": write name=value`);
  }));
}

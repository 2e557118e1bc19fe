/** `link`: a directory that is worked on among the person's own plugins. It follows edits, and inherits no trust. */
import { lstatSync, mkdirSync, realpathSync, symlinkSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { HostError, UsageError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import { findHome } from "../home.ts";
import { loadPlugin } from "../plugin.ts";
import { quoteArgument } from "../quote.ts";
import type { CliCommand } from "./command.ts";
import { kindsOf } from "./local.ts";

/** The verb. */
export const link: CliCommand = {
  name: "link",
  configure(command) {
    command
      .description(
        "Makes a directory one of your own plugins without copying it; edits are seen, trust is asked for anew",
      )
      .argument("<directory>", "a plugin's directory")
      .option("--dry-run", "tell what would be made, and make nothing")
      .addHelpText("after", "\nExample:\n  sallyport link ./web-research");
  },
  run(context, [given], flags) {
    const { userHome, cwd, environment } = context;
    const { root } = findHome({ userHome, cwd, fromEnvironment: environment.SALLYPORT_HOME });
    const { name, source: { directory } } = loadPlugin(
      { directory: resolve(cwd, given!), origin: "link" },
      kindsOf(context),
      context.events,
    );
    const place = join(root, "plugins", name);
    refuseTaken(place, directory);
    const isDry = flags.dryRun === true;
    if (!isDry) make(place, directory);
    return Promise.resolve({
      value: { plugin: name, link: place, directory, made: !isDry },
      print({ out }) {
        out(`${isDry ? "would make" : "made"} ${display(place)} (link to ${display(directory)})`);
        if (!isDry) out(`Next: sallyport trust ${quoteArgument(name)}`);
      },
    });
  },
};

/** What is there is never replaced, whatever it is. */
function refuseTaken(place: string, directory: string): void {
  if (lstatSync(place, { throwIfNoEntry: false }) === undefined) return;
  const isSame = lstatSync(place).isSymbolicLink() && leadsTo(place, directory);
  throw new UsageError(
    "ERR_USAGE",
    `Cannot link "${directory}": "${place}" ${
      isSame ? "leads there already" : "is there already. Remove it first"
    }`,
    { details: { place, directory } },
  );
}

function leadsTo(place: string, directory: string): boolean {
  try {
    return realpathSync.native(place) === directory;
  } catch {
    return false;
  }
}

function make(place: string, directory: string): void {
  try {
    mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
    symlinkSync(directory, place, "dir");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HostError("ERR_STORE", `Cannot make the link "${basename(place)}": ${why}`, { cause });
  }
}

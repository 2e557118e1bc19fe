/** `init`: a plugin to start from, which `check` accepts and `run --yes` runs. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { HostError, UsageError } from "../../permissions/mod.ts";
import { didYouMean } from "../did_you_mean.ts";
import { display } from "../display.ts";
import { quoteArgument } from "../quote.ts";
import type { CliCommand } from "./command.ts";
import { TEMPLATES } from "./templates/mod.ts";
import type { Template } from "./templates/template.ts";

/** The verb. */
export const init: CliCommand = {
  name: "init",
  configure(command) {
    command
      .description("Makes a plugin to start from; never overwrites a file")
      .argument("<directory>", "where it is made")
      .option("--name <name>", "its name, if the directory's will not do")
      .option("--template <what>", `what it offers: ${Object.keys(TEMPLATES).join(", ")}`, "tool")
      .addHelpText(
        "after",
        `\nTemplates:\n${
          Object.entries(TEMPLATES).map(([name, { doc }]) => `  ${name.padEnd(10)}${doc}`).join("\n")
        }\n\nExamples:\n  sallyport init ./greeter\n  sallyport init ./desk --template panel`,
      );
  },
  run({ cwd }, [given], flags) {
    const directory = resolve(cwd, given!);
    const name = String(flags.name ?? basename(directory));
    if (!/^[a-z0-9][a-z0-9-]{0,31}$/.test(name)) {
      throw new UsageError(
        "ERR_USAGE",
        `Cannot name a plugin "${name}": a name is 1 to 32 lower-case letters, digits and dashes. Give one with --name`,
      );
    }
    const template = templateOf(String(flags.template));
    const files = Object.entries(template.files(name));
    const taken = files.find(([path]) => existsSync(join(directory, path)));
    if (taken !== undefined) {
      throw new UsageError(
        "ERR_USAGE",
        `Cannot make a plugin in "${directory}": "${taken[0]}" is there already. Choose another directory`,
        { details: { directory, file: taken[0] } },
      );
    }
    for (const [path, text] of files) write(join(directory, path), text);
    const where = quoteArgument(given!);
    return Promise.resolve({
      value: { plugin: name, directory, files: files.map(([path]) => path) },
      print({ out }) {
        for (const [path] of files) out(`made ${display(join(given!, path))}`);
        out(`Next: sallyport check ${where}`);
        for (const line of template.tryIt(where, name)) out(`      sallyport ${line}`);
        out(`      its own test, with sallyport installed there: cd ${where} && npm install && npm test`);
      },
    });
  },
};

function templateOf(name: string): Template {
  if (Object.hasOwn(TEMPLATES, name)) return TEMPLATES[name]!;
  const names = Object.keys(TEMPLATES);
  const meant = didYouMean(name, names);
  throw new UsageError(
    "ERR_USAGE",
    `Cannot make a plugin from template "${name}": there are ${names.join(", ")}${
      meant === null ? "" : `. Did you mean "${meant}"?`
    }`,
  );
}

function write(path: string, text: string): void {
  try {
    makeDirectory(dirname(path));
    writeFileSync(path, text, { flag: "wx" });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HostError("ERR_STORE", `Cannot write "${path}": ${why}`, { cause });
  }
}

/** Folder by folder: Node's recursive way never ends where the system says that a folder of /proc is not there. */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  makeDirectory(dirname(path));
  mkdirSync(path);
}

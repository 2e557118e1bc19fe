/** `init`: a plugin to start from, which `check` accepts and `run --yes` runs. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { HostError, UsageError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import { quoteArgument } from "../quote.ts";
import type { CliCommand } from "./command.ts";

/** The verb. */
export const init: CliCommand = {
  name: "init",
  configure(command) {
    command
      .description("Makes a plugin to start from; never overwrites a file")
      .argument("<directory>", "where it is made")
      .option("--name <name>", "its name, if the directory's will not do")
      .addHelpText("after", "\nExample:\n  sallyport init ./greeter");
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
    const files = Object.entries(starter(name));
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
        out(`      sallyport run ${where} --yes --input '{"name":"you"}'`);
      },
    });
  },
};

function starter(name: string): Readonly<Record<string, string>> {
  return {
    "plugin.yaml": `name: "${name}"
version: "0.1.0"
description: Greets people
# What it may do is asked for here, such as net: ["api.example.com:443"]. This one asks for nothing.
capabilities:
  tools:
    - name: greet
      target: tools/greet.ts:greet
      description: Greets somebody by name
      input:
        type: object
        properties:
          name: { type: string }
        required: [name]
`,
    "tools/greet.ts": `import type { ToolContext } from "sallyport/plugin";

interface Input {
  readonly name: string;
}

/** Greets somebody by name. */
export function greet({ name }: Input, _context: ToolContext) {
  return { greeting: \`Hello, \${name}!\` };
}
`,
  };
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

/** Plugins that call one another. */
import { join } from "node:path";
import { temporary, write } from "./support.ts";

/** A tool of a plugin that calls, or is called. */
export interface Tool {
  /** What it does. */
  readonly code: string;
  /** YAML of further keys of its entry, in flow style. */
  readonly more?: string;
}

/** A plugin whose tools are functions of `input` and `context`. */
export function plugin(name: string, permissions: string, tools: Readonly<Record<string, Tool>>): string {
  const directory = join(temporary(), name);
  const entries = Object.entries(tools).map(([tool, { more = "" }]) =>
    `    - { name: ${tool}, target: "${tool}.ts:${tool}"${more === "" ? "" : `, ${more}`} }\n`
  );
  write(directory, {
    "plugin.yaml": `name: ${name}\nversion: "1"\npermissions: ${permissions}\ncapabilities:\n  tools:\n${
      entries.join("")
    }`,
    ...Object.fromEntries(
      Object.entries(tools).map(([tool, { code }]) => [
        `${tool}.ts`,
        `export const ${tool} = async (input: any, context: any) => { ${code} };\n`,
      ]),
    ),
  });
  return directory;
}

/** Calls what its input names, and tells what came of it. */
export const RELAY =
  `try { return { value: await context.call(input.id, input.input) }; } catch ({ name, code, message }) { return { name, code, message }; }`;

/** `diff`: what became of a plugin since it was trusted, and what of it asks for more. Runs nothing. */
import { permissionText, type PinDiff, type PluginDiff } from "../diff.ts";
import type { ValueChange } from "../diff_values.ts";
import { display } from "../display.ts";
import { quoteArgument } from "../quote.ts";
import type { CliCommand } from "./command.ts";
import { localHost } from "./local.ts";
import { argvChanges, section } from "./review_text.ts";
import { openPlugin } from "./target.ts";
import type { Terminal } from "./terminal.ts";

/** The verb. */
export const diff: CliCommand = {
  name: "diff",
  configure(command) {
    command
      .description("Shows what changed in a plugin since you trusted it; runs none of its code")
      .argument("<what>", "a plugin's directory or name")
      .addHelpText("after", "\nExample:\n  sallyport diff ./web-research");
  },
  async run(context, [what]) {
    await using host = await localHost(context);
    const { tenant, name } = await openPlugin(host, context, what!);
    const found = await tenant.diff(name);
    return { value: found, print: (terminal) => print(found, what!, terminal) };
  },
};

function print(found: PluginDiff, what: string, { out }: Terminal): void {
  const { name, isChanged, trusted, approver, found: hash, problem } = found;
  if (!isChanged) {
    out(`"${display(name)}" is as ${display(approver)} trusted it: ${trusted}`);
    return;
  }
  out(`"${display(name)}" is not as ${display(approver)} trusted it`);
  out(`  trusted      ${trusted}`);
  out(`  found        ${hash ?? "no fingerprint can be made"}`);
  if (problem !== null) { for (const line of problem.split("\n")) out(`  because      ${display(line)}`); }
  for (const line of diffLines(found)) out(line);
  out("");
  out(`If you agree: sallyport trust ${quoteArgument(what)}`);
}

/** All differences but the fingerprints, a line each. */
export function diffLines(found: PinDiff): string[] {
  const parts = {
    "Escalations: it asks for more than was approved": found.escalations.map(({ what: kind, detail }) =>
      `! ${kind}  ${display(detail)}`
    ),
    "Permissions": found.permissions.map((each) =>
      `${each.change === "gained" ? "+" : "-"} ${display(permissionText(each))}`
    ),
    "Commands of hooks": argvChanges(found.argv),
    "Capabilities": found.capabilities.map(({ id, change }) => `${SIGNS[change]} ${display(id)}`),
    "npm packages": found.packages.map(({ path, change, before, after }) => {
      const versions = [before, after].filter((version) => version !== null).map((version) =>
        display(version)
      );
      return `${SIGNS[change]} ${display(path)}  ${[...new Set(versions)].join(" → ")}`.trimEnd();
    }),
    "Files": found.files.map(({ path, change }) => `${SIGNS[change]} ${display(path)}`),
    "Imports": found.imports.map(({ importer, specifier, path, change }) =>
      `${SIGNS[change]} ${display(importer)} imports "${display(specifier)}"${
        path === null ? ", which is not there" : ` from ${display(path)}`
      }`
    ),
    "The manifest": found.manifest.flatMap(valueLines),
  };
  return Object.entries(parts).flatMap(([title, lines]) => lines.length === 0 ? [] : section(title, lines));
}

const SIGNS = { added: "+", removed: "-", changed: "~" } as const;

function valueLines({ path, before, after }: ValueChange): string[] {
  return [
    ...(before === undefined ? [] : [`- ${display(path)}: ${display(JSON.stringify(before))}`]),
    ...(after === undefined ? [] : [`+ ${display(path)}: ${display(JSON.stringify(after))}`]),
  ];
}

/** `plan`: what would be offered, what would collide and what would break. Changes nothing, and is never a failure. */
import { resolve } from "node:path";
import { display } from "../display.ts";
import type { Plan, PlannedCapability } from "../plan.ts";
import { deadMatcherText } from "../points/dead_matchers.ts";
import { annotationText } from "./annotation_text.ts";
import type { CliCommand } from "./command.ts";
import { LOCAL, localDocuments, localHost, localLoader, localPolicy, localStore } from "./local.ts";
import { section, valueLines } from "./review_text.ts";
import { stationLines } from "./station_lines.ts";
import type { Terminal } from "./terminal.ts";

/** The verb. */
export const plan: CliCommand = {
  name: "plan",
  configure(command) {
    const each = (value: string, before: readonly string[] = []) => [...before, value];
    command
      .description("Shows what would be offered, what would collide and what would break; changes nothing")
      .option("--enable <name>", "as if this plugin were trusted, enabled and exposed; may be repeated", each)
      .option("--disable <name>", "as if this plugin were disabled; may be repeated", each)
      .option("--trust <directory>", "as if the plugin there were trusted and exposed; may be repeated", each)
      .addHelpText("after", "\nExample:\n  sallyport plan --enable web-research --disable notes");
  },
  async run(context, _args, flags) {
    await using host = await localHost(context);
    const tenant = host.tenant(LOCAL, {
      policy: localPolicy(context, {}),
      plugins: localLoader(context),
      documents: localDocuments(context),
      store: localStore(context),
    });
    const list = (name: string): readonly string[] => (flags[name] ?? []) as readonly string[]; // commander gathers them
    const found = await tenant.plan({
      enable: list("enable"),
      disable: list("disable"),
      trust: list("trust").map((directory) => resolve(context.cwd, directory)),
    });
    return { value: found, print: (terminal) => print(found, terminal) };
  },
};

function print(found: Plan, { out }: Terminal): void {
  if (found.plugins.length === 0) out("No plugins.");
  for (const { name, directory, before, after, reason } of found.plugins) {
    out(
      `${display(name)}  ${before === after ? after : `${before ?? "not there"} → ${after}`}  ${
        display(directory)
      }`,
    );
    if (reason !== null) { for (const line of reason.split("\n")) out(`    ${display(line)}`); }
  }
  const would = found.capabilities.filter(({ after }) => after);
  const not = found.capabilities.filter(({ after }) => !after);
  const parts = {
    "Would be offered": would.flatMap((each) => capabilityLines(each, each.before ? " " : "+")),
    "Would not be offered": not.flatMap((each) => capabilityLines(each, each.before ? "-" : " ")),
    "Would be refused": found.refused.flatMap(({ message }) =>
      message.split("\n").map((line) => display(line))
    ),
    "Names that collide": found.collisions.map(({ message }) => message),
    "Exposures that lie dormant": found.dormant.map(({ id, reason }) =>
      `${display(id)}  (${display(reason)})`
    ),
    "Asked for and not granted": found.cut.map(({ plugin, kind, entry, by }) =>
      `${display(plugin)}  ${kind} ${entry === true ? "everything" : display(entry)}  (by the ${by})`
    ),
    "Matchers that match nothing": found.unmatched.map(deadMatcherText),
    "Could not run": found.broken.flatMap(({ plugin, message }) => [
      display(plugin),
      ...message.split("\n").map((line) => `  ${display(line)}`),
    ]),
  };
  for (const [title, lines] of Object.entries(parts)) {
    if (lines.length > 0) { for (const line of section(title, lines)) out(line); }
  }
}

function capabilityLines(
  { id, description, input, live, annotations, stations }: PlannedCapability,
  sign: string,
): string[] {
  const said = annotationText(annotations);
  return [
    `${sign} ${display(id)}${live ? "" : "  (not live yet)"}`,
    ...(description === null ? [] : [`    ${display(description)}`]),
    ...(said === null ? [] : [`    says of itself: ${said}`]),
    ...stationLines(stations).map((line) => `    ${line}`),
    ...(input === null ? [] : ["    input:", ...valueLines(input, "      ")]),
  ];
}

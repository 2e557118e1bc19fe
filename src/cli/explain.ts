/** `explain`: what would be decided about a use, and the one rule that decides. Runs nothing, and succeeds either way. */
import { resolve } from "node:path";
import { type Decision, denied, type Requirement, UsageError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import type { Explanation } from "../explain.ts";
import type { CliCommand, CommandContext } from "./command.ts";
import { kindsOf, LOCAL, localHost, localPolicy } from "./local.ts";
import { addKindFlags, addPermissionFlags, kindFlagsOf, permissionsOf } from "./permission_flags.ts";
import { kindOfTarget } from "./run_target.ts";
import { openPlugin } from "./target.ts";
import type { Terminal } from "./terminal.ts";

interface Explained {
  /** Who would use it, as messages call it. */
  readonly who: string;
  /** Whether it is what would be decided once the plugin is trusted. */
  readonly isAfterTrust: boolean;
  readonly decision: Decision;
  /** By whom it may be reached where it is denied. */
  readonly through: Explanation["through"];
}

/** The verb. */
export const explain: CliCommand = {
  name: "explain",
  configure(command, kinds) {
    command
      .description("Says what would be decided about one use, and by which rule; runs nothing")
      .argument("<what>", "a plugin's directory or name, or a script file")
      .argument("[capability]", "full id or name, where a capability has permissions of its own")
      .addHelpText(
        "after",
        `
A relative path starts where the code's own paths start: at the plugin's directory, or at yours for a script.
--allow-* and --deny-* count as they do for \`run\`.

Examples:
  sallyport explain ./web-research --net=api.example.com:443
  sallyport explain script.ts --read=./data --allow-read=./data`,
      );
    addKindFlags(command, kinds, { prefix: "", value: "value", verb: "Ask about", except: new Set() });
    addPermissionFlags(command, kinds);
  },
  async run(context, [what, capability], flags) {
    const requirement = requirementOf(flags, context);
    const explained = await explainTarget(context, what!, capability, requirement, flags);
    const { decision, isAfterTrust, through } = explained;
    const { state, kind, value, asked, rule, reason, remedy, layer } = decision;
    return {
      value: {
        what: explained.who,
        state,
        kind,
        value,
        asked,
        rule,
        reason,
        remedy,
        layer,
        after_trust: isAfterTrust,
        through,
      },
      print: (terminal) => print(explained, terminal),
    };
  },
};

async function explainTarget(
  context: CommandContext,
  what: string,
  capability: string | undefined,
  requirement: Requirement,
  flags: Readonly<Record<string, unknown>>,
): Promise<Explained> {
  const permissions = permissionsOf(flags, kindsOf(context));
  await using host = await localHost(context);
  if (kindOfTarget(what, context.cwd) !== "script") {
    const narrowing = { permissions, cwd: context.cwd };
    const { tenant, name } = await openPlugin(host, context, what, { narrowing });
    return { who: `Plugin "${name}"`, ...await tenant.explain(name, requirement, capability) };
  }
  if (capability !== undefined) {
    throw new UsageError(
      "ERR_USAGE",
      `Cannot use "${capability}" with script "${what}": it has no capabilities`,
    );
  }
  const { environment = {} } = localPolicy(context, {});
  const script = host.script(LOCAL, resolve(context.cwd, what), {
    permissions,
    cwd: context.cwd,
    environment,
    limits: {},
  });
  return { who: `Script "${what}"`, isAfterTrust: false, decision: script.explain(requirement), through: [] };
}

function requirementOf(flags: Readonly<Record<string, unknown>>, context: CommandContext): Requirement {
  const asked = Object.entries(kindFlagsOf(flags, kindsOf(context), "")).flatMap((
    [kind, given],
  ): Requirement[] => given === true ? [{ kind, value: null }] : given.map((value) => ({ kind, value })));
  const [only, ...others] = asked;
  if (only !== undefined && others.length === 0) return only;
  throw new UsageError(
    "ERR_USAGE",
    `Cannot explain ${
      asked.length === 0 ? "nothing" : `${asked.length} uses at once`
    }: name one, such as --read=./data`,
  );
}

function print({ who, isAfterTrust, decision, through }: Explained, { out }: Terminal): void {
  const { state, kind, value, rule, remedy, layer } = decision;
  const subject = state === "granted"
    ? `${who} may ${decision.phrase ?? `use ${kind}`}`
    : denied(decision, who).message.slice(0, -(remedy.length + 1));
  out(display(subject));
  out(
    `  decision     ${state}${
      isAfterTrust ? "  (if it were trusted as it is, with all that it asks for)" : ""
    }`,
  );
  out(`  value        ${value === null ? `all of ${kind}` : display(value)}`);
  out(`  rule         ${display(rule)}`);
  if (layer !== "none") out(`  decided by   ${layer}`);
  if (remedy !== "") out(`  remedy       ${display(remedy)}`);
  for (const { plugin, chain } of through) {
    const by = chain.map((id) => display(id)).join(" → ");
    out(`  through call: plugin ${display(plugin)} may, and may be called for it by ${by}`);
  }
}

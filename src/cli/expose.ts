/** `expose` and `hide`: which capabilities of trusted plugins may be called. */
import type { Command } from "commander";
import { UsageError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import { fixedLoader } from "../loaders/mod.ts";
import type { Tenant } from "../tenant.ts";
import type { CliCommand, CommandContext } from "./command.ts";
import { LOCAL, localHost, localLoader, localPolicy, localStore } from "./local.ts";
import { directoryOf } from "./target.ts";

/** Offers capabilities. */
export const expose: CliCommand = {
  name: "expose",
  configure: (command) => takeIds(command, "Lets capabilities of a trusted plugin be called"),
  run: (context, ids, flags) => change(context, ids, flags, "exposed", (tenant) => tenant.expose(ids)),
};

/** Offers them no more. */
export const hide: CliCommand = {
  name: "hide",
  configure: (command) => takeIds(command, "Lets capabilities of a plugin be called no more"),
  run: (context, ids, flags) => change(context, ids, flags, "hidden", (tenant) => tenant.hide(ids)),
};

function takeIds(command: Command, description: string): void {
  command
    .description(description)
    .argument("<ids...>", "full ids, or names that only one plugin has")
    .option("--in <directory>", "a plugin's directory, when it is not among the project's and your own")
    .addHelpText("after", `\nExample:\n  sallyport ${command.name()} plugin__web-research__web_search`);
}

async function change(
  context: CommandContext,
  ids: readonly string[],
  flags: Readonly<Record<string, unknown>>,
  done: "exposed" | "hidden",
  act: (tenant: Tenant) => Promise<void>,
): ReturnType<CliCommand["run"]> {
  const directory = typeof flags.in === "string" ? directoryOf(context, flags.in) : null;
  if (typeof flags.in === "string" && directory === null) {
    throw new UsageError("ERR_USAGE", `Cannot find "${display(flags.in)}": there is no such directory`);
  }
  await using host = await localHost(context);
  const plugins = directory === null ? localLoader(context) : fixedLoader([directory]);
  const tenant = host.tenant(LOCAL, {
    policy: localPolicy(context, {}),
    plugins,
    store: localStore(context),
  });
  await act(tenant);
  const capabilities = (await tenant.list()).flatMap((row) => row.capabilities);
  const now = capabilities.filter(({ exposed }) => exposed).map(({ id }) => id);
  return {
    value: { [done]: ids, now },
    print: ({ out }) => {
      out(`${done}: ${ids.map((id) => display(id)).join(", ")}`);
      out(
        now.length === 0
          ? "nothing may be called"
          : `may be called: ${now.map((id) => display(id)).join(", ")}`,
      );
    },
  };
}

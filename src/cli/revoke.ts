/** `revoke`: the emergency stop, for everything or for bytes that nobody may run again. */
import { UsageError } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import type { CliCommand } from "./command.ts";
import { LOCAL, localHost, localStore } from "./local.ts";

/** The verb. */
export const revoke: CliCommand = {
  name: "revoke",
  configure(command) {
    command
      .description("Emergency stop: takes back all trust, or blocks bytes whoever trusts them")
      .option("--all", "every plugin must be trusted anew")
      .option(
        "--fingerprint <sha256:…>",
        "these bytes never run again, until the settings' `blocked:` says otherwise",
      )
      .addHelpText(
        "after",
        `
What runs elsewhere with the same settings ends within two seconds. For one plugin, use untrust.

Examples:
  sallyport revoke --all
  sallyport revoke --fingerprint sha256:…`,
      );
  },
  async run(context, _args, flags) {
    const { all, fingerprint } = flags;
    if ((all === true) === (typeof fingerprint === "string")) {
      throw new UsageError(
        "ERR_USAGE",
        "Cannot tell what to revoke: give --all or --fingerprint, one of them",
      );
    }
    await using host = await localHost(context);
    const tenant = host.tenant(LOCAL, { plugins: [], store: localStore(context) });
    const keys = await tenant.revoke(all === true ? { all } : { fingerprint: String(fingerprint) });
    const revoked = keys.map(({ name, directory }) => ({ plugin: name, directory }));
    return {
      value: all === true ? { revoked } : { blocked: fingerprint },
      print: ({ out }) => {
        if (all !== true) return out(`${display(String(fingerprint))} is blocked`);
        for (const { plugin, directory } of revoked) {
          out(`"${display(plugin)}" in ${display(directory)} is no longer trusted`);
        }
        if (revoked.length === 0) out("Nothing was trusted");
      },
    };
  },
};

/** `trust`: shows all of a plugin, asks, and remembers the very bytes that were shown. */
import { userInfo } from "node:os";
import { TrustError, UsageError } from "../../permissions/mod.ts";
import { lookAgain } from "../plugin_state.ts";
import { quoteArgument } from "../quote.ts";
import type { GrantPreview, PluginReview } from "../review.ts";
import type { RequestedSecret } from "../secrets/mod.ts";
import { openPrompt, type Prompt } from "./ask.ts";
import type { CliCommand, CommandResult } from "./command.ts";
import { kindsOf, localHost, localIndex } from "./local.ts";
import { addPermissionFlags, type FlagRequest, permissionsOf, spellFlags } from "./permission_flags.ts";
import { questionLines, reviewLines } from "./review_text.ts";
import { openPlugin } from "./target.ts";

type Flags = Readonly<Record<string, unknown>>;

/** A review with how its secrets stand, which is no part of what is approved. */
type Shown = PluginReview & { readonly secrets: readonly RequestedSecret[] };

/** The verb. */
export const trust: CliCommand = {
  name: "trust",
  configure(command, kinds) {
    command
      .description("Shows all of a plugin, asks, and remembers that you trust exactly these bytes")
      .argument("<what>", "a plugin's directory or name")
      .option("--yes", "do not ask; needs --fingerprint")
      .option("--fingerprint <sha256>", "trust only what has this fingerprint")
      .option("--expose <which>", "what may then be called: all of it, or none", "all")
      .addHelpText(
        "after",
        `
Examples:
  sallyport trust ./web-research --deny-net=api.example.com:443
  sallyport trust ./web-research --yes --fingerprint sha256:…`,
      );
    addPermissionFlags(command, kinds);
  },
  async run(context, [what], flags) {
    const expose = exposeFlag(flags);
    await using host = await localHost(context);
    const { tenant, name } = await openPlugin(host, context, what!, { index: localIndex(context) });
    const review = await tenant.review(name);
    const permissions = permissionsOf(flags, kindsOf(context));
    const narrowing = { permissions, cwd: context.cwd };
    const grants = review.grants(narrowing);
    refuseOther(review, flags);
    const secrets = await tenant.requestedSecrets(name);
    const isShown = await decide({ ...review, secrets }, grants, what!, flags, permissions);
    const exposed = expose === "none" ? [] : review.capabilities.map(({ id }) => id);
    await review.approve({ approver: userName(), flags: narrowing, expose: exposed });
    return resultOf({ ...review, secrets }, grants, exposed, isShown);
  },
};

/** Asks where somebody is there to answer. Gives whether all was shown already; throws where it is not trusted. */
async function decide(
  review: Shown,
  grants: GrantPreview,
  what: string,
  flags: Flags,
  permissions: FlagRequest,
): Promise<boolean> {
  if (flags.yes === true) {
    if (flags.fingerprint !== undefined) return false;
    throw needsFingerprint(
      "Cannot use --yes alone: it would trust a name, not what is there",
      review,
      what,
      flags,
      permissions,
    );
  }
  const prompt = openPrompt();
  if (prompt === null) {
    throw needsFingerprint("Cannot ask: there is no terminal", review, what, flags, permissions);
  }
  try {
    if (await isAgreed(prompt, review, grants)) return true;
  } finally {
    prompt.close();
  }
  throw new TrustError(
    "ERR_TRUST_UNKNOWN",
    `Plugin "${review.name}" is not trusted: you did not agree to it`,
    {
      details: { plugin: review.name, directory: review.directory },
    },
  );
}

/** What is grave wants the plugin's name typed, so that no habit answers it (T16). */
export async function isAgreed(prompt: Prompt, review: Shown, grants: GrantPreview): Promise<boolean> {
  prompt.show(reviewLines(review, grants, review.secrets));
  prompt.show(questionLines(review, grants));
  if (grants.grave.length > 0) {
    return await prompt.ask("Type the plugin's name to trust it, anything else to leave it: ") ===
      review.name;
  }
  const answer = await prompt.ask("Type y to trust it, anything else to leave it: ");
  return answer !== null && /^y(es)?$/i.test(answer.trim());
}

function refuseOther({ name, directory, fingerprint: { hash } }: PluginReview, flags: Flags): void {
  if (flags.fingerprint === undefined || flags.fingerprint === hash) return;
  throw new TrustError(
    "ERR_TRUST_CHANGED",
    `Cannot trust plugin "${name}": its fingerprint is ${hash}, not ${String(flags.fingerprint)}. ${
      lookAgain(directory)
    }`,
    { details: { plugin: name, found: hash, approved: String(flags.fingerprint) } },
  );
}

function needsFingerprint(
  why: string,
  review: Shown,
  what: string,
  flags: Flags,
  permissions: FlagRequest,
): UsageError {
  const command = [
    "sallyport trust",
    quoteArgument(what),
    `--yes --fingerprint ${review.fingerprint.hash}`,
    ...Object.keys(permissions).flatMap((kind) => spellFlags(kind, permissions[kind] ?? {})),
    ...(flags.expose === "none" ? ["--expose none"] : []),
    ...(flags.json === true ? ["--json"] : []),
  ].join(" ");
  return new UsageError(
    "ERR_USAGE",
    `${why}. Look at it with \`sallyport check ${
      quoteArgument(what)
    }\`; to trust what is there now:\n  ${command}`,
    { details: { plugin: review.name, directory: review.directory, command } },
  );
}

function exposeFlag({ expose }: Flags): "all" | "none" {
  if (expose === "all" || expose === "none") return expose;
  throw new UsageError("ERR_USAGE", `Cannot use --expose "${String(expose)}": it is all or none`);
}

function resultOf(
  review: Shown,
  grants: GrantPreview,
  exposed: readonly string[],
  isShown: boolean,
): CommandResult {
  const { name, directory, fingerprint, manifest, capabilities, files, packages, trees, permissions } =
    review;
  return {
    value: {
      plugin: name,
      directory,
      fingerprint: fingerprint.hash,
      manifest,
      capabilities,
      files,
      packages,
      trees,
      permissions,
      grants: grants.request,
      grave: grants.grave,
      secrets: review.secrets,
      exposed,
    },
    print({ out }) {
      if (!isShown) {
        const lines = reviewLines(review, grants, review.secrets);
        for (const line of [...lines, ...questionLines(review, grants)]) out(line);
      }
      out(`Trusted "${name}" ${fingerprint.hash}`);
    },
  };
}

/** Who is at the keyboard, for the record. */
export function userName(): string {
  try {
    return userInfo().username || "local";
  } catch {
    return "local"; // a user without a name, as containers have them
  }
}

/** `trust`: shows all of a plugin, asks, and remembers the very bytes that were shown. */
import { userInfo } from "node:os";
import { TrustError, UsageError } from "../../permissions/mod.ts";
import { lookAgain } from "../plugin_state.ts";
import { quoteArgument } from "../quote.ts";
import type { FormerTrust, GrantPreview, PluginReview } from "../review.ts";
import { openPrompt, type Prompt } from "./ask.ts";
import type { CliCommand, CommandResult } from "./command.ts";
import { kindsOf, localHost, localIndex } from "./local.ts";
import { addPermissionFlags, type FlagRequest, permissionsOf, spellFlags } from "./permission_flags.ts";
import { argvLines, questionLines, type ReviewedAround, reviewLines } from "./review_text.ts";
import { openPlugin } from "./target.ts";

type Flags = Readonly<Record<string, unknown>>;

/** A review with how things stand around the plugin. */
type Shown = PluginReview & ReviewedAround;

/** The verb. */
export const trust: CliCommand = {
  name: "trust",
  configure(command, kinds) {
    command
      .description("Shows all of a plugin, asks, and remembers that you trust exactly these bytes")
      .argument("<what>", "a plugin's directory or name")
      .option("--yes", "do not ask; needs --fingerprint")
      .option("--fingerprint <sha256>", "trust only what has this fingerprint")
      .option("--full", "show what documents say as well")
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
    refuseOther(review, flags);
    const secrets = await tenant.requestedSecrets(name);
    const former = hooksAlone(review, flags, permissions);
    const grants = former?.grants ?? review.grants(narrowing);
    const through = await tenant.throughCalls(name, grants.request);
    const shown: Shown = { ...review, secrets, through };
    const isShown = await decide(shown, grants, what!, flags, permissions);
    const offered = former?.exposed ?? review.capabilities.map(({ id }) => id);
    const exposed = expose === "none" ? [] : offered;
    const granted = former === null ? { flags: narrowing } : { grants: former.grants.request };
    await review.approve({ approver: userName(), ...granted, expose: exposed });
    return resultOf(shown, grants, exposed, { isShown, isFull: flags.full === true });
  },
};

/**
 * What was trusted before, where only the commands of hooks differ from it and nothing on the line asks for anything else:
 * they alone are asked about then, and what was granted and exposed stays (T26).
 */
function hooksAlone(
  { former }: PluginReview,
  { yes }: Flags,
  permissions: FlagRequest,
): FormerTrust | null {
  return yes !== true && former?.diff.isArgvAlone === true && Object.keys(permissions).length === 0
    ? former
    : null;
}

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
    const isAlone = hooksAlone(review, flags, permissions) !== null;
    prompt.show(
      isAlone ? argvLines(review.former!) : reviewLines(review, grants, review, flags.full === true),
    );
    if (await answered(prompt, review, grants)) return true;
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
  prompt.show(reviewLines(review, grants, review));
  return await answered(prompt, review, grants);
}

async function answered(prompt: Prompt, review: Shown, grants: GrantPreview): Promise<boolean> {
  prompt.show(questionLines(review, grants, review.through));
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

/** What documents say, by path. */
function textsOf({ files, textOf }: Shown): Readonly<Record<string, string>> {
  return Object.fromEntries(files.flatMap(({ path }) => {
    const text = textOf(path);
    return text === null ? [] : [[path, text]];
  }));
}

function resultOf(
  review: Shown,
  grants: GrantPreview,
  exposed: readonly string[],
  { isShown, isFull }: { readonly isShown: boolean; readonly isFull: boolean },
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
      through: review.through,
      exposed,
      ...(isFull ? { texts: textsOf(review) } : {}),
    },
    print({ out }) {
      if (!isShown) {
        const lines = reviewLines(review, grants, review, isFull);
        for (const line of [...lines, ...questionLines(review, grants, review.through)]) out(line);
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

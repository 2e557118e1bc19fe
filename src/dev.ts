/**
 * A plugin under its author's hand (T37). It is approved once, for this process alone; later edits run under at most what was
 * granted then, and whatever asks for more, or brings code of others, is asked about again. What was good last is served from
 * memory while the directory is not.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type KindTable, ManifestError, SallyportError, TrustError } from "../permissions/mod.ts";
import type { PluginCheck } from "./check_plugin.ts";
import { diffPins, type PinDiff } from "./diff.ts";
import { contextOf } from "./grant_plugin.ts";
import type { Host } from "./host.ts";
import type { PluginFiles } from "./loaders/mod.ts";
import type { TenantPolicy } from "./policy.ts";
import type { GrantPreview, PluginReview } from "./review.ts";
import type { RequestedSecret } from "./secrets/mod.ts";
import type { Tenant } from "./tenant.ts";
import type { Fingerprint, Narrowing } from "./trust/mod.ts";

/** What is looked at before anybody agrees: the plugin, and how the secrets that it asks for stand. */
export type DevReview = PluginReview & { readonly secrets: readonly RequestedSecret[] };

/** What a session works with. */
export interface DevOptions {
  /** Runs it. */
  readonly host: Host;
  /** Where the plugin is. */
  readonly directory: string;
  /** The ceiling. */
  readonly policy: TenantPolicy;
  /** The kinds of permission that exist. */
  readonly kinds: KindTable;
  /** Cuts down what is granted. */
  readonly flags: Narrowing;
  /** Asks whoever may say so; `since` is what became of what they agreed to last, null at first. */
  readonly ask: (review: DevReview, grants: GrantPreview, since: PinDiff | null) => Promise<boolean>;
}

/** What one look came to. */
export type DevRound =
  | {
    readonly outcome: "good";
    readonly tenant: Tenant;
    readonly check: PluginCheck;
    readonly wasAsked: boolean;
  }
  | { readonly outcome: "same" }
  | { readonly outcome: "broken" | "refused"; readonly error: SallyportError };

/** One session. Its host ends what it started. */
export class DevSession {
  readonly #options: DevOptions;
  #approved: { readonly fingerprint: Fingerprint; readonly grants: GrantPreview } | null = null;
  #served: { readonly hash: string; readonly tenant: Tenant } | null = null;
  #rounds = 0;

  /** Looks at nothing yet. */
  constructor(options: DevOptions) {
    this.#options = options;
  }

  /** What was good last. */
  get tenant(): Tenant | null {
    return this.#served?.tenant ?? null;
  }

  /** Looks at the directory as it is now; what was good before stays where this is not. */
  async round(): Promise<DevRound> {
    this.#rounds += 1;
    try {
      return await this.#look();
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error;
      return { outcome: error instanceof TrustError ? "refused" : "broken", error };
    }
  }

  async #look(): Promise<DevRound> {
    const { host, directory, policy } = this.#options;
    const looking = host.tenant(`dev-look-${this.#rounds}`, { plugins: [directory], policy });
    try {
      const [row] = await looking.list();
      if (row!.state === "invalid") throw new ManifestError("ERR_MANIFEST_INVALID", row!.reason ?? "");
      const { name } = row!;
      const review = await looking.review(name);
      const { hash } = review.fingerprint;
      if (this.#served?.hash === hash) return { outcome: "same" };
      const check = await looking.check(name);
      if (check.problems.length > 0) {
        const lines = check.problems.map((problem) => `  ${problem}`).join("\n");
        throw new ManifestError("ERR_MANIFEST_INVALID", `Plugin "${name}" cannot run as it is:\n${lines}`);
      }
      const wasAsked = await this.#agree({ ...review, secrets: await looking.requestedSecrets(name) });
      const tenant = await this.#serve(review);
      const before = this.#served?.tenant;
      this.#served = { hash, tenant };
      await before?.stop();
      await before?.close();
      return { outcome: "good", tenant, check, wasAsked };
    } finally {
      await looking.close();
    }
  }

  /** Whether anybody had to be asked; throws TrustError where they did not agree. */
  async #agree(review: DevReview): Promise<boolean> {
    const { policy, kinds, flags, ask } = this.#options;
    const approved = this.#approved;
    const context = contextOf(review.directory, policy, "/dev/null/data", kinds);
    // Compared with what was agreed to, not with the last edit: many small steps do not lead where one would not.
    const since = approved === null ? null : diffPins(approved.fingerprint, review.fingerprint, context);
    if (since !== null && since.escalations.length === 0) return false;
    const grants = review.grants(flags);
    if (!await ask(review, grants, since)) {
      const why = since === null
        ? "you did not agree to it"
        : `it asks for more than you agreed to (${
          since.escalations.map(({ what, detail }) => `${what} ${detail}`).join("; ")
        })`;
      throw new TrustError("ERR_TRUST_UNKNOWN", `Cannot run plugin "${review.name}" as it is now: ${why}`, {
        details: { plugin: review.name, fingerprint: review.fingerprint.hash },
      });
    }
    this.#approved = { fingerprint: review.fingerprint, grants };
    return true;
  }

  /** From the bytes that were looked at; where they are others by now, the next look is about those. */
  async #serve({ name, directory, fingerprint, capabilities }: PluginReview): Promise<Tenant> {
    const { host, policy } = this.#options;
    const files = filesOf(directory, fingerprint);
    const tenant = host.tenant(`dev-${this.#rounds}`, {
      policy,
      plugins: { load: () => Promise.resolve([{ directory, origin: "dev", files }]) },
    });
    await tenant.trust(name, {
      fingerprint: fingerprint.hash,
      approver: "dev",
      grants: this.#approved!.grants.request,
      expose: capabilities.map(({ id }) => id),
      keep: false,
    });
    return tenant;
  }
}

/** The pinned files with the bytes that were pinned; the manifest is held to its pin when the plugin is trusted. */
function filesOf(directory: string, { files, trees }: Fingerprint): PluginFiles {
  const pinned = Object.entries(Object.assign({}, ...Object.values(trees), files) as Record<string, string>);
  const found = pinned.filter(([, hash]) => !hash.startsWith("link:")).map(
    ([path, hash]): [string, Uint8Array] => {
      const bytes = readFileSync(join(directory, path));
      if (createHash("sha256").update(bytes).digest("hex") === hash) return [path, bytes];
      throw new TrustError("ERR_TRUST_CHANGED", `"${path}" changed while it was looked at`);
    },
  );
  return Object.fromEntries([["plugin.yaml", readFileSync(join(directory, "plugin.yaml"))], ...found]);
}

/**
 * The secrets of one tenant, in the hands of their owner: the one who embeds Sallyport, or the person at the command line.
 * A secret goes nowhere that its owner did not name, whatever a plugin's manifest says (T02).
 */
import { HostError, KINDS, UsageError } from "../../permissions/mod.ts";
import {
  type AuditSink,
  type Bindings,
  namesOf,
  type OwnedSecret,
  REDACTION_LIMITS,
  type Redactor,
  type SecretSource,
} from "../../runtime/mod.ts";
import { writeEvent } from "../audit/write_event.ts";
import { display } from "../display.ts";
import { isTemporary } from "../own_spaces.ts";
import { pinned, type SecretStore } from "./store.ts";

/** Where a secret may go, and for whom; both are needed. */
export interface SecretBinding {
  /** `HOST:PORT`, each one host. It is then trusted with the secret: what it does with it, nobody here can tell. */
  readonly hosts: readonly string[];
  /** Names of plugins, or absolute real paths of plugins' directories and of scripts. */
  readonly plugins: readonly string[];
}

/** A secret as it is shown: never its value. */
export interface SecretRow extends SecretBinding {
  /** Its name. */
  readonly name: string;
}

/** What an owner does with secrets. */
export interface Secrets {
  /**
   * Sets a secret, in the place of the one of its name with its hosts and plugins; the next request uses it. Throws
   * UsageError for a name, a value or a binding that cannot be, HostError `ERR_STORE` when it cannot be kept.
   */
  set(name: string, value: string, binding: SecretBinding): Promise<void>;
  /** All secrets by name, without their values. */
  list(): Promise<readonly SecretRow[]>;
  /** Takes a secret away; the next request that wants it is refused. Says whether there was one. */
  delete(name: string): Promise<boolean>;
}

/** What the secrets of a tenant work with. */
export interface TenantSecretsParts {
  /** Id of the tenant. */
  readonly tenant: string;
  /** Where they are kept. */
  readonly store: SecretStore;
  /** Learns every value. */
  readonly redactor: Redactor;
  /** Where changes are written down. */
  readonly audit: AuditSink;
  /** What workers reach, for the audit. */
  readonly confinement: string;
}

/** The secrets for their owner, for the broker, and for the redactor. */
export interface TenantSecrets extends Secrets, SecretSource {
  /** `lineages` is what each of the binding's plugins means by now, where that is known. */
  set(
    name: string,
    value: string,
    binding: SecretBinding,
    lineages?: Readonly<Record<string, readonly string[]>>,
  ): Promise<void>;
  /** All bindings by name, without the values. */
  bindings(): Promise<readonly Bindings[]>;
  /**
   * Makes all values known to the redactor, before anything is said that could repeat one, and gives those that were taken
   * from somebody since it was last asked, as they were: deleted, or no longer bound to all that they were bound to, and meant.
   */
  learn(): Promise<readonly OwnedSecret[]>;
}

/** Opens them; reads nothing yet. */
export function openSecrets(
  { tenant, store, redactor, audit, confinement }: TenantSecretsParts,
): TenantSecrets {
  let seen: readonly OwnedSecret[] = [];
  /** What ends with its host is not worth keeping, and would be nobody's afterwards. By name, then by plugin. */
  const passing = new Map<string, Map<string, string>>();
  const all = async (): Promise<readonly OwnedSecret[]> => {
    const secrets = (await store.list(tenant)).map((secret) =>
      [...passing.get(secret.name) ?? []].reduce((known, [plugin, own]) => pinned(known, plugin, own), secret)
    );
    for (const secret of secrets) {
      redactor.know(secret.value);
      // A store may have been written by somebody else's hands.
      const problem = problemOf(secret);
      if (problem !== null) {
        throw new HostError(
          "ERR_STORE",
          `Cannot use secret "${display(secret.name)}" as it is kept: ${problem}`,
        );
      }
    }
    return secrets;
  };
  const write = (
    type: "grant" | "revoke",
    op: string,
    name: string,
    details: Readonly<Record<string, unknown>>,
  ) =>
    writeEvent(audit, {
      type,
      tenant,
      plugin: null,
      fingerprint: null,
      call: null,
      confinement,
      op,
      kind: "secrets",
      value: name,
      details,
    });
  return {
    async set(name, value, { hosts, plugins }, meant = {}) {
      const lasting = Object.entries(meant).map(([plugin, own]) =>
        [plugin, own.filter((lineage) => !isTemporary(lineage))] as const
      );
      const lineages = Object.fromEntries(lasting.filter(([, own]) => own.length > 0));
      const secret = { name, value, hosts: [...new Set(hosts)], plugins: [...new Set(plugins)], lineages };
      const problem = problemOf(secret);
      if (problem !== null) {
        throw new UsageError(
          "ERR_USAGE",
          `Cannot set secret "${display(String(name), { max: 64 })}": ${problem}`,
        );
      }
      const others = (await all()).filter((other) => other.name !== name);
      if (others.length >= REDACTION_LIMITS.secretsPerTenantMax) {
        throw new UsageError(
          "ERR_USAGE",
          `Cannot set secret "${name}": there are ${others.length} (secretsPerTenantMax). Delete one`,
        );
      }
      redactor.know(value);
      write("grant", "secret_set", name, { hosts: secret.hosts, plugins: secret.plugins });
      await store.put(tenant, secret);
      const ending = Object.entries(meant).flatMap(([plugin, own]) =>
        own.filter(isTemporary).slice(0, 1).map((lineage) => [plugin, lineage] as const)
      );
      passing.set(name, new Map(ending));
    },
    async list() {
      const rows = (await all()).map(({ name, hosts, plugins }) => ({ name, hosts, plugins }));
      return rows.sort((a, b) => a.name < b.name ? -1 : 1);
    },
    async delete(name) {
      write("revoke", "secret_delete", name, {});
      return await store.remove(tenant, name);
    },
    async bindings() {
      return (await all()).map(({ value: _value, ...binding }) => binding);
    },
    async used(name, user) {
      const secret = (await all()).find((each) => each.name === name);
      const lineage = user.own?.lineage;
      if (secret === undefined || lineage === undefined || user.bundle === null) return;
      for (const plugin of namesOf(secret, user)) {
        if (Object.hasOwn(secret.lineages ?? {}, plugin)) continue;
        if (isTemporary(lineage) || store.pin === undefined) {
          passing.set(name, (passing.get(name) ?? new Map<string, string>()).set(plugin, lineage));
        } else await store.pin(tenant, name, plugin, lineage);
      }
    },
    async find(name) {
      return (await all()).find((secret) => secret.name === name) ?? null;
    },
    async learn() {
      const before = seen;
      seen = await all();
      return before.filter((secret) => isTaken(secret, seen.find(({ name }) => name === secret.name)));
    },
  };
}

/** A value that was replaced is none that was taken: the next request uses the new one. */
function isTaken({ hosts, plugins, lineages = {} }: OwnedSecret, now: OwnedSecret | undefined): boolean {
  if (now === undefined) return true;
  return hosts.some((host) => !now.hosts.includes(host)) ||
    plugins.some((plugin) => !now.plugins.includes(plugin)) ||
    Object.entries(lineages).some(([plugin, before]) => {
      const meant = now.lineages?.[plugin]; // absent is whoever comes first, which takes it from nobody yet
      return meant !== undefined && before.some((lineage) => !meant.includes(lineage));
    });
}

/** What is wrong, with the cure; the value itself is never repeated. */
function problemOf({ name, value, hosts, plugins }: OwnedSecret): string | null {
  if (!/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name)) {
    return "a name is a word of up to 64 letters, digits, _ and -";
  }
  const { knownCharsMin, secretCharsMax } = REDACTION_LIMITS;
  // A shorter one could neither be told from ordinary text nor be kept from being guessed.
  if (value.length < knownCharsMin || value.length > secretCharsMax) {
    return `a value has ${knownCharsMin} to ${secretCharsMax} characters`;
  }
  if (!/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)) {
    return "a value is ASCII without control characters, and no space at an end, since a header carries it";
  }
  if (hosts.length === 0) return "say where it may go: at least one HOST:PORT";
  const host = hosts.find((each) => !isBindable(each));
  if (host !== undefined) {
    return `"${
      display(host)
    }" is no host with a port, such as "api.example.com:443"; wildcards and ranges are none`;
  }
  if (plugins.length === 0) return "say which plugins may use it: at least one";
  const plugin = plugins.find((each) => !/^(?:[a-z0-9][a-z0-9-]{0,31}|\/[^\0]{1,4095})$/.test(each));
  return plugin === undefined ? null : `"${display(plugin)}" is neither a plugin's name nor an absolute path`;
}

/** One machine's name or address, with a port: what a wildcard stands for is not its owner's to know. */
function isBindable(text: string): boolean {
  if (/\s/.test(text)) return false;
  try {
    const { host } = KINDS.secrets.parseValue(`NAME ${text}`, { cwd: "/" });
    return host !== null && host.port !== null && (host.host.form === "name" || host.host.form === "range");
  } catch (error) {
    if (error instanceof UsageError) return false;
    throw error;
  }
}

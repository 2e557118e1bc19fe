/**
 * Who lets a secret go where (T02). A plugin's entry is only a request: the secret's owner says which hosts it may be sent
 * to, and for which plugins. Nothing here sends anything, and nothing of it is ever told to a guest.
 */
import { type Decision, type Grant, KINDS, type PathContext } from "../permissions/mod.ts";
import type { CheckedAddress, CheckedValue } from "./checked.ts";
import { isOwnHeader } from "./endowments/fetch_rules.ts";
import type { KnownValue } from "./known_value.ts";

/** A secret as its owner keeps it. */
export interface OwnedSecret {
  /** Its name. */
  readonly name: string;
  /** Its value: ASCII that a header may hold. */
  readonly value: string;
  /** Where it may be sent, `HOST:PORT`. */
  readonly hosts: readonly string[];
  /** For whom: names of plugins, or absolute paths of plugins' directories and of scripts. */
  readonly plugins: readonly string[];
  /**
   * What each of `plugins` means (T13): the lineages that were trusted under it when the secret was set or, where none was,
   * the first that used it since. Absent is whichever comes first.
   */
  readonly lineages?: Readonly<Record<string, readonly string[]>>;
}

/** The secrets of one tenant. Asked anew for each request, so that what is taken back is gone with the next one. */
export interface SecretSource {
  /** The secret of this name, or null. */
  find(name: string): Promise<OwnedSecret | null>;
  /** Told of each use that was let go, before the request is sent. */
  used?(name: string, user: SecretUser): Promise<void>;
}

/** Whom an owner can name. */
export interface SecretUser {
  /** The plugin's name. */
  readonly plugin: string;
  /** Real path of the plugin's directory, or of the script. */
  readonly place?: string | undefined;
  /** A script has no name that an owner could mean. */
  readonly bundle: unknown;
  /** Its lineage; a script's says no more than its place. */
  readonly own?: { readonly lineage: string } | undefined;
}

/** What a guest's own request asks to have placed into one HTTP request. */
export interface SecretUse {
  /** The secret's name. */
  readonly name: string;
  /** `HOST:PORT` of the request. */
  readonly host: string;
  /** The header, lower case. */
  readonly header: string;
  /** The header's text, with `{}` for the secret. */
  readonly format: string;
  /** What is checked: `NAME HOST:PORT as HEADER: FORMAT`. */
  readonly value: string;
  /** The entry names no host: the secret is asked for wherever its owner lets it go, and nowhere else missed. */
  readonly isOpen: boolean;
}

/** A secret that was decided about, for the one request that it was decided for. */
export interface PlacedSecret {
  /** The header, lower case. */
  readonly header: string;
  /** The header's text. */
  readonly text: string;
  /** What must not come back. */
  readonly known: KnownValue;
}

/**
 * The uses that the guest's author asks for in a request. The guest itself names none: an entry names the host, so each
 * request to that host carries the secret, code written for a plain API needs no change, and code that was led astray has
 * nothing to choose. An entry that somebody else has cut is asked for all the same, so that its refusal tells who cut it.
 */
export function askedSecrets(
  grant: Grant,
  { value }: CheckedValue,
  context: PathContext,
): readonly SecretUse[] {
  const url = new URL(value.slice(value.indexOf(" ") + 1));
  const host = `${url.hostname}:${url.port || (url.protocol === "https:" ? "443" : "80")}`;
  const uses = new Map<string, SecretUse>();
  for (const entry of authorsEntries(grant)) {
    const { name } = entry;
    // Without words about a header it is the one that most services want; with a header alone, the value as it is.
    const header = entry.header ?? "authorization";
    const format = entry.format ?? (entry.header === null ? "Bearer {}" : "{}");
    const asked = `${name} ${host} as ${header}: ${format}`;
    if (!KINDS.secrets.covers(entry, KINDS.secrets.parseValue(asked, context))) continue;
    // Two entries for one header: the first is meant, as a request can carry only one.
    if (!uses.has(header)) {
      uses.set(header, { name, host, header, format, value: asked, isOpen: entry.host === null });
    }
  }
  return [...uses.values()];
}

/** Whether the owner lets the secret go to that host for that user. */
export function isBound(
  secret: Bindings | null,
  { host }: { readonly host: string },
  user: SecretUser,
): boolean {
  return secret !== null && isForHost(secret, host) && isForUser(secret, user);
}

/** A secret without its value. */
export type Bindings = Omit<OwnedSecret, "value">;

/** Those of a secret's `plugins` that the user is called by. */
export function namesOf({ plugins }: Bindings, { plugin, place, bundle }: SecretUser): readonly string[] {
  return plugins.filter((own) => own.startsWith("/") ? own === place : bundle !== null && own === plugin);
}

/** The decision of the grant, with the owner's word and the rule of transport in front of it. A denial stays what it is. */
export function withOwner(
  decision: Decision,
  use: SecretUse,
  secret: OwnedSecret | null,
  user: SecretUser,
  way: { readonly request: CheckedValue; readonly addresses: readonly CheckedAddress[] },
): Decision {
  if (decision.state === "denied") return decision;
  const problem = ownersProblem(use, secret, user) ?? wayProblem(use, way.request, way.addresses);
  return problem === null ? decision : { ...decision, state: "denied", layer: "none", ...problem };
}

type Problem = Pick<Decision, "rule" | "reason" | "remedy">;

function ownersProblem(use: SecretUse, secret: OwnedSecret | null, user: SecretUser): Problem | null {
  if (isBound(secret, use, user)) return null;
  const { name, host } = use;
  const rule = `the owner's binding of secret "${name}"`;
  const reason = secret === null
    ? "nobody has set it"
    : isForHost(secret, host)
    ? namesOf(secret, user).length > 0
      ? "its owner bound it to another plugin of that name, or to this one before it was trusted anew"
      : "its owner has not bound it to this plugin"
    : `its owner has not bound it to ${host}`;
  const hosts = [...new Set([...(secret?.hosts ?? []), host])];
  // By its place where that is known: a name is whatever comes along under it (T13).
  const own = user.place ?? user.plugin;
  const plugins = secret !== null && isForUser(secret, user)
    ? secret.plugins
    : [...new Set([...(secret?.plugins ?? []), own])];
  const flags = [
    ...hosts.map((each) => `--host ${quote(each)}`),
    ...plugins.map((each) => `--plugin ${quote(each)}`),
  ];
  return {
    rule,
    reason,
    remedy: `If you own it and mean it: sallyport secrets set ${name} ${
      flags.join(" ")
    }, or tenant.secrets.set.`,
  };
}

/** Encrypted, or never off the machine. */
function wayProblem(
  use: SecretUse,
  request: CheckedValue,
  addresses: readonly CheckedAddress[],
): Problem | null {
  if (isOwnHeader(use.header)) {
    return {
      rule: "secrets: no header of the connection",
      reason: `"${use.header}" is the connection's own header`,
      remedy: "Its author names another header.",
    };
  }
  if (/^[A-Z]+ https:/i.test(request.value) || addresses.every(({ address }) => isLoopback(address))) {
    return null;
  }
  return {
    rule: "secrets: https only",
    reason: "the request is not encrypted, and leaves this machine",
    remedy: "Its author uses https.",
  };
}

function isLoopback(address: string): boolean {
  return address === "::1" || /^127\.\d+\.\d+\.\d+$/.test(address);
}

function isForHost({ name, hosts }: Bindings, host: string): boolean {
  const [context, value] = [{ cwd: "/" }, KINDS.secrets.parseValue(`${name} ${host}`, { cwd: "/" })];
  return hosts.some((own) =>
    KINDS.secrets.covers(KINDS.secrets.parseEntry(`${name} ${own}`, context, "allow"), value)
  );
}

function isForUser(secret: Bindings, user: SecretUser): boolean {
  const { lineages = {} } = secret;
  return namesOf(secret, user).some((name) => {
    const meant = Object.hasOwn(lineages, name) ? lineages[name] : undefined;
    return user.bundle === null || meant === undefined || meant.includes(user.own?.lineage ?? "");
  });
}

/** What the guest's own author wrote: the most particular of the layers that are an author's. */
function authorsEntries({ layers }: Grant): readonly ReturnType<typeof KINDS.secrets.parseEntry>[] {
  const own = AUTHORS.flatMap((source) => layers.filter((layer) => layer.source === source))[0];
  const allow = own?.kinds.secrets?.allow ?? [];
  // Everything is nothing in particular: there is no name to look for. The cast holds: the kind's own parser made them.
  return allow === true ? [] : allow.map(({ entry }) => entry as ReturnType<typeof KINDS.secrets.parseEntry>);
}

const AUTHORS = ["capability", "manifest", "flags"];

function quote(text: string): string {
  return /^[\w@%+=:./[\]-]+$/.test(text) && !text.startsWith("[")
    ? text
    : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Having the broker place a secret into requests. The entry is a request only: the secret's owner binds hosts and plugins. */
import {
  displayEndpoint,
  type Endpoint,
  endpointIncludes,
  endpointMeet,
  parseEndpoint,
  parsePeer,
} from "../host_grammar.ts";
import { type Kind, refuse } from "../kind.ts";

/** A secret, where it may go, and how it is placed; null where the entry leaves it open. */
export interface SecretEntry {
  /** The secret's name. */
  readonly name: string;
  /** Where it may go. */
  readonly host: Endpoint | null;
  /** The request header that carries it. */
  readonly header: string | null;
  /** The header's text, with `{}` for the secret. */
  readonly format: string | null;
}

/** The kind `secrets`: entries are objects `{name, host, header, format}`, or `NAME HOST:PORT as HEADER: FORMAT` where text is needed. */
export const secrets: Kind<SecretEntry, SecretEntry> = {
  name: "secrets",
  doc: "Having the named secrets placed into requests to the named hosts; the plugin never sees them.",
  examples: [{ name: "api_key", host: "api.example.com:443", header: "authorization", format: "Bearer {}" }],
  own: {},
  phrase: (value) => value === null ? "use every secret" : `use the secret "${value}"`,
  parseEntry: (given) => typeof given === "string" ? parse(given, parseEndpoint) : parseObject(given),
  parseValue: (text) => parse(text, parsePeer),
  displayEntry: display,
  displayValue: display,
  covers: includes,
  includes,
  meet(a, b) {
    const host = a.host === null ? b.host : b.host === null ? a.host : endpointMeet(a.host, b.host);
    if (a.name !== b.name || (host === null && (a.host !== null || b.host !== null))) return null;
    if (!agree(a.header, b.header) || !agree(a.format, b.format)) return null;
    return { name: a.name, host, header: a.header ?? b.header, format: a.format ?? b.format };
  },
  isGrave: () => true,
};

function includes(a: SecretEntry, b: SecretEntry): boolean {
  return a.name === b.name && (a.host === null || (b.host !== null && endpointIncludes(a.host, b.host))) &&
    (a.header === null || a.header === b.header) && (a.format === null || a.format === b.format);
}

function agree(a: string | null, b: string | null): boolean {
  return a === null || b === null || a === b;
}

function parse(text: string, parseHost: (text: string) => Endpoint): SecretEntry {
  const [, name, host, header = null, format = null] = FORM.exec(text) ??
    refuse('a secret is written "NAME", "NAME HOST:PORT" or "NAME HOST:PORT as HEADER: FORMAT"');
  return placed(name, host === undefined ? null : parseHost(host), header, format);
}

const FORM = /^(\S+)(?: (\S+)(?: as ([^\s:]+)(?:: (.+))?)?)?$/;

function parseObject(given: unknown): SecretEntry {
  if (typeof given !== "object" || given === null) refuse("a secret is {name, host, header, format}");
  for (const key of Object.keys(given)) {
    if (!["name", "host", "header", "format"].includes(key) && !key.startsWith("x-")) {
      refuse(`a secret has no "${key}"`);
    }
  }
  // The keys were checked above, their values are checked below.
  const { name, host, header = null, format = null } = given as Readonly<Record<string, unknown>>;
  if (typeof host !== "string") refuse("a secret names the host it goes to");
  return placed(name, parseEndpoint(host), header, format);
}

function placed(name: unknown, host: Endpoint | null, header: unknown, format: unknown): SecretEntry {
  if (header !== null && (typeof header !== "string" || !/^[a-z0-9-]+$/i.test(header))) {
    refuse("header is the name of a request header");
  }
  if (format !== null && (typeof format !== "string" || !isFormat(format))) {
    refuse('format is text with one "{}" in it');
  }
  if (format !== null && header === null) refuse("format says how the header is written, so it needs header");
  return { name: nameOf(name), host, header: header?.toLowerCase() ?? null, format };
}

function isFormat(text: string): boolean {
  return text.split("{}").length === 2 && /^[\x20-\x7e]+$/.test(text);
}

function nameOf(given: unknown): string {
  if (typeof given !== "string" || !/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(given)) {
    refuse("a secret's name is a word of up to 64 letters, digits, _ and -");
  }
  return given;
}

function display(entry: SecretEntry): string {
  return entry.name + (entry.host === null ? "" : ` ${displayEndpoint(entry.host)}`) +
    (entry.header === null ? "" : ` as ${entry.header}`) + (entry.format === null ? "" : `: ${entry.format}`);
}

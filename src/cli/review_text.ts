/**
 * What `trust` shows before it asks, and `info` of a manifest: everything, in full, and nothing of it as it is. The whole
 * manifest is walked, so a field that somebody adds is shown before anybody remembers to show it (T38).
 */
import type { GraveEntry, RequestLine } from "../../permissions/mod.ts";
import { display } from "../display.ts";
import type { RequestedSecret } from "../secrets/mod.ts";
import type { PinDiff } from "../diff.ts";
import type { ThroughCall } from "../through_calls.ts";
import type { FormerTrust, GrantPreview, ReviewedFile, ReviewedPlugin } from "../review.ts";

/** How things stand around a plugin, which is no part of what is approved. */
export interface ReviewedAround {
  /** Its secrets. */
  readonly secrets: readonly RequestedSecret[];
  /** What it may use by way of other plugins. */
  readonly through: readonly ThroughCall[];
}

/** All of a review, a line each; with `isFull` what documents say as well, hidden characters shown. */
export function reviewLines(
  review: ReviewedPlugin,
  grants: GrantPreview,
  { secrets, through }: ReviewedAround,
  isFull: boolean = false,
): string[] {
  const { manifest, files, packages, trees, permissions } = review;
  const ofRole = (...roles: readonly ReviewedFile["role"][]) =>
    files.filter(({ role }) => roles.includes(role));
  return [
    "The manifest, whole:",
    ...valueLines(manifest, "  "),
    ...section(
      "It offers",
      review.capabilities.map(({ id, live }) => display(id) + (live ? "" : "  (not live yet)")),
    ),
    ...section("Code that it names", ofRole("target").map(fileLine)),
    ...section("Code that this imports", ofRole("module").map(fileLine)),
    ...section(
      "npm packages in it",
      packages.map(({ name, version, path }) =>
        `${display(name)} ${version === null ? "(its version was not consulted)" : display(version)}  ${
          display(path)
        }`
      ),
    ),
    ...section("package.json files that decide what is imported", ofRole("package").map(fileLine)),
    ...section("Executables", ofRole("executable").map(fileLine)),
    ...section("Documents", ofRole("document").map(fileLine)),
    ...(isFull ? ofRole("document").flatMap((file) => textLines(review, file)) : []),
    ...(ofRole("asset").length === 0
      ? []
      : section("Files that belong to documents", ofRole("asset").map(fileLine))),
    ...trees.flatMap(({ entry, files }) =>
      section(
        `Files that it may read below ${display(entry)}`,
        Object.entries(files).map(([path, hash]) => `${display(path)}  ${display(hash)}`),
      )
    ),
    ...section("It asks for", permissions.map(requestText)),
    ...section("You would grant", grants.lines.map(requestText)),
    ...(secrets.length === 0 ? [] : section("Secrets that it asks for", secrets.map(secretText))),
    ...(through.length === 0
      ? []
      : section("What it could do by calling other plugins, as they are now", through.map(throughText))),
  ];
}

/** What is shown where only the commands of hooks are not what was trusted: those, each as it was and as it would be. */
export function argvLines({ approver, diff: { argv } }: FormerTrust): string[] {
  return [
    `All of it is as ${display(approver)} trusted it, but for what ${
      argv.length === 1 ? "one hook starts" : `${argv.length} hooks start`
    }`,
    ...section("Commands of hooks", argvChanges(argv)),
  ];
}

/** Argvs that changed, a line for each that was and each that would be. */
export function argvChanges(changes: PinDiff["argv"]): string[] {
  const text = (sign: string, id: string, argv: readonly string[] | null): string[] =>
    argv === null ? [] : [`${sign} ${display(id)}  ${display(JSON.stringify(argv))}`];
  return changes.flatMap(({ id, before, after }) => [...text("-", id, before), ...text("+", id, after)]);
}

/** The last screen: what is approved, where, and all that is grave about it. */
export function questionLines(
  { name, directory, fingerprint }: ReviewedPlugin,
  { grave, project }: Pick<GrantPreview, "grave" | "project">,
  through: readonly ThroughCall[],
): string[] {
  return [
    "",
    `Trust plugin "${display(name)}"?`,
    `  directory    ${display(directory)}`,
    `  fingerprint  ${fingerprint.hash}`,
    ...(project === null ? [] : [`  $project     ${display(project)}`]),
    ...graveLines(grave),
    // What others are granted is grave for whoever may have them use it.
    ...through.filter(({ isGrave }) => isGrave).map((each) => `  grave        ${throughText(each)}`),
  ];
}

/** Grave permissions, a line each; that there are none is a line as well. */
export function graveLines(grave: readonly GraveEntry[]): string[] {
  if (grave.length === 0) return ["  grave        nothing"];
  return grave.map(({ kind, entry }) =>
    `  grave        ${kind} ${entry === true ? "everything" : display(entry)}`
  );
}

/** One entry of a request. */
export function requestText({ kind, effect, display: what, reason, isRequired }: RequestLine): string {
  const why = reason === undefined ? "" : `  # ${display(reason)}`;
  return `${effect} ${kind} ${display(what)}${isRequired ? "  (required)" : ""}${why}`;
}

/** One thing that a plugin may use by way of others: whose grant it is, and the calls on the way. */
export function throughText({ kind, display: what, plugin, chain }: ThroughCall): string {
  const by = chain.map((id) => display(id)).join(" → ");
  return `through call: ${kind} ${display(what)}  (of plugin ${display(plugin)}, by ${by})`;
}

/** One secret that is asked for, and how it stands. */
export function secretText({ asked, state, hosts }: RequestedSecret): string {
  return `${display(asked)}: ${
    state === "bound" ? `bound, to ${hosts.map((host) => display(host)).join(", ")}` : SECRET_STATES[state]
  }`;
}

const SECRET_STATES: Readonly<Record<Exclude<RequestedSecret["state"], "bound">, string>> = {
  unbound: "set, and not bound to this plugin and host",
  unset: "not set",
  unknown: "the secrets cannot be read",
};

/** Plain data as indented lines. Every text is quoted or stands behind a bar, so none can pass for a line of ours. */
export function valueLines(value: unknown, indent: string): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item: unknown) => {
      const [first, ...rest] = isNested(item) ? valueLines(item, `${indent}  `) : [];
      return first === undefined
        ? [`${indent}- ${scalar(item)}`]
        : [`${indent}- ${first.trimStart()}`, ...rest];
    });
  }
  return Object.entries(Object(value)).flatMap(([key, member]) => {
    const name = `${indent}${/^[\w$-]+$/.test(key) ? key : quoted(key)}:`;
    if (typeof member === "string" && member.includes("\n")) {
      return [name, ...member.split("\n").map((line) => `${indent}  | ${display(line)}`)];
    }
    if (Array.isArray(member) && !member.some(isNested)) {
      return [`${name} [${member.map(scalar).join(", ")}]`];
    }
    return isNested(member) ? [name, ...valueLines(member, `${indent}  `)] : [`${name} ${scalar(member)}`];
  });
}

/** A title with lines below it; that there are none is a line as well. */
export function section(title: string, lines: readonly string[]): string[] {
  return ["", `${title}:`, ...(lines.length === 0 ? ["  nothing"] : lines.map((line) => `  ${line}`))];
}

/** Behind a bar, so that no line of it can pass for one of ours. */
function textLines({ textOf }: ReviewedPlugin, { path }: ReviewedFile): string[] {
  const lines = (textOf(path) ?? "").replace(/\r?\n$/, "").split(/\r?\n/);
  return section(`Text of ${display(path)}`, lines.map((line) => `| ${display(line)}`));
}

function fileLine({ path, bytes, sha256, hiddenCount }: ReviewedFile): string {
  const hidden = hiddenCount === undefined ? "" : `  (${hiddenCount} characters that nobody sees)`;
  return `${display(path)}  ${bytes} bytes  sha256:${sha256}${hidden}`;
}

function isNested(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0;
}

function scalar(value: unknown): string {
  return typeof value === "string" ? quoted(value) : display(JSON.stringify(value) ?? String(value));
}

function quoted(text: string): string {
  return display(JSON.stringify(text));
}

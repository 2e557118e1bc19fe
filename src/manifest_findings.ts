/**
 * What is wrong with a plugin as far as its manifest and the names of its files tell. `check` and `info` both show it, so
 * neither knows a defect that the other one hides (A33).
 */
import { check, grantOf, layerOf, type PermissionRequest } from "../permissions/mod.ts";
import { display } from "./display.ts";
import { documentIssues, documentIssueText } from "./documents/own_documents.ts";
import { declaredFiles } from "./manifest/mod.ts";
import type { LoadedPlugin } from "./plugin.ts";
import { memberOf } from "./surfaces/surface.ts";

/** One thing that keeps it, or a part of it, from working: a sentence, safe for a terminal. */
export function manifestFindings(plugin: LoadedPlugin): readonly string[] {
  const { manifest, source, capabilities, incompatibleRange } = plugin;
  const missing = new Set(
    declaredFiles(manifest).map(({ path }) => path).filter((path) => source.kind(path) === "absent"),
  );
  return [
    ...(incompatibleRange === null ? [] : [`it asks for Sallyport ${display(incompatibleRange)}`]),
    ...[...missing].sort().map((path) => `"${display(path)}" is declared and not there`),
    ...documentIssues(plugin).map(documentIssueText),
    ...ungrantedPrograms(plugin),
    ...capabilities.flatMap(({ fullId, raw }) =>
      ["input", "output"].flatMap((key) => {
        const schema = memberOf(raw, key);
        return typeof schema === "object" && schema !== null
          ? schemaFaults(schema, schema).slice(0, FAULTS_MAX).map((fault) =>
            `${display(fullId)}: ${key}${fault}`
          )
          : [];
      })
    ),
  ];
}

/** Hooks whose executable the plugin does not ask to run: nothing could be granted that would let them. */
function ungrantedPrograms({ manifest: { permissions }, source, capabilities }: LoadedPlugin): string[] {
  const context = { cwd: source.directory, bundle: source.directory };
  const request: PermissionRequest = permissions.run === undefined ? {} : { run: permissions.run };
  const grant = grantOf(layerOf("manifest", request, context));
  return capabilities.flatMap(({ fullId, raw }) => {
    const argv = memberOf(raw, "command");
    // The cast holds: the schema of hooks has accepted it.
    const value = Array.isArray(argv) ? `./${(argv as string[])[0]}` : null;
    return value === null || check(grant, { kind: "run", value }, context).state === "granted"
      ? []
      : [`${display(fullId)} starts "${display(value)}", which permissions.run does not ask for`];
  });
}

const FAULTS_MAX = 20;
const TYPES: ReadonlySet<unknown> = new Set([
  "null",
  "boolean",
  "object",
  "array",
  "number",
  "string",
  "integer",
]);
/** Keywords whose members are data, or whose names are the author's. */
const DATA: ReadonlySet<string> = new Set(["const", "enum", "examples", "default"]);
const NAMED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);

/** The schema's bounds were held when the manifest was read, so this ends. */
function schemaFaults(schema: object, root: object, path = ""): string[] {
  if (Array.isArray(schema)) {
    return schema.flatMap((each: unknown, place) =>
      isObject(each) ? schemaFaults(each, root, `${path}[${place}]`) : []
    );
  }
  const faults: string[] = [];
  const members = Object.entries(schema) as [string, unknown][];
  for (const [key, value] of members) {
    const at = `${path}.${display(key)}`;
    if (key === "$ref" && typeof value === "string" && !leadsSomewhere(value, root)) {
      faults.push(`${at}: "${display(value)}" leads nowhere in the schema`);
    }
    if (key === "type" && !(Array.isArray(value) ? value : [value]).every((type) => TYPES.has(type))) {
      faults.push(`${at}: ${display(JSON.stringify(value))} is no type of JSON`);
    }
    if (key === "required" && !(Array.isArray(value) && value.every((name) => typeof name === "string"))) {
      faults.push(`${at}: it is a list of names`);
    }
    if (DATA.has(key) || !isObject(value)) continue;
    if (!NAMED.has(key)) faults.push(...schemaFaults(value, root, at));
    else {for (const [name, each] of Object.entries(value)) {
        if (isObject(each)) faults.push(...schemaFaults(each, root, `${at}.${display(name)}`));
      }}
  }
  return [...faults, ...impossible(schema, path)];
}

/** What is required and may not be there can never be given. */
function impossible(schema: object, path: string): string[] {
  const [required, properties, additional] = ["required", "properties", "additionalProperties"]
    .map((key) => memberOf(schema, key));
  if (
    additional !== false || !Array.isArray(required) || memberOf(schema, "patternProperties") !== undefined
  ) return [];
  return required.filter((name): name is string =>
    typeof name === "string" && memberOf(properties, name) === undefined
  )
    .map((name) => `${path}: "${display(name)}" is required and not allowed`);
}

/** An anchor, or a path of members from the root. */
function leadsSomewhere(reference: string, root: object): boolean {
  const fragment = reference.slice(1);
  if (fragment === "") return true;
  if (!fragment.startsWith("/")) return hasAnchor(root, fragment);
  let at: unknown = root;
  for (const step of fragment.slice(1).split("/")) {
    at = memberOf(at, decoded(step).replaceAll("~1", "/").replaceAll("~0", "~"));
    if (at === undefined) return false;
  }
  return true;
}

function hasAnchor(schema: object, name: string): boolean {
  return Object.entries(schema).some(([key, value]: [string, unknown]) =>
    ((key === "$anchor" || key === "$dynamicAnchor") && value === name) ||
    (isObject(value) && hasAnchor(value, name))
  );
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

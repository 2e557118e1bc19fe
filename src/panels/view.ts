/**
 * A panel's view as the host takes it from a guest: known nodes of known members within bounds, and texts in which nothing is
 * left that could move a cursor, reorder a line or hide. Whatever else comes is refused; there is no HTML, script or link in it.
 */
import { z } from "zod";
import { display, withoutHidden } from "../display.ts";
import type { FormField, FormNode, FormValue, ViewAction, ViewNode } from "../plugin_types.ts";
import { memberOf } from "../surfaces/surface.ts";
import { PANEL_LIMITS as LIMITS } from "./limits.ts";

/** A view that was read: its nodes, one below the other. */
export type View = readonly ViewNode[];

const text = (charsMax: number): z.ZodType<string> => z.string().max(charsMax).transform(withoutHidden);
const line = (charsMax: number): z.ZodType<string> =>
  z.string().max(charsMax).transform((given) => withoutHidden(given).replaceAll(/\s+/g, " ").trim());
const paragraph = text(LIMITS.textCharsMax);
const label = line(LIMITS.labelCharsMax);
/** A name stands in a line that a person types, so it needs no quotes there. */
const name = z.string().regex(/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/, {
  error: "must be 1 to 64 letters, digits, dashes and underscores, and must start with a letter",
});
const number = z.number().min(-Number.MAX_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER);
const cell = z.union([line(LIMITS.cellCharsMax), number, z.boolean(), z.null()]);
const value: z.ZodType<FormValue> = z.union([line(LIMITS.cellCharsMax), number, z.boolean()]);

const action: z.ZodType<ViewAction> = z.strictObject({ action: name, label: label.exactOptional() });

const field: z.ZodType<FormField> = z.strictObject({
  name,
  label: label.exactOptional(),
  kind: z.enum(["text", "number", "boolean", "choice"]).exactOptional(),
  choices: z.array(label).min(1).max(LIMITS.choicesMax).exactOptional(),
  value: value.exactOptional(),
  required: z.boolean().exactOptional(),
}).superRefine((given, context) => {
  const problem = problemOf(given);
  if (problem !== null) context.addIssue(problem);
});

const table = z.strictObject({
  type: z.literal("table"),
  columns: z.array(z.union([
    label,
    z.strictObject({ title: label, align: z.enum(["left", "right"]).exactOptional() }),
  ])).min(1).max(LIMITS.columnsMax),
  rows: z.array(z.array(cell).max(LIMITS.columnsMax)).max(LIMITS.rowsMax),
}).superRefine(({ columns, rows }, context) => {
  const odd = rows.findIndex((row) => row.length !== columns.length);
  if (odd === -1) return;
  context.addIssue({ code: "custom", path: ["rows", odd], message: `must have ${columns.length} cells` });
});

const form: z.ZodType<FormNode> = z.strictObject({
  type: z.literal("form"),
  title: label.exactOptional(),
  fields: z.array(field).max(LIMITS.fieldsMax),
  action: name,
  label: label.exactOptional(),
}).superRefine(({ fields }, context) => {
  const names = fields.map((each) => each.name);
  const twice = names.findIndex((each, at) => names.indexOf(each) !== at);
  if (twice === -1) return;
  context.addIssue({ code: "custom", path: ["fields", twice, "name"], message: "is another field's name" });
});

const node: z.ZodType<ViewNode> = chosen<ViewNode>(
  (given) => {
    const type = memberOf(given, "type");
    // The cast holds: it is one of the table's own keys.
    return typeof type === "string" && Object.hasOwn(NODES, type)
      ? NODES[type as ViewNode["type"]]
      : undefined;
  },
  () => `must be one of ${Object.keys(NODES).join(", ")}`,
);
const item = chosen<string | ViewNode>((given) => typeof given === "string" ? paragraph : node);
const below = z.array(node).max(LIMITS.itemsMax);

// Built by the table of the types, so that a node that the authors' types lack, or the other way round, does not compile.
const NODES: { readonly [Type in ViewNode["type"]]: z.ZodType<Extract<ViewNode, { type: Type }>> } = {
  text: z.strictObject({
    type: z.literal("text"),
    text: paragraph,
    style: z.enum(["plain", "heading", "muted", "code"]).exactOptional(),
  }),
  list: z.strictObject({
    type: z.literal("list"),
    items: z.array(item).max(LIMITS.itemsMax),
    ordered: z.boolean().exactOptional(),
  }),
  table,
  card: z.strictObject({
    type: z.literal("card"),
    title: label.exactOptional(),
    nodes: below,
    actions: z.array(action).max(LIMITS.actionsMax).exactOptional(),
  }),
  form,
  progress: z.strictObject({
    type: z.literal("progress"),
    label: label.exactOptional(),
    done: number.min(0),
    total: number.positive(),
  }),
  notification: z.strictObject({
    type: z.literal("notification"),
    level: z.enum(["info", "success", "warning", "error"]).exactOptional(),
    text: paragraph,
  }),
};

/** Reads what a panel answered with: one node, or several. */
export const viewAnswer: z.ZodType<View> = z.unknown().transform((given, context) => {
  const all: unknown[] = Array.isArray(given) ? given : [given];
  const problem = boundsProblem(all);
  if (problem !== null) {
    context.addIssue(problem);
    return z.NEVER;
  }
  const read = below.safeParse(all);
  if (read.success) return read.data;
  // What is told holds the guest's own keys; a thousand of them help nobody.
  const { issues } = read.error;
  for (const { path, message } of issues.slice(0, LIMITS.issuesMax)) {
    context.addIssue({
      code: "custom",
      path: [...path],
      message: display(message, { max: LIMITS.issueCharsMax }),
    });
  }
  if (issues.length > LIMITS.issuesMax) {
    context.addIssue(`and ${issues.length - LIMITS.issuesMax} more problems`);
  }
  return z.NEVER;
});

/** Every action of a view, in its order. */
export function actionsOf(view: View): readonly ViewAction[] {
  return view.flatMap((each): readonly ViewAction[] => {
    if (each.type === "form") return [each];
    if (each.type === "card") return [...actionsOf(each.nodes), ...each.actions ?? []];
    return each.type === "list" ? actionsOf(each.items.filter((item) => typeof item !== "string")) : [];
  });
}

/** What a form may be sent with. */
export const formValues: z.ZodType<Readonly<Record<string, FormValue>>> = z.record(name, value).refine(
  (given) => Object.keys(given).length <= LIMITS.fieldsMax,
  { error: `must have at most ${LIMITS.fieldsMax} fields` },
);

/** What is too much of a view as a whole, found without recursion and before anything is built of it. */
function boundsProblem(view: readonly unknown[]): string | null {
  let level: unknown[] = [...view];
  let count = 0;
  let chars = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > LIMITS.depthMax) {
      return `must have at most ${LIMITS.depthMax} lists and maps inside one another`;
    }
    count += level.length;
    if (count > LIMITS.valuesMax) return `must hold at most ${LIMITS.valuesMax} values`;
    chars += level.reduce<number>((sum, each) => sum + (typeof each === "string" ? each.length : 0), 0);
    if (chars > LIMITS.viewCharsMax) return `must hold at most ${LIMITS.viewCharsMax} characters`;
    level = level.flatMap((each) => typeof each === "object" && each !== null ? Object.values(each) : []);
  }
  return null;
}

function problemOf({ kind = "text", choices, value: given }: FormField): string | null {
  if (kind === "choice" && choices === undefined) return "a choice needs choices";
  if (kind !== "choice" && choices !== undefined) return "only a choice has choices";
  if (given === undefined) return null;
  if (kind === "choice") {
    return choices!.includes(String(given)) ? null : "its value must be one of the choices";
  }
  const wanted = kind === "text" ? "string" : kind;
  const held = typeof given;
  return held === wanted ? null : `its value must be a ${wanted}`;
}

/** Reads a value by the schema that its shape asks for, so that what is wrong is told of that one alone. */
function chosen<Value>(
  choose: (given: unknown) => z.ZodType<Value> | undefined,
  otherwise: () => string = () => "is not known",
): z.ZodType<Value> {
  return z.unknown().transform((given, context) => {
    const read = choose(given)?.safeParse(given);
    if (read?.success === true) return read.data;
    for (const { path, message } of read?.error.issues ?? [{ path: ["type"], message: otherwise() }]) {
      context.addIssue({ code: "custom", path: [...path], message });
    }
    return z.NEVER;
  });
}

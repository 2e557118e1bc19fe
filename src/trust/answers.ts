/** What the operator agreed to at the prompt, added to what a record grants; never more than the manifest asks for. */
import {
  type Kind,
  type KindRequestObject,
  KINDS,
  type KindTable,
  layerOf,
  longForm,
  type PathContext,
  type PermissionRequest,
} from "../../permissions/mod.ts";
import type { Answered } from "../../runtime/mod.ts";
import { grantsOf } from "./grants.ts";

/** The record's grants with what was agreed to. What the record denies stays denied. */
export function withAnswers(
  request: PermissionRequest,
  grants: PermissionRequest,
  answers: readonly Answered[],
  context: PathContext,
): PermissionRequest {
  const table: KindTable = context.kinds ?? KINDS;
  return answers.reduce((before, { kind, entry, answer }) => {
    const known = Object.hasOwn(table, kind) ? table[kind] : undefined;
    if (answer === "no" || known === undefined || request[kind] === undefined) return before;
    const held = longForm(before[kind]);
    const { allow = [] } = held;
    if (allow === true) return before;
    if (answer === "always" || entry === null) {
      const whole = longForm(grantsOf({ [kind]: request[kind] }, undefined, context)[kind]);
      return { ...before, [kind]: { ...whole, ...joinedDeny(whole.deny, held.deny) } };
    }
    const more = meets(known, entry, request, context).filter((text) => !allow.includes(text));
    return { ...before, [kind]: { ...held, allow: [...allow, ...more] } };
  }, grants);
}

/** The parts of the entry that the manifest asks for. */
function meets(
  kind: Kind,
  entry: string,
  request: PermissionRequest,
  context: PathContext,
): readonly string[] {
  const asked = layerOf("manifest", { [kind.name]: request[kind.name] }, context).kinds[kind.name]?.allow ??
    [];
  if (asked === true) return [entry];
  const agreed = kind.parseEntry(entry, context, "allow");
  return asked.flatMap((rule) => {
    const both = kind.meet(rule.entry, agreed);
    return both === null ? [] : [kind.displayEntry(both)];
  });
}

function joinedDeny(
  a: KindRequestObject["deny"],
  b: KindRequestObject["deny"],
): Pick<KindRequestObject, "deny"> {
  if (a === undefined && b === undefined) return {};
  if (a === true || b === true) return { deny: true };
  return { deny: [...new Set([...(a ?? []), ...(b ?? [])])] };
}

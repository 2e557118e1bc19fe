/**
 * The rules: which authority there is, what a request asks for, what a grant covers. Pure: no I/O, no clock, no randomness,
 * so the same question has the same answer in Node, in Deno and in a browser.
 *
 * @example
 * ```ts
 * const context = { cwd: "/srv/plugins/notes" };
 * const grant = grantOf(layerOf("manifest", { read: { allow: ["./data"], deny: ["./data/secret"] } }, context));
 * check(grant, { kind: "read", value: "./data/a.txt" }, context).state; // "granted"
 * check(grant, { kind: "read", value: "./data/secret/key" }, context).rule; // 'manifest permissions.read.deny[0] "./data/secret"'
 * ```
 *
 * @module
 */
export { isPublicAddress } from "./address.ts";
export { check, checkAddress, selectEnvironment } from "./check.ts";
export {
  definePermission,
  type KindDefinition,
  kindTable,
  patternKind,
  wordKind,
  type WordKindOptions,
} from "./define.ts";
export { type Decision, denied, type Requirement } from "./decision.ts";
export {
  describeGrant,
  describeRequest,
  type GrantLine,
  type GraveEntry,
  graveOf,
  isGrave,
  type RequestLine,
} from "./describe.ts";
export * from "./error.ts";
export { type Change, diff, type Grant, grantOf, holdsGrave, includes, intersect, narrow } from "./grant.ts";
export type { Effect, FieldSchema, Kind, KindTable, PathContext } from "./kind.ts";
export { KIND_NAMES, type KindName, KINDS } from "./kinds/mod.ts";
export type { Pattern } from "./pattern_grammar.ts";
export {
  flagName,
  type KindLayer,
  type KindLayers,
  type Layer,
  layerOf,
  type LayerSource,
  type Rule,
  type Side,
  splitFlag,
} from "./policy.ts";
export { isWithin, type Path, resolvePath } from "./path_grammar.ts";
export { relocate } from "./relocate.ts";
export { checkIntercept, checkObserve } from "./watching.ts";
export {
  type KindRequest,
  type KindRequestObject,
  longForm,
  namesProject,
  type PermissionRequest,
  permissionRequestSchema,
  permissionRequestSchemaFor,
  type RequestEntry,
  type SecretRequest,
} from "./request.ts";

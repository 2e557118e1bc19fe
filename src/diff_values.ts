/** Differences of plain data, value by value: whatever a manifest says is compared, whoever added the field (T38). */

/** One value that is not what it was; undefined where there is none. */
export interface ValueChange {
  /** Where, as steps from the root; an entry of a list that has a name is called by it. */
  readonly path: string;
  /** What was there. */
  readonly before: unknown;
  /** What is there. */
  readonly after: unknown;
}

/** All of them, in the order of the keys before and then after. */
export function valueChanges(before: unknown, after: unknown, path = "$"): readonly ValueChange[] {
  if (Object.is(before, after)) return [];
  const [left, right] = [membersOf(before), membersOf(after)];
  if (left === null || right === null || Array.isArray(before) !== Array.isArray(after)) {
    return [{ path, before, after }];
  }
  const steps = new Set([...left.keys(), ...right.keys()]);
  return [...steps].flatMap((step) => {
    if (!left.has(step)) return [{ path: path + step, before: undefined, after: right.get(step) }];
    if (!right.has(step)) return [{ path: path + step, before: left.get(step), after: undefined }];
    return valueChanges(left.get(step), right.get(step), path + step);
  });
}

/** The members of a map or list by how a path names them; null for a scalar. */
function membersOf(value: unknown): ReadonlyMap<string, unknown> | null {
  if (typeof value !== "object" || value === null) return null;
  if (!Array.isArray(value)) {
    return new Map(Object.entries(value).map(([key, member]) => [stepOf(key), member]));
  }
  const names = value.map(nameOf);
  const isNamed = names.every((name) => name !== null) && new Set(names).size === names.length;
  return new Map(value.map((member: unknown, place) => [
    isNamed ? `[${JSON.stringify(names[place])}]` : `[${place}]`,
    member,
  ]));
}

/** What tells an entry of a list apart: its name, or itself where it is a text, so that one more in front moves no other. */
function nameOf(member: unknown): string | null {
  if (typeof member === "string") return member;
  // The cast is safe: a member of any object may be read as unknown.
  const name = typeof member === "object" && member !== null ? (member as { name?: unknown }).name : null;
  return typeof name === "string" ? name : null;
}

function stepOf(key: string): string {
  return /^[A-Za-z_$][\w$-]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

/** What a grant answers, with all that lies beside it: answers of the operator, what was given up, what no grant reaches. */
import { basename } from "node:path";
import {
  check,
  checkAddress,
  type Decision,
  type Grant,
  isWithin,
  KINDS,
  type KindTable,
  type Requirement,
} from "../permissions/mod.ts";
import { Answers } from "./answers.ts";
import { RUNTIME_LIMITS } from "./limits.ts";
import type { GrantHolder, Principal } from "./principal.ts";

/** A folder of this name is Sallyport's own wherever it is: a project's plugins may be put there at any time. */
const STATE_FOLDER = /(?:^|\/)(\.sallyport)(?=\/|$)/i;

/** Decides for the principals of one broker. Writes nothing down. */
export class Decider {
  readonly #sealed: () => readonly string[];
  readonly #answers = new WeakMap<Principal, Answers>();
  /** What was granted before is granted again: `check` is pure, and nothing in a principal changes. */
  readonly #granted = new WeakMap<Principal, Map<string, Decision>>();
  #known: { readonly list: readonly string[]; readonly set: ReadonlySet<string> } | null = null;

  /** `sealed` are absolute paths that no grant reaches; the same list for as long as nothing was added. */
  constructor(sealed: () => readonly string[]) {
    this.#sealed = sealed;
  }

  /** By the grant, and by what was answered and given up since. */
  decide(principal: Principal, requirement: Requirement): Decision {
    return this.unlessSealed(principal, requirement, this.#found(principal, requirement));
  }

  /** The same for an address that a granted value was resolved to. */
  decideAddress(principal: Principal, requirement: Requirement, address: string): Decision {
    return this.#under(
      principal,
      (grant) => checkAddress(grant, requirement, address, principal.context),
    );
  }

  /** What was answered and given up in one isolate. */
  answersOf(principal: Principal): Answers {
    const known = this.#answers.get(principal);
    if (known !== undefined) return known;
    const answers = new Answers(principal);
    this.#answers.set(principal, answers);
    return answers;
  }

  /** What it was granted, less what it gave up. What a person agreed to at the prompt was agreed to for it alone. */
  remaining(principal: Principal): Grant {
    return this.#answers.get(principal)?.remaining() ?? principal.grant;
  }

  /** The decision, but for places that no grant reaches. */
  unlessSealed(holder: GrantHolder, requirement: Requirement, decision: Decision): Decision {
    const { state, kind, value } = decision;
    if (state === "denied" || value === null || !namesPaths(holder, kind)) return decision;
    if (isOwnPlace(holder, kind, value)) return decision;
    const sealed = this.#sealedPlace(value, requirement.recursive === true);
    if (sealed === undefined) return decision;
    return {
      ...decision,
      state: "denied",
      rule: `built-in deny of Sallyport's own state and of plugins' directories (${basename(sealed)})`,
      reason: "it is Sallyport's own state or a plugin's directory, which no grant reaches",
      remedy: "Nothing allows this; keep the plugin's data elsewhere, such as $data",
    };
  }

  #found(principal: Principal, requirement: Requirement): Decision {
    const { kind, value, absolute, recursive } = requirement;
    // What was answered or given up may change any decision, and a value that nobody repeats is not worth its room.
    if (this.#answers.has(principal) || (value?.length ?? 0) > REMEMBERED_CHARS_MAX) {
      return this.#under(principal, (grant) => check(grant, requirement, principal.context));
    }
    const key = `${kind} ${absolute === true ? 1 : 0}${recursive === true ? 1 : 0}${value ?? ""}${
      value === null ? "" : " "
    }`;
    let granted = this.#granted.get(principal);
    const known = granted?.get(key);
    if (known !== undefined) return known;
    const decision = check(principal.grant, requirement, principal.context);
    // A refusal may be over with the next look, as of a program that is not there yet.
    if (decision.state === "denied") return decision;
    if (granted === undefined) this.#granted.set(principal, granted = new Map());
    if (granted.size >= RUNTIME_LIMITS.decisionsRememberedMax) granted.clear();
    granted.set(key, decision);
    return decision;
  }

  #under(principal: Principal, decide: (grant: Grant) => Decision): Decision {
    return this.#answers.get(principal)?.decide(decide) ?? decide(principal.grant);
  }

  /** The sealed place that a path lies in or, for an act on a whole tree, above. */
  #sealedPlace(path: string, isRecursive: boolean): string | undefined {
    const list = this.#sealed();
    if (this.#known?.list !== list) this.#known = { list, set: new Set(list.map(withoutSlash)) };
    const { set } = this.#known;
    // As many looks as the path has parts, however many plugins there are.
    for (let end = path.length; end > 0; end = path.lastIndexOf("/", end - 1)) {
      const root = path.slice(0, end);
      if (set.has(root)) return root;
    }
    if (set.has("/")) return "/";
    const below = isRecursive ? list.find((root) => isWithin(path, root)) : undefined;
    return below ?? STATE_FOLDER.exec(path)?.[1];
  }
}

const REMEMBERED_CHARS_MAX = 256;

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** Whether a kind's values are paths, which therefore cannot reach Sallyport's own state (T03). */
function namesPaths({ context }: GrantHolder, kind: string): boolean {
  const table: KindTable = context.kinds ?? KINDS;
  return Object.hasOwn(table, kind) && table[kind]?.namesPaths === true;
}

/** What is the plugin's own by construction: its bundle for reading and, as verified bytes, for running; its data folder for reading and writing. */
function isOwnPlace({ bundle, context }: GrantHolder, kind: string, path: string): boolean {
  if (bundle !== null && (kind === "read" || kind === "run") && isWithin(bundle.root, path)) return true;
  return context.data !== undefined && (kind === "read" || kind === "write") && isWithin(context.data, path);
}

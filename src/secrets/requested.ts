/** What a plugin asks of secrets beside what their owner lets it have: for whoever decides about the plugin. */
import { KINDS, layerOf, type PermissionRequest } from "../../permissions/mod.ts";
import { type Bindings, isBound, type SecretUser } from "../../runtime/mod.ts";

/** One entry of a request for secrets, and how it stands. */
export interface RequestedSecret {
  /** The secret's name. */
  readonly name: string;
  /** The entry, as it is shown. */
  readonly asked: string;
  /** `bound`: its owner lets the plugin send it to `hosts`; `unset`: nobody has set it; `unknown`: the store cannot be used. */
  readonly state: "bound" | "unbound" | "unset" | "unknown";
  /** Those of the hosts that the entry asks for to which it may go. */
  readonly hosts: readonly string[];
}

/** All entries of a request; `bindings` is null where they cannot be known. */
export function requestedSecrets(
  { secrets }: PermissionRequest,
  bindings: readonly Bindings[] | null,
  user: SecretUser,
): readonly RequestedSecret[] {
  const context = { cwd: "/" }; // there is no path in a secret's entry
  const request = secrets === undefined ? {} : { secrets };
  const allow = layerOf("manifest", request, context).kinds.secrets?.allow ?? [];
  // Everything is nothing in particular: nothing is ever placed for it.
  return allow === true ? [] : allow.map(({ entry }) => {
    // The cast holds: the kind's own parser made it.
    const asked = entry as ReturnType<typeof KINDS.secrets.parseEntry>;
    const facts = { name: asked.name, asked: KINDS.secrets.displayEntry(asked) };
    const binding = bindings?.find(({ name }) => name === asked.name);
    if (binding === undefined) return { ...facts, state: bindings === null ? "unknown" : "unset", hosts: [] };
    const anywhere = { ...asked, header: null, format: null };
    const hosts = binding.hosts.filter((host) =>
      KINDS.secrets.covers(anywhere, KINDS.secrets.parseValue(`${asked.name} ${host}`, context)) &&
      isBound(binding, { host }, user)
    );
    return { ...facts, state: hosts.length > 0 ? "bound" : "unbound", hosts };
  });
}

// @ts-check
/** Deno.permissions: how a use stands, asking for it, and giving it up; one value at a time. */
((realm) => {
  "use strict";
  const { internal, op, primordials } = realm;
  const { ObjectFreeze, newPromise, promiseThen } = primordials;

  function method(does) {
    return (descriptor) =>
      newPromise((resolve) => {
        const { path, host, variable, command, kind } = descriptor;
        // Read as text once: what the host is asked about and what is kept here must be the same word.
        const name = `${descriptor.name}`;
        const value = path === undefined ? host ?? variable ?? command ?? kind ?? null : internal.spell(path);
        resolve(
          promiseThen(op("permission_" + does, [name, value]), ({ 0: state, 1: held }) => {
            if (held) follow(name, held, state === "granted" ? "envAllow" : "envDeny", value, does);
            return { name, state, partial: false, onchange: null };
          }),
        );
      });
  }

  /** Variables and facts are read without asking the host, so what changed of them is kept here. */
  function follow(name, held, side, value, does) {
    const { config } = internal;
    config[name] = held;
    if (name !== "env" || (side === "envDeny" && does !== "revoke")) return;
    if (value === null) config[side] = true;
    else if (config[side] !== true) config[side][config[side].length] = value;
  }

  internal.deno.permissions = ObjectFreeze({
    query: method("query"),
    request: method("request"),
    revoke: method("revoke"),
  });
});

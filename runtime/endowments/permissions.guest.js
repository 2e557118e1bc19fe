// @ts-check
/** Deno.permissions: what is granted, one value at a time. */
((realm) => {
  "use strict";
  const { internal, op, primordials } = realm;
  const { ObjectFreeze, newPromise, promiseThen } = primordials;

  internal.deno.permissions = ObjectFreeze({
    query(descriptor) {
      return newPromise((resolve) => {
        const { name, path, host, variable, command, kind } = descriptor;
        const value = path === undefined ? host ?? variable ?? command ?? kind ?? null : internal.spell(path);
        resolve(
          promiseThen(
            op("permission_query", [name, value]),
            (state) => ({ name, state, partial: false, onchange: null }),
          ),
        );
      });
    },
  });
});

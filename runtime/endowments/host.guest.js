// @ts-check
/** context.host: the ops that an embedder added, each an async function of JSON values. */
((realm) => {
  "use strict";
  const { internal, op, primordials } = realm;
  const { ObjectCreate, ObjectFreeze } = primordials;

  internal.setHostOps = (names) => {
    const host = ObjectCreate(null);
    for (let i = 0; i < names.length; i++) host[names[i]] = ObjectFreeze((...args) => op(names[i], args));
    internal.host = ObjectFreeze(host);
  };
});

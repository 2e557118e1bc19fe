// @ts-check
/** Deno.env: what was granted was pushed with the isolate, so reading it is no operation; a refusal is reported as one. */
((realm) => {
  "use strict";
  const { internal, primordials } = realm;
  const {
    ObjectFreeze,
    ObjectHasOwn,
    ObjectKeys,
    String,
    StringPrototypeEndsWith,
    StringPrototypeSlice,
    StringPrototypeStartsWith,
    TypeError,
  } = primordials;

  function matches(entries, name) {
    if (entries === true) return true;
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i];
      const isPrefix = StringPrototypeEndsWith(entry, "*");
      if (isPrefix ? StringPrototypeStartsWith(name, StringPrototypeSlice(entry, 0, -1)) : entry === name) {
        return true;
      }
    }
    return false;
  }

  function read(name) {
    const key = String(name);
    if (key === "") throw new TypeError("The name of an environment variable is empty");
    const { env, envAllow, envDeny } = internal.config;
    if (ObjectHasOwn(env, key)) return env[key];
    if (matches(envAllow, key) && !matches(envDeny, key)) return undefined;
    throw realm.report(
      "env_get",
      [key],
      internal.errorFrom({
        name: "NotCapable",
        code: "ERR_NOT_CAPABLE",
        message: `Requires env access to "${key}"`,
        kind: "env",
        value: key,
      }),
    );
  }

  internal.deno.env = ObjectFreeze({
    get(name) {
      return read(name);
    },
    has(name) {
      return read(name) !== undefined;
    },
    /** Only what is granted exists, so listing it tells nothing else. */
    toObject() {
      const { env } = internal.config;
      const copy = {};
      const keys = ObjectKeys(env);
      for (let i = 0; i < keys.length; i++) copy[keys[i]] = env[keys[i]];
      return copy;
    },
    set() {
      throw internal.errorFrom({
        name: "NotSupported",
        code: "ERR_NOT_CAPABLE",
        message: "A plugin cannot change the environment",
      });
    },
    delete() {
      throw internal.errorFrom({
        name: "NotSupported",
        code: "ERR_NOT_CAPABLE",
        message: "A plugin cannot change the environment",
      });
    },
  });
});

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
    promiseThen,
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
    const isSet = ObjectHasOwn(env, key);
    if (!isSet && (!matches(envAllow, key) || matches(envDeny, key))) {
      throw internal.refuse("env_get", "env", key);
    }
    internal.tell("env_get", key);
    return isSet ? env[key] : undefined;
  }

  /** While it is found out what the code needs, the host is told of what needs no op. */
  internal.tell = (op, value) => {
    if (internal.config.tellsReads) promiseThen(realm.op(op, [value]), undefined, () => {});
  };

  /** The error of a refusal that was decided on this side; the host is told by an op, and decides again. */
  internal.refuse = (op, kind, value) =>
    realm.report(
      op,
      [value],
      internal.errorFrom({
        name: "NotCapable",
        code: "ERR_NOT_CAPABLE",
        message: `Requires ${kind} access to "${value}"`,
        kind,
        value,
      }),
    );

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
      for (let i = 0; i < keys.length; i++) copy[keys[i]] = read(keys[i]);
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

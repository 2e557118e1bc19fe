// @ts-check
/** Deno.env: what was granted was pushed with the isolate, so reading it is no operation; a refusal is reported as one. */
((realm) => {
  "use strict";
  const { internal, primordials } = realm;
  const {
    ObjectFreeze,
    ObjectHasOwn,
    ObjectKeys,
    SafeMap,
    String,
    StringPrototypeEndsWith,
    StringPrototypeSlice,
    StringPrototypeStartsWith,
    TypeError,
    promiseThen,
  } = primordials;
  const told = new SafeMap();

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

  /** While it is found out what the code needs, the host is told of what needs no op: once a call, of each. */
  internal.tell = (op, ...args) => {
    const call = realm.current();
    const what = op + args[0];
    if (!internal.config.tellsReads || told.get(what) === call) return;
    told.set(what, call);
    promiseThen(realm.op(op, args), undefined, () => {});
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

  const refuseChange = () => {
    throw internal.errorFrom({
      name: "NotSupported",
      code: "ERR_NOT_CAPABLE",
      message: "A plugin cannot change the environment",
    });
  };

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
      refuseChange();
    },
    delete() {
      refuseChange();
    },
  });
});

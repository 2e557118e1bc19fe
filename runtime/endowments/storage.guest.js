// @ts-check
/** context.storage: keys and JSON values, kept by the host. A value never crosses but as text. */
((realm) => {
  "use strict";
  const { internal, op, primordials } = realm;
  const { JSONParse, JSONStringify, ObjectFreeze, TypeError, createList, newPromise, promiseThen } =
    primordials;

  const ask = (name, key, value, convert) => {
    const args = createList();
    args[0] = key;
    if (value !== undefined) args[1] = value;
    return promiseThen(op("storage_" + name, args), convert);
  };

  internal.storage = ObjectFreeze({
    __proto__: null,
    get: (key) => ask("get", key, undefined, (text) => text === null ? undefined : JSONParse(text)),
    set(key, value) {
      return newPromise((resolve) => {
        const text = JSONStringify(value);
        if (text === undefined) throw new TypeError("The value is not JSON");
        resolve(ask("set", key, text, () => {}));
      });
    },
    delete: (key) => ask("delete", key),
    list: (prefix = "") => ask("list", prefix),
  });
});

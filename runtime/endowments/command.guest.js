// @ts-check
/** Deno.Command, as far as its output() goes. The host decides about the name and reads the rest; this side only converts. */
((realm) => {
  "use strict";
  const { internal, op, primordials } = realm;

  internal.deno.Command = class Command {
    #asked;
    /** @param {any} name @param {any} options */
    constructor(name, options = { __proto__: null }) {
      const { args = [], stdin = "null", cwd, env } = options;
      const input = typeof stdin === "string" ? stdin : [internal.bytesToBase64(internal.toBytes(stdin))];
      this.#asked = [internal.spell(name), args, input, cwd, env];
    }
    output() {
      return primordials.promiseThen(op("run", this.#asked), (out) => {
        out.success = out.code === 0;
        out.stdout = internal.base64ToBytes(out.stdout);
        out.stderr = internal.base64ToBytes(out.stderr);
        return out;
      });
    }
  };
});

// performance.now() and performance.timeOrigin, in whole milliseconds: a finer clock would serve timing attacks only.
((realm) => {
  "use strict";
  const { primordials, define, internal } = realm;
  const { configureInterface, DateNow, MathMax, TypeError } = primordials;
  const origin = DateNow();
  let latest = 0;

  const TOKEN = {};
  class Performance {
    #brand;
    static {
      internal.platform[internal.platform.length] = (value) => {
        // deno-lint-ignore prefer-primordials -- a brand check reads no property
        if (#brand in value) return "";
      };
    }
    constructor(token) {
      if (token !== TOKEN) throw new TypeError("Illegal constructor");
    }
    get timeOrigin() {
      this.#brand;
      return origin;
    }
    now() {
      this.#brand;
      // The wall clock may be set back; this one never goes back.
      latest = MathMax(latest, DateNow() - origin);
      return latest;
    }
    toJSON() {
      this.#brand;
      return { timeOrigin: origin };
    }
  }
  configureInterface(Performance, "Performance");

  define("Performance", Performance);
  define("performance", new Performance(TOKEN));
});

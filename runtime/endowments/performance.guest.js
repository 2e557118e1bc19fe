// performance.now() and performance.timeOrigin, in whole milliseconds: a finer clock would serve timing attacks only.
((realm) => {
  "use strict";
  const { primordials, internal } = realm;
  const { DateNow, MathMax, TypeError } = primordials;
  const origin = DateNow();
  let latest = 0;

  class Performance {
    constructor() {
      throw new TypeError("Illegal constructor");
    }
    get timeOrigin() {
      check(this);
      return origin;
    }
    now() {
      check(this);
      // The wall clock may be set back; this one never goes back.
      latest = MathMax(latest, DateNow() - origin);
      return latest;
    }
    toJSON() {
      check(this);
      return { timeOrigin: origin };
    }
  }
  const check = internal.defineOne(Performance, "Performance");
});

// @ts-check
/** context.call: another plugin's capability by its full id; the host decides, and calls it. */
((realm) => {
  "use strict";
  const { internal, op, primordials } = realm;
  internal.call = primordials.ObjectFreeze((id, input = {}) => op("call", [id, input]));
});

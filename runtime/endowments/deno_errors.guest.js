// @ts-check
/** Deno.errors, and the errors that ops answer with. */
((realm) => {
  "use strict";
  const { internal, primordials } = realm;
  const { Error, ObjectCreate, ObjectDefineProperty, ObjectFreeze, ObjectHasOwn, TypeError } = primordials;
  const NAMES = [
    "NotFound",
    "PermissionDenied",
    "NotCapable",
    "AlreadyExists",
    "InvalidData",
    "TimedOut",
    "Interrupted",
    "WriteZero",
    "UnexpectedEof",
    "BadResource",
    "Busy",
    "NotSupported",
    "FilesystemLoop",
    "IsADirectory",
    "NotADirectory",
    "NetworkUnreachable",
    "ConnectionRefused",
    "ConnectionReset",
    "ConnectionAborted",
    "NotConnected",
    "AddrInUse",
    "AddrNotAvailable",
    "BrokenPipe",
    "Http",
  ];
  const errors = ObjectCreate(null);
  for (let i = 0; i < NAMES.length; i++) {
    const name = NAMES[i];
    const holder = {
      [name]: class extends Error {
        constructor(message, options) {
          super(message, options);
          hide(this, "name", name);
        }
      },
    };
    errors[name] = holder[name];
  }
  internal.deno.errors = ObjectFreeze(errors);

  function hide(error, key, value) {
    ObjectDefineProperty(error, key, {
      __proto__: null,
      value,
      writable: true,
      enumerable: false,
      configurable: true,
    });
  }

  /** Builds the error that an op's answer describes; its stack is the guest's own. */
  internal.errorFrom = (facts) => {
    const Class = ObjectHasOwn(errors, facts.name)
      ? errors[facts.name]
      : facts.name === "TypeError"
      ? TypeError
      : Error;
    const error = new Class(facts.message);
    hide(error, "name", facts.name);
    hide(error, "code", facts.code);
    if (facts.kind !== undefined) hide(error, "kind", facts.kind);
    if (facts.value !== undefined) hide(error, "value", facts.value);
    if (facts.denial !== undefined) internal.denials.set(error, facts.denial);
    return error;
  };
});

// @ts-check
/** Facts about the machine: what was granted was pushed with the isolate. And native libraries, which are never loaded. */
((realm) => {
  "use strict";
  const { internal, primordials } = realm;
  const { ArrayPrototypeForEach, JSONParse, ObjectHasOwn } = primordials;
  const { deno, refuse } = internal;
  ArrayPrototypeForEach([
    "hostname",
    "osRelease",
    "osUptime",
    "loadavg",
    "networkInterfaces",
    "systemMemoryInfo",
    "uid",
    "gid",
  ], (word) => {
    deno[word] = () => {
      const { sys } = internal.config;
      if (!ObjectHasOwn(sys, word)) throw refuse("sys_get", "sys", word);
      internal.tell("sys_get", word);
      return JSONParse(sys[word]);
    };
  });
  deno.dlopen = (path) => {
    throw refuse("dlopen", "ffi", path);
  };
});

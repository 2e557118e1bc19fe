// @ts-check
/** Deno's file functions that change something. */
((realm) => {
  "use strict";
  const { internal, primordials } = realm;
  const { String, TypeError, createList, newPromise } = primordials;
  const { askFile, bytesToBase64, deno, spell, toBytes } = internal;

  const nothing = () => {};
  const reject = (error) => newPromise((_resolve, reject) => reject(error));

  function write(name, path, options, toText) {
    const args = createList();
    try {
      args[1] = toText();
      args[2] = options?.append === true;
      args[3] = options?.create !== false;
      args[4] = options?.createNew === true;
    } catch (error) {
      return reject(error);
    }
    return askFile(name, path, nothing, args);
  }

  function tree(name, path, options) {
    const args = createList();
    args[1] = options?.recursive === true;
    return askFile(name, path, nothing, args);
  }

  deno.writeTextFile = function writeTextFile(path, data, options) {
    return write("write_text_file", path, options, () => {
      if (typeof data === "object") throw new TypeError("The data is not text");
      return String(data);
    });
  };
  deno.writeFile = function writeFile(path, data, options) {
    return write("write_file", path, options, () => bytesToBase64(toBytes(data)));
  };
  deno.mkdir = function mkdir(path, options) {
    return tree("mkdir", path, options);
  };
  deno.remove = function remove(path, options) {
    return tree("remove", path, options);
  };
  deno.rename = function rename(from, to) {
    const args = createList();
    try {
      args[1] = spell(to);
    } catch (error) {
      return reject(error);
    }
    return askFile("rename", from, nothing, args);
  };
});

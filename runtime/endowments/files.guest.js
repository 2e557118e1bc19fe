// @ts-check
/** Deno's file functions that read. Paths go to the host as they were written; it checks them, this side only converts. */
((realm) => {
  "use strict";
  const { internal, op, primordials } = realm;
  const {
    Date,
    ObjectCreate,
    ObjectGetPrototypeOf,
    ReflectApply,
    ReflectGetOwnPropertyDescriptor,
    SafeRegExp,
    StringPrototypeSlice,
    StringPrototypeStartsWith,
    TypeError,
    createList,
    newPromise,
    promiseResolve,
    promiseThen,
  } = primordials;
  const { decodeURIComponent } = globalThis;
  const AsyncIteratorPrototype = ObjectGetPrototypeOf(
    ObjectGetPrototypeOf((async function* () {}).prototype),
  );
  const hrefOf = ReflectGetOwnPropertyDescriptor(globalThis.URL.prototype, "href").get;

  const unsafe = new SafeRegExp("%2f|[?#]", "i");

  /** A path is a string or a file URL. */
  internal.spell = spell;
  function spell(path) {
    if (typeof path === "string") return path;
    let href;
    try {
      href = ReflectApply(hrefOf, path, []);
    } catch {
      throw new TypeError("A path is a string or a file URL");
    }
    if (!StringPrototypeStartsWith(href, "file:///") || unsafe.exec(href) !== null) {
      throw new TypeError("A path URL has the scheme file:, no host, no query and no encoded slash");
    }
    return decodeURIComponent(StringPrototypeSlice(href, 7));
  }

  /** `args`, where given, is a list whose first place is the path's. */
  internal.askFile = ask;
  function ask(name, path, convert, args = createList()) {
    try {
      args[0] = spell(path);
      return promiseThen(op(name, args), convert);
    } catch (error) {
      return newPromise((_resolve, reject) => reject(error));
    }
  }

  internal.deno.readTextFile = function readTextFile(path) {
    return ask("read_text_file", path, (text) => text);
  };
  internal.deno.readFile = function readFile(path) {
    return ask("read_file", path, internal.base64ToBytes);
  };
  internal.deno.stat = function stat(path) {
    return ask("stat", path, toFileInfo);
  };
  internal.deno.lstat = function lstat(path) {
    return ask("lstat", path, toFileInfo);
  };
  internal.deno.readDir = function readDir(path) {
    let entries = null;
    let index = 0;
    const next = () => {
      if (entries === null) {
        return promiseThen(ask("read_dir", path, (list) => list), (list) => {
          entries = list;
          return next();
        });
      }
      return promiseResolve(
        index < entries.length ? { value: entries[index++], done: false } : { value: undefined, done: true },
      );
    };
    const iterator = ObjectCreate(AsyncIteratorPrototype);
    iterator.next = next;
    return iterator;
  };

  function toFileInfo(facts) {
    return {
      isFile: facts.isFile,
      isDirectory: facts.isDirectory,
      isSymlink: facts.isSymlink,
      size: facts.size,
      mtime: facts.mtimeMs === null ? null : new Date(facts.mtimeMs),
    };
  }
});

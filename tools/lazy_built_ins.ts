/** Node's modules are loaded when something of them is first used: of those that a program may need, a start needs few. */
import type { Plugin } from "esbuild";
import { builtinModules } from "node:module";

/** `load` gives the expression that loads one, by its name with `node:`. */
export function lazyBuiltIns(load: (name: string) => string): Plugin {
  return {
    name: "lazy built-ins",
    setup(builder) {
      const names = new Set(builtinModules.map((name) => name.replace(/^node:/, "")));
      builder.onResolve({ filter: /./ }, ({ path, kind }) => {
        const name = path.replace(/^node:/, "");
        const isBuiltIn = path !== name || names.has(name);
        // What is asked for by `require` may be a function, or a class, and is needed at once.
        if (!isBuiltIn || EAGER.has(name) || kind !== "import-statement") return undefined;
        return { path: name, namespace: "built-in", sideEffects: false };
      });
      builder.onLoad({ filter: /./, namespace: "built-in" }, async ({ path }) => {
        const module = await import(`node:${path}`);
        const keys = Object.keys(module).filter((key) => !NEVER.has(key));
        const own = `const load = () => ${load(`node:${path}`)};`;
        if (!SMALL.has(path)) {
          const entry = "Object.defineProperty(exports, key, { enumerable: true, get: () => load()[key] })";
          return { contents: `${own} for (const key of ${JSON.stringify(keys)}) ${entry};`, loader: "js" };
        }
        // What of it is made when it is first asked for, is left out: to name it here would ask for it.
        const plain = keys.filter((key) =>
          Object.getOwnPropertyDescriptor(module.default, key)?.get === undefined
        );
        const names = plain.map((key) => `export const ${key} = module.${key};`).join("\n");
        return { contents: `${own} const module = load();\nexport default module;\n${names}`, loader: "js" };
      });
    },
  };
}

/** Loaded by Node itself when it starts. */
const SMALL: ReadonlySet<string> = new Set(["fs", "path", "os", "url", "util", "events", "buffer", "timers"]);
/** There from the start, and changed by who uses it. */
const EAGER: ReadonlySet<string> = new Set(["process"]);
/** Names that a module made of exports has anyway. */
const NEVER: ReadonlySet<string> = new Set(["default", "module.exports", "__esModule"]);

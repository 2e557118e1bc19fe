/** House rules of imports and of the terminal, as a lint plugin. */
import { dirname, join, relative, sep } from "node:path";

/** From lowest to highest: a file imports its own floor or a lower one. */
const FLOORS = ["permissions", "runtime", "src"];
/** Packages that one place alone may know. */
const OWNED: Readonly<Record<string, readonly string[]>> = {
  "isolated-vm": ["runtime/worker/isolate.ts", "test/"],
  esbuild: ["src/bundler/", "tools/", "test/"],
  "esbuild-wasm": ["src/bundler/", "tools/", "test/"],
  yaml: ["src/yaml.ts", "test/"],
  undici: ["runtime/powers/"],
  re2js: ["src/points/matcher.ts", "test/"],
};
/** The bundler's child may read few files, so it imports the two that it shares with the worker by themselves. */
const CHILD_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  "src/bundler/child.ts": ["runtime/wire.ts", "runtime/worker/confine_self.ts"],
};
/** The only places that write to a terminal; everything else returns text that passed display(). */
const WRITERS = [
  "src/cli/terminal.ts",
  "src/main.ts",
  "bin/",
  "tools/",
  "test/",
  "runtime/worker/",
  "src/bundler/child.ts",
];

const ROOT = dirname(dirname(import.meta.dirname!));

const plugin: Deno.lint.Plugin = {
  name: "sallyport",
  rules: {
    layers: {
      create(context) {
        const file = toPosix(relative(ROOT, context.filename));
        const visit = (node: { source: { value: unknown } | null } & Deno.lint.Node): void => {
          const problem = node.source === null ? null : problemOf(file, String(node.source.value));
          if (problem !== null) context.report({ node, message: problem });
        };
        return {
          ImportDeclaration: visit,
          ExportNamedDeclaration: (node) => visit(node as never),
          ExportAllDeclaration: (node) => visit(node as never),
          ImportExpression: (node) => visit(node as never),
        };
      },
    },
    "one-terminal": {
      create(context) {
        const file = toPosix(relative(ROOT, context.filename));
        if (WRITERS.some((place) => file.startsWith(place))) return {};
        return {
          'MemberExpression[object.name="console"]'(node) {
            context.report({
              node,
              message: "Only src/cli/terminal.ts writes to the terminal; return text instead",
            });
          },
          'MemberExpression[object.name="process"][property.name=/^std(out|err)$/]'(node) {
            context.report({
              node,
              message: "Only src/cli/terminal.ts writes to the terminal; return text instead",
            });
          },
        };
      },
    },
    "exit-in-main": {
      create(context) {
        const file = toPosix(relative(ROOT, context.filename));
        const places = [
          "src/main.ts",
          "bin/",
          "tools/",
          "runtime/worker/",
          "src/bundler/child.ts",
          "test/runtime/confinement/",
        ];
        if (places.some((place) => file.startsWith(place))) return {};
        return {
          'MemberExpression[object.name="process"][property.name="exit"]'(node) {
            context.report({ node, message: "Only src/main.ts ends the process; throw instead" });
          },
        };
      },
    },
  },
};

export default plugin;

/** What is wrong with an import, or null. Exported for its test. */
export function problemOf(file: string, specifier: string): string | null {
  if (!specifier.startsWith(".")) return packageProblem(file, specifier);
  const target = toPosix(join(dirname(file), specifier));
  const from = floorOf(file);
  const to = floorOf(target);
  if (from === null || to === null || from === to) return null;
  if (FLOORS.indexOf(to) > FLOORS.indexOf(from)) return `"${from}" may not import "${to}", which is above it`;
  if (CHILD_IMPORTS[file]?.includes(target)) return null;
  if (target !== `${to}/mod.ts`) return `"${from}" imports "${to}" only through ${to}/mod.ts`;
  return null;
}

function packageProblem(file: string, specifier: string): string | null {
  if (file.startsWith("permissions/") && specifier.startsWith("node:")) {
    return "permissions/ is pure: no Node built-ins";
  }
  const name = specifier.startsWith("@") ? specifier : specifier.split("/")[0]!;
  const owners = OWNED[name];
  if (owners === undefined || owners.some((place) => file.startsWith(place))) return null;
  return `"${name}" belongs to ${owners[0]}`;
}

function floorOf(path: string): string | null {
  const first = path.split("/")[0]!;
  return FLOORS.includes(first) ? first : null;
}

function toPosix(path: string): string {
  return sep === "/" ? path : path.replaceAll(sep, "/");
}

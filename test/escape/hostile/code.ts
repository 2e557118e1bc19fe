/** Plugins that look for code that nobody hashed, for another realm, and for the engine. */
import type { HostilePlugin } from "../arena.ts";
import { attacks } from "./row.ts";

const FOREIGN = `const foreign = (o) => { let p = o, q; while ((q = Object.getPrototypeOf(p)) !== null) p = q;
    return p !== Object.prototype && Object.hasOwn(p, "hasOwnProperty"); };`;
/** Tries each of several makers of code; any that gives a value got something. */
const tries = (makers: readonly string[]): string =>
  `for (const make of [\n${makers.map((maker) => `    () => ${maker},`).join("\n")}\n  ]) {
    try { const got = await make(); if (got !== undefined) return make + " gave " + typeof got; } catch {}
  }
  return "nothing";`;
const BODY = "'return 7'";
const shared = { plugin: "code" };

/** The table. */
export const CODE: readonly HostilePlugin[] = [
  ...attacks("code-from-strings", shared, [
    {
      id: "code-eval",
      proves: "T20",
      body: tries([
        "eval('7')",
        "(0, eval)('7')",
        "globalThis.eval('7')",
        "Reflect.apply(eval, undefined, ['7'])",
        "[ '7' ].map(eval)[0]",
        "eval?.call(null, '7')",
      ]),
    },
    {
      id: "code-function",
      proves: "T20",
      body: tries([
        `Function(${BODY})()`,
        `new Function(${BODY})()`,
        `Reflect.construct(Function, [${BODY}])()`,
        `Reflect.construct(Object, [], Function)?.(${BODY})`,
        `(class extends Function {}).call(null, ${BODY})`,
        `new (class extends Function {})(${BODY})()`,
        `Function.call(null, ${BODY})()`,
        `Function.bind(null, ${BODY})()()`,
      ]),
    },
    {
      id: "code-constructors",
      proves: "T20",
      body: tries(["", "async ", "*", "async *"].flatMap((kind) => {
        const f = kind.endsWith("*")
          ? `(${kind === "*" ? "" : "async "}function* () {})`
          : `(${kind}() => {})`;
        return [
          `${f}.constructor(${BODY})()`,
          `Object.getPrototypeOf(${f}).constructor(${BODY})()`,
          `Object.getOwnPropertyDescriptor(Object.getPrototypeOf(${f}), 'constructor').value(${BODY})()`,
          `Reflect.construct(${f}.constructor, [${BODY}])()`,
        ];
      })),
    },
    {
      id: "code-chains",
      body: tries(
        [
          "this",
          "context",
          "context.storage.get",
          "context.host.echo",
          "Deno",
          "Deno.readTextFile",
          "Deno.errors.NotFound",
          "console.log",
          "fetch",
          "crypto.randomUUID",
          "setTimeout",
          "[].map",
          "input",
          "(async () => {})()",
          "new Error('x')",
          "new URL('http://h/').searchParams",
          "performance.now",
          "AbortSignal.abort().reason",
          "Intl.DateTimeFormat",
          "new Proxy(() => {}, {})",
        ].map((root) => `(${root}).constructor.constructor(${BODY})()`),
      ),
    },
    {
      id: "code-timers",
      proves: "T20",
      body: tries([
        "setTimeout('globalThis.ran = 1', 0)",
        "setInterval('globalThis.ran = 1', 1)",
        "setTimeout({ toString: () => 'globalThis.ran = 1' })",
        "queueMicrotask('globalThis.ran = 1')",
      ]).replace(
        /return "nothing";$/,
        `await new Promise((done) => setTimeout(done, 20)); return globalThis.ran ? "ran" : "nothing";`,
      ),
    },
    {
      id: "code-restored",
      body:
        "for (const f of [() => {}, async () => {}, function* () {}, async function* () {}]) { const p = Object.getPrototypeOf(f); try { delete p.constructor; } catch {} let q = p; while (q !== null) { try { if (Object.hasOwn(q, 'constructor')) { const g = q.constructor('return 7'); if (g() === 7) return 'code'; } } catch {} q = Object.getPrototypeOf(q); } } return 'nothing';",
    },
    {
      id: "code-lookup",
      body: tries([
        "(() => {}).__lookupGetter__('caller')?.call(() => {})",
        "Object.prototype.__lookupGetter__.call(function () {}, 'constructor')?.()",
        "attack.caller ?? undefined",
        "attack.arguments ?? undefined",
        "(function () { return arguments.callee.caller; })() ?? undefined",
        "(function f() { return f.caller; })() ?? undefined",
      ]),
    },
    {
      id: "code-dynamic-denied",
      body:
        "try { new Function('return 7')(); } catch (e) { return e.constructor === TypeError && /strings is off/.test(e.message) ? 'nothing' : e + ''; }",
    },
    {
      id: "code-granted",
      proves: "T20",
      plugin: undefined,
      head: "permissions: { dynamicCode: true }\n",
      ends: ["nothing"],
      body: `${FOREIGN}
  const made = Function("return [globalThis, typeof process, typeof require, this]")();
  return made[0] === globalThis && made[1] + made[2] === "undefinedundefined" && !foreign(made) && Object.getPrototypeOf(async () => {}).constructor("return 1")() instanceof Promise ? "nothing" : "another realm";`,
    },
  ]),
  ...attacks("code-import", shared, [
    { id: "import-data", body: tries(["import(['data:text/javascript,export default 7'][0])"]) },
    {
      id: "import-node",
      module: `export async function attack({ warm }) {
  if (warm) return "warm";
  const name = ["node", "fs"].join(":");
  for (const id of [name, "fs", "isolated-vm", "file:///etc/passwd", "./import-node.js", "http://127.0.0.1:$PORT/x.js", "blob:x"]) {
    try { const got = await import(id); return id + " gave " + Object.keys(got); } catch {}
  }
  return "nothing";
}
`,
    },
    {
      id: "import-meta",
      // It is told where it is among its own files, and nothing of the machine.
      ends: ["returns url plugin:import-meta.js"],
      body: `return Object.keys(import.meta).join() + " " + import.meta.url.split("/").at(-1);`,
    },
    {
      id: "import-namespace",
      module: `import * as namespace from "./import-namespace.js";
const self = [namespace][0];
export let value = 1;
export async function attack({ warm }) {
  if (warm) return "warm";
  const got = [];
  try { self.value = 2; } catch {}
  if (value !== 1) got.push("set");
  try { Object.defineProperty(self, "value", { value: 3 }); } catch {}
  if (value !== 1) got.push("defined");
  let p = self, q; while ((q = Object.getPrototypeOf(p)) !== null) p = q;
  if (p !== Object.prototype && Object.hasOwn(p, "hasOwnProperty")) got.push("foreign");
  try { if (self.constructor.constructor("return 7")() === 7) got.push("code"); } catch {}
  return got.length === 0 ? "nothing" : got;
}
`,
    },
    {
      id: "import-register",
      module:
        `const taken = [typeof __sallyport_register__, typeof __outer__, typeof realm, typeof primordials, typeof send, typeof internal];
try { __sallyport_register__(() => "somebody else"); } catch {}
export async function attack({ warm }) {
  if (warm) return "warm";
  try { __sallyport_register__(() => { for (;;); }); } catch {}
  // Its own handler is its own to replace; nothing else is in sight.
  return taken.slice(1).every((kind) => kind === "undefined") ? "nothing" : taken;
}
`,
    },
  ]),
  ...attacks("realm", shared, [
    {
      id: "realm-shadow",
      body: tries([
        "new ShadowRealm().evaluate('7')",
        "new Worker('data:,')",
        "new Realm()",
        "new Compartment()",
        "document.createElement('iframe')",
        "importScripts('x')",
        "globalThis.require('fs')",
        "process.binding('fs')",
        "module.constructor._load('fs')",
      ]),
    },
    {
      id: "realm-engine-names",
      body:
        "return ['ivm', '$0', '_ivm', 'isolate', 'Reference', 'ExternalCopy', 'Callback', 'NativeModule', '%DebugPrint', 'gc', 'd8', 'print', 'quit', 'load'].filter((name) => name in globalThis).join() || 'nothing';",
    },
    {
      id: "realm-foreign-errors",
      body: `${FOREIGN}
  const caught = [];
  const attempt = async (f) => { try { await f(); } catch (e) { caught.push(e); } };
  await attempt(() => Deno.readTextFile("/etc/passwd")); await attempt(() => Deno.stat("/x")); await attempt(() => fetch("http://127.0.0.1:$PORT/"));
  await attempt(() => context.host.rejectsAtOnce()); await attempt(() => context.storage.get("x")); await attempt(() => Deno.env.get("PATH"));
  await attempt(() => structuredClone(() => 1)); await attempt(() => crypto.getRandomValues(new Uint8Array(1e6))); await attempt(() => { const f = () => f(); f(); });
  await attempt(() => new Array(-1)); await attempt(() => null.x); await attempt(() => atob("*")); await attempt(() => JSON.parse("{"));
  return caught.length > 10 && !caught.some((e) => foreign(e) || foreign(e.constructor) || !(e instanceof Error)) ? "nothing" : "foreign of " + caught.length;`,
    },
    {
      id: "realm-foreign-results",
      plugin: undefined,
      head: "permissions: { storage: true, read: ['./data'], sys: ['hostname'], env: ['GRANTED_*'] }\n",
      body: `${FOREIGN}
  await context.storage.set("a", { b: [1, { c: 2 }] });
  const entries = []; for await (const entry of Deno.readDir("data")) entries.push(entry);
  const all = [await context.storage.get("a"), await context.storage.list(), await Deno.stat("data/a.txt"), await Deno.readFile("data/a.txt"), entries,
    await context.host.echo({ a: [1] }), await context.host.answersTwice(), Deno.env.toObject(), await Deno.permissions.query({ name: "read" }), input, context];
  const walk = (o, depth) => o !== null && typeof o === "object" && (foreign(o) || (depth < 4 && Reflect.ownKeys(o).some((k) => walk(o[k], depth + 1))));
  return all.some((o) => walk(o, 0)) ? "foreign" : "nothing";`,
    },
    {
      id: "realm-shared",
      body:
        "return ['SharedArrayBuffer', 'Atomics', 'WeakRef', 'FinalizationRegistry', 'WebAssembly'].filter((name) => name in globalThis || Reflect.ownKeys(globalThis).includes(name)).join() || 'nothing';",
    },
    {
      id: "realm-call-sites",
      body:
        "const seen = []; const hook = (_e, sites) => { seen.push(...sites.map((s) => s.getThis?.() ?? s.getFunction?.())); return 'x'; }; try { Error.prepareStackTrace = hook; } catch {} try { Object.defineProperty(Error, 'prepareStackTrace', { value: hook }); } catch {} globalThis.prepareStackTrace = hook; void new Error('x').stack; try { null.f(); } catch (e) { void e.stack; } const o = {}; Error.captureStackTrace(o); void o.stack; return seen.length === 0 ? 'nothing' : 'call sites';",
    },
    {
      id: "realm-paths",
      body:
        "const P = /file:\\/\\/|node:internal|node_modules|sallyport-arena|[\\s('\"]\\/(?:[\\w.@+-]+\\/)+[\\w.@+-]+/; const all = []; const take = (f) => { try { f(); } catch (e) { all.push(e.stack, e.message); } }; take(() => null.x); take(() => Deno.env.get('PATH')); take(() => new URL('x')); await Deno.stat('/x').catch((e) => all.push(e.stack, e.message)); await Promise.reject(new Error('y')).catch((e) => all.push(e.stack)); all.push(Function.prototype.toString.call(fetch), String(Deno.stat)); return all.some((text) => P.test(' ' + text)) ? all.find((text) => P.test(' ' + text)).slice(0, 200) : 'nothing';",
    },
  ]),
];

/** Plugins that fail in the worst way: deep recursion, evil values that are thrown, rejections that nobody handles, errors that lie. */
import type { HostilePlugin } from "../arena.ts";
import { attacks } from "./row.ts";

const threw = { ends: ["ERR_GUEST_THREW"] };
const ends = {
  plugin: "errors",
  head: "permissions: { storage: true, read: ['./data'] }\n",
  wallMs: 1_500,
};
/** Kept apart: it may cost its worker, and that plugin would be stopped after the third. */
const apart = { plugin: undefined } as const;

/** The table. */
export const ERRORS: readonly HostilePlugin[] = [
  ...attacks("recursion", ends, [
    { id: "recursion-plain", ...threw, body: "const f = () => f() + 1; return f();" },
    {
      id: "recursion-finally",
      ends: ["ERR_LIMIT_WALL", "ERR_GUEST_THREW"],
      body: "const f = () => { try { f(); } finally { f(); } }; f();",
    },
    { id: "recursion-getter", ...threw, body: "const o = { get a() { return this.a; } }; return o.a;" },
    {
      id: "recursion-proxy",
      ...threw,
      body: "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x;",
    },
    {
      id: "recursion-to-json",
      ends: ["ERR_RESULT_INVALID", "ERR_LIMIT_SIZE", "ERR_LIMIT_WALL"],
      body: "const o = { toJSON() { return { a: o }; } }; return o;",
    },
    {
      id: "recursion-result",
      ends: ["ERR_LIMIT_SIZE"],
      body: "let a = []; for (let i = 0; i < 5000; i++) a = [a]; return a;",
    },
    {
      id: "recursion-result-deep",
      ends: ["ERR_RESULT_INVALID", "ERR_LIMIT_SIZE", "ERR_LIMIT_WALL"],
      body: "let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a;",
    },
    {
      id: "recursion-op",
      body:
        "let a = []; for (let i = 0; i < 2000; i++) a = [a]; try { return await context.host.echo(a); } catch (e) { return e.code === 'ERR_OP_INVALID' ? 'nothing' : e; }",
    },
    {
      id: "recursion-storage",
      body:
        "let a = []; for (let i = 0; i < 1e5; i++) a = { a }; try { await context.storage.set('deep', a); await context.storage.get('deep'); return 'nothing'; } catch { return 'nothing'; }",
    },
    {
      id: "recursion-console",
      body: "let a = []; for (let i = 0; i < 1e6; i++) a = [a]; console.log(a, { a }); return 'nothing';",
    },
    {
      id: "recursion-clone",
      ends: ["nothing", "ERR_LIMIT_WALL"],
      body:
        "let a = []; for (let i = 0; i < 1e6; i++) a = [a]; try { structuredClone(a); } catch { return 'nothing'; }",
    },
    {
      id: "recursion-cause",
      ...threw,
      body:
        "let e = new Error('0'); for (let i = 0; i < 1e5; i++) e = new Error('x', { cause: e }); throw e;",
    },
    {
      id: "recursion-parse",
      ends: ["nothing", "ERR_LIMIT_MEMORY"],
      body: "try { JSON.parse('['.repeat(1e6)); } catch { return 'nothing'; }",
    },
    {
      id: "recursion-pattern",
      body:
        "try { return new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('x'); } catch { return 'nothing'; }",
    },
    {
      id: "recursion-prototype",
      body:
        "let o = {}; for (let i = 0; i < 1e4; i++) o = Object.create(o); console.log(o, o.x); return 'nothing';",
    },
  ]),
  ...attacks("hostile-throw", { ...ends, ...threw }, [
    { id: "throw-nothing", body: "throw undefined;" },
    { id: "throw-null-prototype", body: "throw Object.create(null);" },
    { id: "throw-symbol", body: "throw Symbol.for('x');" },
    { id: "throw-revoked", body: "const r = Proxy.revocable({}, {}); r.revoke(); throw r.proxy;" },
    {
      id: "throw-in-getters",
      body:
        "throw { get name() { throw this; }, get message() { throw this; }, get stack() { throw this; }, get cause() { throw this; }, get code() { throw this; } };",
    },
    {
      id: "throw-huge",
      body:
        "throw Object.assign(new Error('m'.repeat(1e7)), { name: 'n'.repeat(1e7), code: 'c'.repeat(1e7), stack: 's'.repeat(1e7) });",
    },
    { id: "throw-buffer", body: "throw new Float16Array(8);" },
    { id: "throw-promise", body: "throw Promise.reject(new Error('inner'));" },
    {
      id: "throw-itself",
      body: "const e = new Error('x'); e.cause = e; e.message = e; e.name = e; throw e;",
    },
    {
      id: "throw-prepared",
      body:
        "Error.prepareStackTrace = () => { for (;;); }; class E extends Error { static prepareStackTrace() { for (;;); } } throw new E('x');",
    },
    {
      id: "throw-captured",
      body:
        "const e = {}; Object.defineProperty(e, 'stack', { set() { for (;;); }, get: () => 1, configurable: true }); Error.captureStackTrace(e); throw e;",
    },
    // What a terminal or a log reader would take for something else.
    {
      id: "throw-terminal",
      body:
        "throw new Error('\\x1b[2J\\x1b]0;owned\\x07\\r\\nERR_OK \\u202egnp.exe \\u2066\\u2028\\u0000\\u200b\\ud800');",
    },
    {
      id: "throw-terminal-name",
      body:
        "throw Object.assign(new Error('x'), { name: '\\x1b]8;;http://evil/\\x07Error\\u202e', stack: 'at \\x1b[31m (plugin:p/x.js:1:1)\\n at f (plugin:\\x1b:1:1)' });",
    },
    {
      id: "throw-as-limit",
      body:
        "throw Object.assign(new RangeError('Isolate was disposed during execution due to memory limit'), { code: 'ERR_LIMIT_MEMORY', retryable: true });",
    },
    {
      id: "throw-as-timeout",
      body:
        "throw Object.assign(new Error('Script execution timed out.'), { name: 'LimitError', code: 'ERR_LIMIT_WALL' });",
    },
    {
      id: "throw-as-lost",
      body:
        "throw Object.assign(new Error('The worker process ended during the call'), { name: 'HostError', code: 'ERR_WORKER_LOST', retryable: true });",
    },
    {
      id: "throw-as-refusal",
      body:
        "const e = new Deno.errors.NotCapable('Requires read access to \"/etc\"'); e.code = 'ERR_NOT_CAPABLE'; e.denial = 'd000000000000000000000000-1'; e.kind = 'read'; throw e;",
    },
    {
      id: "throw-map",
      proves: "T29",
      module: `export async function attack({ warm }) {
  if (warm) return "warm";
  throw new Error("mapped");
}
//# sourceURL=plugin:other/../../../host/src/broker.ts
//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbIi4uLy4uL2hvc3Qvc3JjL2Jyb2tlci50cyJdLCJtYXBwaW5ncyI6IkFBQUEifQ==
`,
    },
  ]),
  ...attacks("hostile-rejection", ends, [
    { id: "reject-unhandled", body: "Promise.reject(new Error('nobody handles this')); return 'nothing';" },
    {
      id: "reject-evil",
      ...apart,
      body:
        "Promise.reject({ get message() { for (;;); }, get stack() { for (;;); }, get name() { for (;;); } }); return 'nothing';",
    },
    {
      id: "reject-evil-proxy",
      ...apart,
      body:
        "Promise.reject(new Proxy(new Error('x'), { get() { for (;;); }, getPrototypeOf() { for (;;); }, getOwnPropertyDescriptor() { for (;;); } })); return 'nothing';",
    },
    {
      id: "reject-evil-error",
      ...apart,
      body:
        "const e = new Error('x'); for (const k of ['message', 'stack', 'name']) Object.defineProperty(e, k, { get() { for (;;); } }); Promise.reject(e); return 'nothing';",
    },
    {
      id: "reject-evil-later",
      ...apart,
      ends: ["nothing"],
      body:
        "setTimeout(() => { Promise.reject({ get message() { throw this; } }); }, 1); await new Promise((done) => setTimeout(done, 30)); return 'nothing';",
    },
    { id: "reject-flood", body: "for (let i = 0; i < 2e4; i++) Promise.reject(i); return 'nothing';" },
    {
      id: "reject-huge",
      ...apart,
      body: "Promise.reject(new Error('x'.repeat(1 << 26))); return 'nothing';",
    },
    {
      id: "reject-race",
      body: "await Promise.race([null, Promise.reject(new Error('loser'))]); return 'nothing';",
    },
    {
      id: "reject-timer",
      body:
        "setTimeout(() => { throw { get message() { throw 1; } }; }, 1); await new Promise((done) => setTimeout(done, 30)); return 'nothing';",
    },
    {
      id: "reject-host-ops",
      proves: "T18",
      body: `const seen = [];
  for (const name of ["throwsAtOnce", "rejectsAtOnce", "rejectsLater"]) {
    try { seen.push(await context.host[name]()); } catch (e) { seen.push(e.code === "ERR_OP_FAILED" && !/srv|place/.test(e.message + e.stack)); }
    context.host[name]().catch(() => {});
  }
  return seen.every((x) => x === true) ? "nothing" : seen;`,
    },
  ]),
];

/**
 * Plugins that behave for a while, so that their code may run on the worker's own thread, and then do their worst there.
 */
import type { HostilePlugin } from "../arena.ts";
import { attacks } from "./row.ts";

/** More short calls than make an isolate run inline. */
const CALLS = 24;
const last = (body: string): string => `if (input.n < ${CALLS - 1}) return input.n;\n  ${body}`;
const common = { head: "permissions: { storage: true }\n", calls: CALLS, wallMs: 600 };

/** The table. */
export const INLINE: readonly HostilePlugin[] = [
  ...attacks("inline", { ...common, ends: ["ERR_LIMIT_WALL"] }, [
    { id: "inline-loop", body: last("for (;;) {}") },
    { id: "inline-unrolled", body: last("let a; while (true) { a = new Array(1000); }") },
    { id: "inline-regexp", body: last("return /^(a+)+$/.test('a'.repeat(40) + '!');") },
    { id: "inline-index-of", body: last("return [].indexOf.call({ length: 2 ** 53 - 1 }, 1);") },
    {
      id: "inline-microtasks",
      ends: ["ERR_LIMIT_WALL", "ERR_LIMIT_MEMORY"],
      body: last("const f = () => Promise.resolve().then(f); await f();"),
    },
    { id: "inline-getter", body: last("return { get a() { for (;;); } };") },
    { id: "inline-never", body: last("await new Promise(() => {});") },
    { id: "inline-after-op", body: last("await context.storage.get('a'); for (;;);") },
    { id: "inline-throw", body: last("throw new Proxy(new Error('x'), { get() { for (;;); } });") },
  ]),
  ...attacks("inline", common, [
    {
      id: "inline-rejection",
      ends: ["nothing", "ERR_LIMIT_WALL"],
      body: last(
        "Promise.reject({ get message() { for (;;); }, get stack() { for (;;); }, get name() { for (;;); } }); return 'nothing';",
      ),
    },
    {
      id: "inline-rejected-error",
      ends: ["nothing", "ERR_LIMIT_WALL"],
      body: last(
        "const e = new Error('x'); for (const k of ['message', 'stack', 'name']) Object.defineProperty(e, k, { get() { for (;;); } }); Promise.reject(e); return 'nothing';",
      ),
    },
    {
      id: "inline-late-loop",
      ends: ["nothing", "ERR_LIMIT_WALL"],
      body: last("Promise.resolve().then(async () => { for (;;) await null; }); return 'nothing';"),
    },
    {
      id: "inline-memory",
      wallMs: 20_000,
      ends: ["ERR_LIMIT_MEMORY"],
      body: last("const all = []; for (;;) all.push(new Array(1000).fill(all.length));"),
    },
    {
      id: "inline-memory-at-once",
      wallMs: 20_000,
      ends: ["ERR_LIMIT_MEMORY"],
      body: last("return new Array(1e9).fill(0).length;"),
    },
    {
      id: "inline-recursion",
      ends: ["ERR_GUEST_THREW"],
      body: last("const f = () => f() + 1; return f();"),
    },
    {
      id: "inline-ops",
      wallMs: 4_000,
      ends: ["ERR_LIMIT_OPS"],
      body: last("for (let i = 0; i < 1e6; i++) context.host.echo(i).catch(() => {}); return 'nothing';"),
    },
    {
      id: "inline-lines",
      wallMs: 4_000,
      body: last("for (let i = 0; i < 1e6; i++) console.log(i); return 'nothing';"),
    },
    {
      id: "inline-stacks",
      body: last(
        "const all = []; const take = (f) => { try { f(); } catch (e) { all.push(e.stack); } }; take(() => null.x); take(() => Deno.env.get('X')); const deep = () => { try { deep(); } catch (e) { if (all.length < 50) all.push(e.stack); throw e; } }; take(deep); take(() => console.log(new Error('x'))); return all.some((s) => /file:|node:|worker|\\.ts/.test(s)) ? all.join().slice(0, 300) : 'nothing';",
      ),
    },
    {
      id: "inline-deep-send",
      // The word to the host is said with next to no stack left: what fails there must not show the host's own stack.
      body: last(
        "const seen = new Set(); const dig = (n) => { try { console.log('x'); crypto.randomUUID(); } catch (e) { seen.add(String(e.stack)); } if (n > 0) { try { dig(n - 1); } catch {} } }; let left = 300; const down = () => { try { down(); } catch { if (left-- > 0) { try { dig(3); } catch (e) { seen.add(String(e.stack)); } } throw 0; } }; try { down(); } catch {} return [...seen].some((s) => /file:|node:|worker|\\.ts/.test(s)) ? [...seen].join().slice(0, 500) : 'nothing';",
      ),
    },
  ]),
];

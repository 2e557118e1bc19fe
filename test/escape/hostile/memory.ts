/** Plugins that want more memory than they may have. */
import type { HostilePlugin } from "../arena.ts";
import { attacks } from "./row.ts";

const common = { head: "limits: { memoryMb: 32 }\n", wallMs: 20_000, ends: ["ERR_LIMIT_MEMORY"] };

/** The table. */
export const MEMORY: readonly HostilePlugin[] = [
  ...attacks("memory-growth", common, [
    {
      id: "grow-arrays",
      proves: "T32",
      body: "const all = []; for (;;) all.push(new Array(1000).fill(all.length));",
    },
    { id: "grow-objects", body: "let list = null; for (;;) list = { list, a: {}, b: [1, 2, 3] };" },
    { id: "grow-closures", body: "let f = () => 0; for (;;) { const g = f; f = () => g() + 1; }" },
    { id: "grow-map", body: "const map = new Map(); for (let i = 0;; i++) map.set('key' + i, i);" },
    { id: "grow-set", body: "const set = new Set(); for (let i = 0n;; i++) set.add(i);" },
    { id: "grow-keys", body: "const o = {}; for (let i = 0;; i++) o['some key ' + i] = i;" },
    { id: "grow-promises", body: "const all = []; for (;;) all.push(new Promise(() => {}).then(() => {}));" },
    {
      id: "grow-flat-strings",
      body:
        "const all = []; for (;;) { const s = 'x'.repeat(1 << 22) + all.length; /y$/.test(s); all.push(s); }",
    },
    {
      id: "grow-urls",
      body:
        "const all = []; for (;;) all.push(new URL('http://h/' + all.length), new URLSearchParams('a=1&b=2'));",
    },
  ]),
  ...attacks("memory-at-once", common, [
    { id: "once-fill", proves: "T32", body: "return new Array(1e9).fill(0).length;" },
    { id: "once-spread", body: "return [...'.'.repeat(3e8)].length;" },
    { id: "once-parse", body: "return JSON.parse('[' + '{},'.repeat(4e6) + '{}]').length;" },
    { id: "once-split", body: "return 'a,'.repeat(5e7).split(',').length;" },
    { id: "once-concat", body: "let a = new Array(1e6).fill({}); for (;;) a = a.concat(a);" },
    { id: "once-match", body: "return 'ab'.repeat(5e7).match(/a/g).length;" },
    {
      id: "once-clone",
      body: "let o = [{ a: 1 }]; for (;;) o = [structuredClone(o), structuredClone(o), o];",
    },
    // The platform's own copies are held to the same bound.
    {
      id: "once-encode",
      ends: ["ERR_LIMIT_MEMORY", "ERR_GUEST_THREW"],
      body: "const all = []; for (;;) all.push(new TextEncoder().encode('é'.repeat(1 << 22)));",
    },
    { id: "once-atob", body: "const all = []; for (;;) all.push(atob('QUJD'.repeat(1 << 20)));" },
  ]),
  // The engine refuses the buffer first, by an error that the plugin may catch; then the isolate is gone.
  ...attacks("memory-buffers", { ...common, ends: ["ERR_LIMIT_MEMORY", "ERR_GUEST_THREW"] }, [
    {
      id: "buffers-kept",
      body: "const all = []; for (;;) { const u = new Uint8Array(1 << 22); u.fill(1); all.push(u); }",
    },
    {
      id: "buffers-sliced",
      body: "let b = new ArrayBuffer(1 << 20); const all = []; for (;;) { all.push(b = b.slice(0)); }",
    },
    {
      id: "buffers-copied",
      body:
        "const all = []; const v = new Uint8Array(1 << 22); for (;;) all.push(Uint8Array.from(v), v.map((x) => x + 1));",
    },
    {
      id: "buffers-grow",
      ends: ["nothing"],
      body: `const all = [];
  for (const make of [
    () => new ArrayBuffer(8, { maxByteLength: 2 ** 30 }),
    () => Reflect.construct(ArrayBuffer, [8, { maxByteLength: 2 ** 30 }], class extends ArrayBuffer {}),
    () => new (new Float64Array(1).buffer.constructor)(8, { maxByteLength: 2 ** 30 }),
    () => new (Object.getPrototypeOf(ArrayBuffer))(8, { maxByteLength: 2 ** 30 }),
    () => structuredClone(new ArrayBuffer(8), { maxByteLength: 2 ** 30 }),
    () => new ArrayBuffer(8).transfer(16),
    () => new SharedArrayBuffer(8, { maxByteLength: 2 ** 30 }),
    () => new WebAssembly.Memory({ initial: 1, maximum: 65536 }).buffer,
  ]) {
    try { const made = make(); made.resize?.(2 ** 30); if (made.byteLength > 1e6) return make + ""; } catch {}
    try { make().grow(2 ** 30); return make + ""; } catch {}
  }
  return "nothing";`,
    },
    {
      id: "buffers-huge",
      ends: ["nothing"],
      body:
        `for (const n of [2 ** 32, 2 ** 40, 2 ** 53 - 1, Infinity, -1]) { try { return new ArrayBuffer(n).byteLength; } catch {} }
  return "nothing";`,
    },
  ]),
  ...attacks("memory-strings", common, [
    {
      id: "strings-double",
      ends: ["nothing"],
      body: "let s = 'x'; try { for (;;) s += s; } catch { return 'nothing'; }",
    },
    {
      id: "strings-replace",
      ends: ["nothing"],
      body:
        "try { return 'a'.repeat(2 ** 20).replaceAll('a', 'b'.repeat(2 ** 10)).length; } catch { return 'nothing'; }",
    },
    {
      id: "strings-pad",
      ends: ["nothing", "ERR_LIMIT_MEMORY"],
      body: "try { return ''.padEnd(2 ** 31, 'x').length; } catch { return 'nothing'; }",
    },
    // Ropes cost nothing until they are read: the answer reads them.
    {
      id: "strings-rope",
      ends: ["ERR_LIMIT_MEMORY", "ERR_LIMIT_SIZE"],
      body: "let s = 'x'.repeat(1000); while (s.length < 2 ** 28) s += s; return s;",
    },
    {
      id: "strings-rope-nested",
      ends: ["ERR_LIMIT_MEMORY", "ERR_LIMIT_SIZE", "ERR_RESULT_INVALID"],
      body:
        "let s = 'x'.repeat(1000); while (s.length < 2 ** 26) s += s; return { a: [s, s, s, s, s, s, s, s] };",
    },
    {
      id: "strings-bigint",
      ends: ["ERR_LIMIT_MEMORY", "ERR_LIMIT_WALL", "nothing"],
      wallMs: 1_500,
      body: "let x = 3n; try { for (;;) x *= x; } catch { return 'nothing'; }",
    },
  ]),
];

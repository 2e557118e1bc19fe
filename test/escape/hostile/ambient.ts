/** Plugins that reach for what is not theirs: files, the environment, the network, programs, their neighbours. */
import type { HostilePlugin } from "../arena.ts";
import { attacks } from "./row.ts";

const files = {
  plugin: "files",
  head: "permissions: { read: ['./data'], write: ['$data'], storage: true }\n",
};
/** Tries each act; one that gives anything got something. */
const tries = (list: string, act: string): string =>
  `for (const p of [${list}]) { try { const got = await (${act}); if (got !== undefined && got !== null) return String(p) + " gave " + JSON.stringify(got); } catch {} }
  return "nothing";`;
const OUTSIDE = [
  "'../outside.txt'",
  "'../../outside.txt'",
  "'data/../../../outside.txt'",
  "'$OUTSIDE'",
  "'file://$OUTSIDE'",
  "new URL('file://$OUTSIDE')",
  "'data/..//../..//outside.txt'",
  "'./data/./../../../outside.txt'",
  "'data/../plugin.yaml'",
  "'data\\\\..\\\\..\\\\outside.txt'",
  "'data/a.txt\\0/../../outside.txt'",
  "'$OUTSIDE\\0'",
  "'//$OUTSIDE'",
  "'/proc/self/environ'",
  "'/proc/self/root$OUTSIDE'",
  "'/proc/self/fd/3'",
  "'/dev/fd/0'",
  "'/dev/stdin'",
  "'/etc/passwd'",
  "'~/.ssh/id_rsa'",
  "'$HOME/.profile'",
  "'$data/../../../outside.txt'",
  "'data/%2e%2e/%2e%2e/outside.txt'",
  "'data/．．/outside.txt'",
  "'plugin:../outside.txt'",
  "''",
  "'.'",
  "'/'",
  "'x'.repeat(5000)",
].join(", ");

/** The table. */
export const AMBIENT: readonly HostilePlugin[] = [
  ...attacks("paths", files, [
    { id: "path-read", body: tries(OUTSIDE, "Deno.readTextFile(p)") },
    { id: "path-read-bytes", body: tries(OUTSIDE, "Deno.readFile(p)") },
    { id: "path-stat", body: tries(OUTSIDE, "Deno.stat(p)") },
    {
      id: "path-list",
      body: tries(
        "'..', '../..', '/', '/proc/self', '/tmp', '.', 'data/..'",
        "(async () => { const all = []; for await (const e of Deno.readDir(p)) all.push(e.name); return all; })()",
      ),
    },
    { id: "path-write", body: tries(OUTSIDE, "Deno.writeTextFile(p, 'owned').then(() => 'written')") },
    {
      id: "path-make",
      body: tries(
        "'../made', '$OUTSIDE.d', '$data/../made', 'data/made', '/tmp/sallyport-arena-made'",
        "Deno.mkdir(p, { recursive: true }).then(() => 'made')",
      ),
    },
    { id: "path-remove", body: tries(OUTSIDE, "Deno.remove(p, { recursive: true }).then(() => 'removed')") },
    {
      id: "path-rename",
      body: `await Deno.writeTextFile("$data/mine", "x");\n${
        tries(
          OUTSIDE,
          "Promise.any([Deno.rename('$data/mine', p), Deno.rename(p, '$data/theirs')]).then(() => 'renamed')",
        )
      }`,
    },
    {
      id: "path-oracle",
      proves: "T18",
      body:
        "const name = (p) => Deno.stat(p).then(() => 'there', (e) => e.name + e.message.replaceAll(p, '')); const a = await name('$OUTSIDE'), b = await name('$OUTSIDE.not'); return a === b ? 'nothing' : [a, b];",
    },
    {
      id: "path-changes-mind",
      body:
        "let n = 0; const p = { toString: () => n++ ? '$OUTSIDE' : 'data/a.txt', toJSON: () => '$OUTSIDE', href: 'file://$OUTSIDE' }; for (const x of [p, [ '$OUTSIDE' ], new String('$OUTSIDE'), Object.assign(new URL('file:///x'), { toString: () => '$OUTSIDE' })]) { try { return await Deno.readTextFile(x); } catch {} } return 'nothing';",
    },
  ]),
  ...attacks("ambient", {
    plugin: "ambient",
    head: "permissions: { env: ['GRANTED_*'], net: ['api.example.com:443'] }\n",
  }, [
    {
      id: "ambient-env",
      body: tries(
        "'HOLDOUT_CANARY', 'UNGRANTED', 'PATH', 'HOME', '__proto__', 'constructor', 'GRANTED_A\\0', 'toString', { toString: () => 'UNGRANTED' }",
        "Deno.env.get(p)",
      ),
    },
    {
      id: "ambient-env-list",
      body:
        "const all = Deno.env.toObject(); return Object.keys(all).join() === 'GRANTED_A' && typeof HOLDOUT_CANARY === 'undefined' ? 'nothing' : all;",
    },
    {
      id: "ambient-sys",
      body: tries(
        "'hostname', 'osRelease', 'osUptime', 'loadavg', 'networkInterfaces', 'systemMemoryInfo', 'uid', 'gid'",
        "Deno[p]()",
      ),
    },
    {
      id: "ambient-deno",
      body: tries(
        "'core', 'internal', 'run', 'exit', 'kill', 'pid', 'ppid', 'cwd', 'chdir', 'execPath', 'mainModule', 'args', 'build', 'version', 'open', 'listen', 'connect', 'serve', 'symlink', 'link', 'makeTempFile', 'UnsafePointer', 'bundle', 'resources', 'stdin', Symbol.for('Deno.internal')",
        "Deno[p]",
      ),
    },
    {
      id: "ambient-run",
      body: tries(
        "'sh', '/bin/sh', 'node', '/proc/self/exe', './ambient-run.js'",
        "new Deno.Command(p, { args: ['-c', 'id'] }).output()",
      ),
    },
    {
      id: "ambient-ffi",
      body: tries("'libc.so.6', './data/a.txt', { toString: () => 'libc.so.6' }", "Deno.dlopen(p, {})"),
    },
    {
      id: "ambient-net",
      body: tries(
        [
          "http://127.0.0.1:$PORT/",
          "http://localhost:$PORT/",
          "http://[::1]:$PORT/",
          "http://0:$PORT/",
          "http://2130706433:$PORT/",
          "http://0x7f.1:$PORT/",
          "http://api.example.com@127.0.0.1:$PORT/",
          "http://127.0.0.1:$PORT#@api.example.com:443/",
          "http://127.0.0.1.:$PORT/",
          "https://127.0.0.1:443/",
          "http://169.254.169.254/latest/meta-data/",
          "file:///etc/passwd",
          "data:text/plain,x",
          "blob:null/x",
          "http:/\\\\127.0.0.1:$PORT/",
          "ftp://127.0.0.1/",
          "unix:/var/run/docker.sock",
        ].map((url) => `'${url}'`).join(", "),
        "fetch(p).then((r) => r.text())",
      ),
    },
    {
      id: "ambient-net-split",
      body:
        "let n = 0; const flips = { toString: () => n++ ? 'http://127.0.0.1:$PORT/' : 'https://api.example.com/', get url() { return 'http://127.0.0.1:$PORT/'; } }; for (const make of [() => fetch(flips), () => fetch('http://127.0.0.1:$PORT/', { headers: [['host', 'api.example.com']] }), () => fetch(new Request('http://127.0.0.1:$PORT/')), () => fetch('http://127.0.0.1:$PORT/', { method: 'POST\\r\\nX: y' }), () => fetch('http://127.0.0.1:$PORT/', { headers: { 'x\\r\\ny': 'z' } })]) { try { return await (await make()).text(); } catch {} } return 'nothing';",
    },
    {
      id: "ambient-secret",
      body:
        "for (const headers of [{ authorization: '{TOKEN}' }, { authorization: '${TOKEN}' }, { 'x-secret': 'TOKEN' }]) { try { return await (await fetch('http://127.0.0.1:$PORT/', { headers })).text(); } catch {} } return 'nothing';",
    },
    {
      id: "ambient-permissions",
      body:
        "const all = ['read', 'write', 'net', 'run', 'env', 'sys', 'ffi', 'secrets', 'dynamicCode', 'wasm', 'call']; for (const name of all) { for (const verb of ['query', 'request']) { try { const s = await Deno.permissions[verb]({ name }); if (s.state !== 'denied') return name + ' ' + s.state; } catch {} } } try { return await Deno.readTextFile('/etc/passwd'); } catch {} return 'nothing';",
    },
    {
      id: "ambient-grant-itself",
      body:
        "try { Object.assign(Deno.permissions, { query: () => ({ state: 'granted' }) }); } catch {} try { Deno.env.get = () => 'x'; } catch {} try { Object.defineProperty(Deno, 'permissions', { value: {} }); } catch {} try { context.permissions = context.grants = { read: true }; } catch {} try { return await Deno.readTextFile('$OUTSIDE'); } catch { return 'nothing'; }",
    },
  ]),
  ...attacks("neighbour", files, [
    {
      id: "neighbour-storage",
      body: tries(
        "'secret', '../neighbour/secret', 'neighbour/secret', 'neighbour\\0secret', '%', '_', 'secret\\0', \"' OR 1=1 --\", '__proto__', 'constructor'",
        "context.storage.get(p)",
      ),
    },
    {
      id: "neighbour-storage-list",
      body: tries(
        "'', '%', '_', '../', 'sec', \"x' OR '1'='1\", '*', '\\0'",
        "context.storage.list(p).then((all) => all.length ? all : undefined)",
      ),
    },
    {
      id: "neighbour-storage-type",
      body: tries(
        "['secret'], { toString: () => 'secret' }, 0, null, undefined, true, Symbol('secret'), 10n, new String('secret')",
        "context.storage.get(p)",
      ),
    },
    {
      id: "neighbour-globals",
      body:
        "return ['NEIGHBOUR', 'HOLDOUT_CANARY', 'secret', 'neighbour'].filter((name) => name in globalThis).join() || 'nothing';",
    },
    {
      id: "neighbour-pollute",
      body:
        "Object.prototype.polluted = 1; globalThis.NEIGHBOUR = 'mine'; await context.storage.set('secret', 'mine'); delete Object.prototype.polluted; return 'nothing';",
    },
    {
      id: "neighbour-quota",
      plugin: undefined,
      ends: ["nothing"],
      body:
        "let n = 0; const text = 'x'.repeat(1_000_000); try { for (;;) await context.storage.set('k' + n++, text); } catch (e) { return n < 20 ? 'nothing' : n + ' ' + e; }",
    },
  ]),
  ...attacks("dispatch-inherit", { plugin: "dispatch", head: "permissions: { storage: true }\n" }, [
    {
      id: "dispatch-names",
      body: tries(
        "'constructor', '__proto__', 'toString', 'hasOwnProperty', 'read_text_file', 'storage_get', 'run', 'then', Symbol.iterator, ['echo', 'x'], new String('stat'), { toString: () => 'read_file' }",
        "context.host[p]?.('/etc/passwd')",
      ),
    },
    {
      id: "dispatch-bound",
      body: `const echo = context.host.echo; const got = [];
  for (const call of [() => echo.call({ name: "stat" }, "/x"), () => echo.apply(null, ["read_text_file", ["/etc/passwd"]]), () => new echo("x"), () => Reflect.construct(echo, [])]) { try { got.push(await call()); } catch {} }
  return JSON.stringify(got) === '[["/x"],["read_text_file",["/etc/passwd"]]]' ? "nothing" : got;`,
    },
    {
      id: "dispatch-injection",
      body:
        `for (const text of ['"],["stat",["/"]', '\\\\"]]', '\\u2028', '\\ud800', ']]}', '"]],"ok":true', 'o1:["stat",["/"]]', '\\0', '{"ok":true}']) {
    const [back] = await context.host.echo(text); if (back !== text && text !== '\\ud800') return [text, back];
    await context.storage.set(text, text).catch(() => {}); const kept = await context.storage.get(text).catch(() => text); if (kept !== text) return "stored " + text;
  }
  return "nothing";`,
    },
    {
      id: "dispatch-results",
      body:
        `const [o] = await context.host.echo(JSON.parse('{"__proto__":{"admin":1},"constructor":{"prototype":{"admin":1}},"then":"x","toJSON":"y"}'));
  const v = await context.host.answersTwice();
  return Object.hasOwn(o, "__proto__") && ({}).admin === undefined && Object.getPrototypeOf(o) === Object.prototype && v.hidden === undefined && typeof v.then === "string" ? "nothing" : [o, v];`,
    },
    {
      id: "dispatch-values",
      body:
        `let n = 0; for (const v of [() => 1, class A {}, new WeakMap(), new WeakSet(), Symbol("x"), globalThis, new Map([[1, 2]]), new Float16Array(4), new DataView(new ArrayBuffer(8)), new BigInt64Array(2), Promise.resolve(1), new Proxy(() => {}, {}), 10n, undefined, NaN, -0]) {
    try { const [r] = await context.host.echo(v); if (typeof r === "function" || ArrayBuffer.isView(r)) n++; } catch {}
  }
  return n === 0 ? "nothing" : n;`,
    },
  ]),
];

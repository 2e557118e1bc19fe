import { Bench } from "./harness.ts";
const bench = new Bench();
const evil = "{ get message() { for (;;); }, get stack() { for (;;); } }";
for (const body of [`Promise.reject(${evil}); await new Promise(() => {});`, `throw ${evil};`, `return { toJSON() { for (;;); } };`]) {
  const o = await bench.once(`async () => { ${body} }`, { wallMs: 1500 });
  console.log(body.slice(0, 20), o.code, o.tookMs, o.error?.details, await bench.pool.pids());
  await new Promise((r) => setTimeout(r, 1000));
}
await bench.pool.close();

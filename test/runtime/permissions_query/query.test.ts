import { afterAll, beforeAll, expect, test } from "vitest";
import { Bench } from "../harness.ts";

let bench: Bench;
beforeAll(() => {
  bench = new Bench({ sealed: () => ["/srv/in/sealed"] });
});
afterAll(() => bench[Symbol.asyncDispose]());

const PERMISSIONS = {
  read: { allow: ["/srv/in"], deny: ["/srv/in/denied"] },
  net: ["api.example.com:443"],
  env: ["APP_*"],
  sys: ["hostname"],
  storage: true,
} as const;

async function query(descriptor: unknown): Promise<unknown> {
  const { value, error } = await bench.once(
    `async (descriptor) => { try { return await Deno.permissions.query(descriptor); } catch (e) { return e.name; } }`,
    { permissions: PERMISSIONS, cwd: "/srv/in", input: descriptor },
  );
  if (error !== undefined) throw error;
  return typeof value === "object" && value !== null && "state" in value ? value.state : value;
}

test("Deno.permissions.query tells what is granted, one value at a time", async () => {
  for (
    const [descriptor, state] of [
      [{ name: "read", path: "/srv/in/file" }, "granted"],
      [{ name: "read", path: "file" }, "granted"],
      [{ name: "read", path: "/srv/other" }, "denied"],
      [{ name: "read" }, "denied"],
      [{ name: "write", path: "/srv/in" }, "denied"],
      [{ name: "net", host: "api.example.com:443" }, "granted"],
      [{ name: "net", host: "api.example.com:80" }, "denied"],
      [{ name: "env", variable: "APP_KEY" }, "granted"],
      [{ name: "env", variable: "HOME" }, "denied"],
      [{ name: "sys", kind: "hostname" }, "granted"],
      [{ name: "storage" }, "granted"],
      [{ name: "run", command: "ls" }, "denied"],
      [{ name: "nonsense" }, "TypeError"],
      [null, "TypeError"],
    ] as const
  ) expect(await query(descriptor), JSON.stringify(descriptor)).toBe(state);
});

test("[T18] it tells nothing of what is denied or sealed but what trying would tell, and is counted, not logged", async () => {
  const before = bench.events.length;
  const absent = await bench.once(`() => Deno.permissions.query({ name: "read", path: "/srv/none" })`, {
    permissions: PERMISSIONS,
  });
  for (const path of ["/srv/in/denied", "/srv/in/sealed", "/srv/in/sealed/x"]) {
    const denied = await bench.once(`() => Deno.permissions.query({ name: "read", path: "${path}" })`, {
      permissions: PERMISSIONS,
    });
    expect(denied.value).toEqual(absent.value);
    expect(denied.denials).toEqual([]);
  }
  expect(absent.value).toEqual({ name: "read", state: "denied", partial: false, onchange: null });
  expect(bench.events.length).toBe(before);
});

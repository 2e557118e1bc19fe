import { readdirSync } from "node:fs";
import process from "node:process";
import { describe, expect, onTestFinished, test } from "vitest";
import { type RecordedFetch, type TestOptions, testPlugin } from "../../src/testing/mod.ts";
import { failureOf, temporary, write } from "../host/support.ts";

const MANIFEST = `name: desk
version: "1.0.0"
permissions:
  net: ["api.example.com:443", "localhost:8080"]
  env: [WORD]
  read: ["./data"]
  storage: { maxBytes: 65536 }
capabilities:
  tools:
    - { name: get, target: "desk.js:get" }
    - { name: word, target: "desk.js:word" }
    - { name: now, target: "desk.js:now" }
  commands:
    - { name: say, target: "desk.js:say" }
  panels:
    - { name: status, target: "desk.js:status" }
`;

const CODE = `
export async function get({ url, method, body }) {
  const response = await fetch(url, { method, body });
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
}
export const word = () => Deno.env.get("WORD") + " " + Deno.readTextFileSync?.name;
export const now = () => ({
  now: Date.now(), made: new Date().toISOString(), told: new Date("2020-01-01T00:00:00Z").toISOString(),
  is: new Date() instanceof Date, text: typeof Date(), year: Date.UTC(2020),
});
export const say = ({ args }) => { console.log("said", args); return args; };
export const status = () => ({ type: "text", text: "fine" });
`;

function plugin(options: TestOptions = {}) {
  const directory = temporary();
  write(directory, { "plugin.yaml": MANIFEST, "desk.js": CODE, "data/a.txt": "a" });
  return testPlugin(directory, options);
}

const API = "https://api.example.com/v1";

describe("recorded fetches", () => {
  test("what is recorded answers: by method, in its order, the last again and again", async () => {
    const fetches: readonly RecordedFetch[] = [
      { request: `${API}/a`, response: { body: { n: 1 } } },
      {
        request: `GET ${API}/a`,
        response: { status: 404, headers: { "Content-Type": "text/plain" }, body: "no" },
      },
      { request: `post ${API}/a`, response: { status: 201 } },
      { request: `${API}/from`, response: { status: 302, headers: { location: "/v1/to" } } },
      { request: `${API}/to`, response: { body: new Uint8Array([104, 105]) } },
      { request: "http://localhost:8080/", response: { body: "here" } },
    ];
    await using desk = await plugin({ fetches });
    expect(await desk.call("get", { url: `${API}/a#part` })).toEqual({
      status: 200,
      type: "application/json",
      text: '{"n":1}',
    });
    for (let times = 0; times < 2; times++) {
      expect(await desk.call("get", { url: `${API}/a` })).toEqual({
        status: 404,
        type: "text/plain",
        text: "no",
      });
    }
    expect(await desk.call("get", { url: `${API}/a`, method: "POST", body: "hi" })).toMatchObject({
      status: 201,
    });
    expect(await desk.call("get", { url: `${API}/from` })).toMatchObject({ status: 200, text: "hi" });
    expect(await desk.call("get", { url: "http://localhost:8080/" })).toMatchObject({ text: "here" });
    expect(desk.fetched.map(({ method, url, body }) => [method, url, body && Buffer.from(body).toString()]))
      .toEqual([
        ["GET", `${API}/a`, null],
        ["GET", `${API}/a`, null],
        ["GET", `${API}/a`, null],
        ["POST", `${API}/a`, "hi"],
        ["GET", `${API}/from`, null],
        ["GET", `${API}/to`, null],
        ["GET", "http://localhost:8080/", null],
      ]);
  });

  test("what is not recorded fails and names its URL; what is not granted is refused as it will be", async () => {
    const fetches = [
      { request: "https://evil.example/", response: { body: "caught" } },
      { request: `${API}/out`, response: { status: 302, headers: { location: "https://evil.example/" } } },
    ];
    await using desk = await plugin({ fetches });
    const missing = await failureOf(desk.call("get", { url: `${API}/missing` }));
    expect(missing.code).toBe("ERR_GUEST_THREW");
    expect(missing.message).toContain(`no answer is recorded for GET ${API}/missing`);
    for (const url of ["https://evil.example/", `${API}/out`]) {
      expect((await failureOf(desk.call("get", { url }))).code).toBe("ERR_NOT_CAPABLE");
    }
    expect(desk.denials).toHaveLength(2);
    expect(desk.fetched.map(({ url }) => url)).toEqual([`${API}/missing`, `${API}/out`]);
    expect((await failureOf(plugin({ fetches: [{ request: "nowhere", response: {} }] }))).code).toBe(
      "ERR_USAGE",
    );
  });

  test("less than is declared may be granted, and then less is allowed", async () => {
    const fetches = [{ request: `${API}/a`, response: { body: "yes" } }];
    await using desk = await plugin({ fetches, env: { WORD: "a word" }, grants: { env: ["WORD"] } });
    expect((await failureOf(desk.call("get", { url: `${API}/a` }))).code).toBe("ERR_NOT_CAPABLE");
    expect(await desk.call("word")).toContain("a word");
  });
});

test("tools, commands and panels are reached by the names of the manifest", async () => {
  await using desk = await plugin({ env: { WORD: "a word" } });
  expect(desk.name).toBe("desk");
  expect(await desk.call("word")).toContain("a word");
  expect(await desk.command("say", "two words")).toBe("two words");
  expect(desk.lines.map(({ text }) => text)).toEqual(["said two words"]);
  expect(await desk.panel("status")).toEqual({ view: [{ type: "text", text: "fine" }], text: "fine" });
  expect(await desk.emit({ name: "SessionStart" })).toMatchObject({ verdict: "continue", diagnostics: [] });
  expect((await desk.tenant.snapshot()).tools).toHaveLength(3);
  expect((await failureOf(desk.call("nope"))).code).toBe("ERR_CAPABILITY_UNKNOWN");
});

test("the clock stands still where it is told to, and no other way of asking for a date changes", async () => {
  const at = Date.UTC(2026, 1, 3);
  await using desk = await plugin({ clock: new Date(at) });
  expect(await desk.call("now")).toEqual({
    now: at,
    made: "2026-02-03T00:00:00.000Z",
    told: "2020-01-01T00:00:00.000Z",
    is: true,
    text: "string",
    year: Date.UTC(2020),
  });
  await using real = await plugin();
  expect((await real.call("now") as { now: number }).now).toBeGreaterThan(at);
  expect((await failureOf(plugin({ clock: "no time" }))).code).toBe("ERR_USAGE");
});

test("a plugin that is none is refused, and nothing of a test is left behind", async () => {
  const [empty, directory] = [temporary(), temporary()];
  write(directory, { "plugin.yaml": MANIFEST, "desk.js": CODE, "data/a.txt": "a" });
  const { TMPDIR } = process.env;
  const place = temporary();
  process.env.TMPDIR = place;
  onTestFinished(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  });
  const homes = (): readonly string[] => readdirSync(place);
  expect((await failureOf(testPlugin(empty))).code).toBe("ERR_MANIFEST_NOT_FOUND");
  const desk = await testPlugin(directory);
  await desk.call("now");
  expect(homes()).toHaveLength(1);
  await desk.close();
  expect(homes()).toEqual([]);
});

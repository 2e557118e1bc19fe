import { beforeAll, expect, test } from "vitest";
import { errorToJson, type Tenant } from "../../src/mod.ts";
import { approve, failureOf, hosted, temporary, write } from "./support.ts";

const MANIFEST = `name: desk
version: "1.0.0"
permissions:
  env: [WORD]
capabilities:
  tools:
    - name: look
      target: "desk.js:look"
      input: { type: object, properties: { what: { type: string } } }
      output: { type: object, properties: { found: { type: integer } }, required: [found] }
      annotations: { title: Look, readOnlyHint: true, openWorldHint: false }
    - { name: plain, target: "desk.js:plain" }
    - { name: gone, target: "desk.js:gone" }
`;

const CODE = `
export function look({ what }) {
  if (what === "thrown") throw new Error("no such drawer");
  if (what === "text") return { isError: true, content: "no such drawer" };
  if (what === "parts") return { isError: true, content: [{ type: "text", text: "no such \\u001b[31mdrawer" }] };
  return { found: 3 };
}
export const plain = (input) => input;
`;

let tenant: Tenant;

beforeAll(async () => {
  const directory = temporary();
  write(directory, { "plugin.yaml": MANIFEST, "desk.js": CODE });
  tenant = (await hosted()).tenant("acme", { plugins: [directory], policy: { permissions: { env: true } } });
  await approve(tenant, "desk");
});

const look = (what: unknown) => tenant.call("plugin__desk__look", { what });

test("[R08] a tool's own failure, thrown or given, is one shape, and a call that could not run is another", async () => {
  for (const what of ["thrown", "text"]) {
    const own = await failureOf(look(what));
    expect(own).toMatchObject({ name: "GuestError", code: "ERR_GUEST_THREW", retryable: false });
    expect(own.message).toMatch(/^Plugin "desk" failed: .*no such drawer$/);
  }
  expect(errorToJson(await failureOf(look("text"))).details).toEqual({
    isError: true,
    content: "no such drawer",
  });
  const parts = await failureOf(look("parts"));
  expect(parts.details).toEqual({
    isError: true,
    content: [{ type: "text", text: "no such \u001b[31mdrawer" }],
  });
  expect(parts.message).toContain("no such \\u001b[31mdrawer");
  expect(await look("there")).toEqual({ found: 3 });

  const neverRan = [
    () => look(7),
    () => tenant.call("plugin__desk__nope", {}),
    () => tenant.call("plugin__desk__gone", {}),
    () => tenant.call("plugin__desk__plain", []),
  ];
  for (const call of neverRan) {
    const error = await failureOf(call());
    expect(error.code).not.toBe("ERR_GUEST_THREW");
    expect(error.name).not.toBe("GuestError");
    expect(error.details).not.toHaveProperty("isError");
  }
});

test("only what is nothing but a failure is taken for one", async () => {
  const results = [
    { isError: true },
    { isError: false, content: "fine" },
    { isError: "true", content: "fine" },
    { isError: true, content: "fine", rows: [] },
    { content: "fine" },
  ];
  for (const result of results) expect(await tenant.call("plugin__desk__plain", result)).toEqual(result);
  const failed = await failureOf(tenant.call("plugin__desk__plain", { isError: true, content: null }));
  expect(failed.details).toEqual({ isError: true, content: null });
});

test("what a tool says of its own effects is in the list, the snapshot and the plan", async () => {
  const annotations = { title: "Look", readOnlyHint: true, openWorldHint: false };
  const [row] = await tenant.list();
  expect(row!.capabilities[0]).toMatchObject({ id: "plugin__desk__look", annotations });
  expect(row!.capabilities[1]).not.toHaveProperty("annotations");
  const [entry, plain] = (await tenant.snapshot()).tools;
  expect(entry).toMatchObject({ id: "plugin__desk__look", annotations });
  expect(plain).not.toHaveProperty("annotations");
  const { capabilities } = await tenant.plan();
  expect(capabilities.find(({ id }) => id === "plugin__desk__look")).toMatchObject({ annotations });
});

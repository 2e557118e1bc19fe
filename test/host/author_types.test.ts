/** The handlers of `authors_plugin` are written with the types for authors, and are held to them with the rest of the repository. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type PluginUnderTest, testPlugin } from "../../src/testing/mod.ts";
import * as handlers from "./authors_plugin/handlers.ts";
import { failureOf } from "./support.ts";

let plugin: PluginUnderTest;

beforeAll(async () => {
  plugin = await testPlugin(join(import.meta.dirname, "authors_plugin"));
});

afterAll(() => plugin.close());

test("[A15] what tools and lifecycle code give by the types for authors is what the host takes", async () => {
  expect(await plugin.call("registered", { name: "you" })).toBe("authors greets you");
  expect(await failureOf(plugin.call("fail"))).toMatchObject({
    code: "ERR_GUEST_THREW",
    details: { isError: true, content: { why: "on purpose" } },
  });
});

test("[A15] and what commands and panels give", async () => {
  expect(await plugin.command("words", "a 'b c'")).toBe("a 'b c': 2");
  expect(await plugin.tenant.panels.submit("authors/everything", "words", { text: "x", number: 1 })).toBe(
    "text,number",
  );
  const { view } = await plugin.panel("everything");
  expect(view.map(({ type }) => type)).toEqual([
    "text",
    "list",
    "table",
    "card",
    "form",
    "progress",
    "notification",
  ]);
});

test("[A15] and what hooks, guardrails and interceptors say", async () => {
  expect(await plugin.call("double", { value: 1 })).toEqual({ value: 4 });
  expect(await plugin.call("double", { value: 5 })).toEqual({ value: 100 });
  const blocked = await failureOf(plugin.call("double", { value: 12 }));
  expect(blocked.message).toContain("tool.input of plugin__authors__double");
});

test("[A15] and what providers answer", async () => {
  expect(await Array.fromAsync(plugin.stream("counter", { to: 2 }))).toEqual([
    { count: 1 },
    { count: 2 },
    "done",
  ]);
});

test("each of them is behind something in the manifest", async () => {
  const { capabilities, lifecycle } = await plugin.tenant.manifest("authors");
  const manifest = JSON.stringify({ capabilities, lifecycle });
  expect(Object.keys(handlers)).toHaveLength(10);
  for (const name of Object.keys(handlers)) expect(manifest).toContain(`handlers.ts:${name}"`);
});

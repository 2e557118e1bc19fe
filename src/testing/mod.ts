/**
 * Tests a plugin offline, in its author's own test runner: what is declared is granted, what is recorded answers, and all else
 * is as it will be.
 *
 * @example
 * ```ts
 * await using plugin = await testPlugin("./examples/word-count");
 * await plugin.call("count", { text: "a b a" });
 * ```
 *
 * @module
 */
export { PluginUnderTest, type TestOptions, testPlugin } from "./plugin_under_test.ts";
export type { MadeFetch, RecordedFetch, RecordedResponse } from "./recorded_net.ts";

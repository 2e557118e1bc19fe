/** Matchers: a plugin's patterns in a linear engine, anchored, against the full id and the bare name (T19). */
import { describe, expect, test } from "vitest";
import { createHost, type ManifestIssue, parseManifest, type SallyportError } from "../../src/mod.ts";
import { matcherOf } from "../../src/points/matcher.ts";
import { opened, standing } from "./points_support.ts";
import { failureOf, hosted, temporary } from "./support.ts";

const OPEN = { permissions: { observe: true } } as const;
const WEB = { fullId: "plugin__x__web_search", name: "web_search" };

/** What is wrong with a manifest that has this matcher. */
function issuesOf(matcher: string, event = "PreToolUse"): readonly ManifestIssue[] {
  const text = `name: guard
version: "1"
capabilities:
  hooks:
    ${event}:
      - matcher: ${JSON.stringify(matcher)}
        hooks: [{ type: module, target: "h.ts:h" }]
`;
  try {
    parseManifest(Buffer.from(text), { file: "plugin.yaml" });
    return [];
  } catch (error) {
    return (error as SallyportError).details.issues as readonly ManifestIssue[];
  }
}

describe("[T19] a matcher", { timeout: 60_000 }, () => {
  test.each([
    ["web_search", true],
    ["plugin__x__web_search", true],
    ["plugin__.*__web_.*", true],
    ["fetch|web_search", true],
    ["(?i)WEB_SEARCH", true],
    ["*", true],
    ["web", false],
    ["search", false],
    ["web_search.+", false],
    ["x__web_search", false],
    ["plugin__x", false],
    ["^web_sea$", false],
    ["web_search\\n?", true],
  ])("%s is anchored at both ends, and tried on the full id and the bare name", (matcher, expected) => {
    expect(matcherOf(matcher)(WEB)).toBe(expected);
  });

  test("absent means every target", () => {
    expect(matcherOf(undefined)(WEB)).toBe(true);
  });

  test("guards a call whichever way it is spelled, and no other", async () => {
    for (
      const [id, matcher] of [["a", "web_search"], ["b", "plugin__x__web_search"], ["c", "plugin__x__web.*"]]
    ) {
      const x = standing("x", { tools: { web_search: "return 1;", search: "return 2;" } });
      const guard = standing("guard", {
        permissions: `{ observe: ["tool.input x"] }`,
        hooks: [{
          event: "PreToolUse",
          matcher: matcher!,
          code: `return { decision: "block", reason: event.target };`,
        }],
      });
      const { tenant } = await opened(id!, [x, guard], OPEN);
      for (const spelled of ["web_search", "plugin__x__web_search"]) {
        expect((await failureOf(tenant.call(spelled, {}))).details).toMatchObject({ reason: WEB.fullId });
      }
      expect(await tenant.call("search", {})).toBe(2);
    }
  });

  test.each([
    ["(a|b", "missing closing )"],
    ["web_(?=x)", "unsupported Perl syntax"],
    ["(a)\\1", "invalid escape sequence"],
    ["[z-a]", "invalid character class range"],
    ["((a{100}){100}){100}", "invalid repeat count"],
  ])(
    "%s, which the engine does not know, is an error of the manifest with line and field",
    (matcher, why) => {
      expect(issuesOf(matcher)).toEqual([
        expect.objectContaining({
          file: "plugin.yaml",
          line: 6,
          path: "$.capabilities.hooks.PreToolUse[0].matcher",
          message: expect.stringContaining(why),
        }),
      ]);
      expect(issuesOf("web_.*|fetch")).toEqual([]);
    },
  );

  test("on an event that is about no tool would be a condition that nothing ever meets: it is an error", () => {
    expect(issuesOf("startup", "SessionStart")).toMatchObject([
      { path: "$.capabilities.hooks.SessionStart[0].matcher", message: expect.stringContaining("left out") },
    ]);
    expect(issuesOf("*", "SessionStart")).toEqual([]);
    expect(issuesOf("startup", "PostToolUse")).toEqual([]);
  });

  test("that is a bomb is refused by its size, or matched in linear time: no pattern of a manifest holds the host up", () => {
    const bombs = [
      "a{1000}".repeat(70),
      "(a*)*(a*)*".repeat(40) + "b",
      "(?:" + "a?".repeat(200) + ")" + "a".repeat(100),
      "(x+x+)+y",
      "\\pL".repeat(160),
      "[^a]{900}[^b]{900}[^c]{900}",
    ];
    const started = process.cpuUsage();
    for (const bomb of bombs) {
      if (issuesOf(bomb).length > 0) continue;
      const isMeant = matcherOf(bomb);
      for (let i = 0; i < 20; i++) {
        isMeant({ fullId: `plugin__${"a".repeat(100)}__${"x".repeat(64)}`, name: "a".repeat(64) });
      }
    }
    const { user, system } = process.cpuUsage(started);
    // A backtracking engine would take years for the second of them alone.
    expect((user + system) / 1000).toBeLessThan(5_000);
    expect(issuesOf(bombs[0]!)).toMatchObject([{
      message: expect.stringContaining("must not repeat more than"),
    }]);
    expect(issuesOf("a".repeat(600))).toMatchObject([{ message: expect.stringContaining("at most 512") }]);
  });

  test("that matches no known capability is told by plan and by the facts of its plugin, and guards nothing; one that does is not", async () => {
    const x = standing("x", { tools: { web_search: "return 1;" } });
    const guard = standing("guard", {
      permissions: `{ observe: ["tool.input x"] }`,
      hooks: [
        { event: "PreToolUse", matcher: "web_serach", code: `return { decision: "block", reason: "" };` },
        { event: "PreToolUse", matcher: "web_search", code: "" },
        { event: "PostToolUse", code: "" },
      ],
    });
    const { tenant } = await opened("a", [x, guard], OPEN);
    expect(await tenant.call("web_search", {})).toBe(1);
    expect((await tenant.plan()).unmatched).toEqual([
      { plugin: "guard", id: "guard/PreToolUse/0/0", matcher: "web_serach" },
    ]);
    expect((await tenant.facts("guard")).findings).toEqual([
      `guard/PreToolUse/0/0: the matcher "web_serach" matches no known capability`,
    ]);
    // Where the plugin is looked at alone, only what it may never see is certain.
    const alone = await opened("b", [guard], OPEN);
    expect((await alone.tenant.facts("guard")).findings).toEqual([]);
    const closed = standing("closed", { hooks: [{ event: "PreToolUse", matcher: "web_search", code: "" }] });
    expect((await (await opened("c", [closed])).tenant.facts("closed")).findings).toHaveLength(1);
  });
});

describe("events that an embedder adds", () => {
  const deployed = () => standing("deployed", { hooks: [{ event: "DeployStarted", code: "" }] });

  test("are accepted in manifests of that host alone; elsewhere they are unknown keys with what was meant", async () => {
    const { tenant } = await opened("a", [deployed()], {}, { events: ["DeployStarted"] });
    expect((await tenant.facts("deployed")).capabilities.map(({ fullId }) => fullId)).toEqual([
      "deployed/DeployStarted/0/0",
    ]);
    for (const events of [[], ["DeployStartet"]]) {
      const other = (await hosted({ events })).tenant("b", { plugins: [deployed()] });
      const [row] = await other.list();
      expect(row).toMatchObject({ state: "invalid" });
      expect(row!.reason).toContain('unknown key "DeployStarted"');
      if (events.length > 0) expect(row!.reason).toContain('did you mean "DeployStartet"?');
    }
  });

  test.each([
    ["PreToolUse", "built-in"],
    ["deployStarted", "capital"],
    ["Deploy-Started", "letters"],
    ["", "letters"],
  ])("%s is no name for one", async (name, why) => {
    const error = await failureOf(createHost({ confinement: "best", home: temporary(), events: [name] }));
    expect(error).toMatchObject({ code: "ERR_USAGE", message: expect.stringContaining(why) });
  });

  test("are not added twice", async () => {
    const events = ["DeployStarted", "DeployStarted"];
    const error = await failureOf(createHost({ confinement: "best", home: temporary(), events }));
    expect(error.code).toBe("ERR_USAGE");
  });
});

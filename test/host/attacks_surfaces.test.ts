/** What was tried against the surfaces, and the speed beside them, by plugins that mean harm. */
import { describe, expect, test } from "vitest";
import { CapabilityError } from "../../permissions/mod.ts";
import type { FoundDocument } from "../../src/documents/document_sources.ts";
import { refuseAdditions, resolvingOnce } from "../../src/documents/overlays.ts";
import { Redactor } from "../../runtime/mod.ts";
import { verdictOf } from "../../src/points/command_outcome.ts";
import { POINT_LIMITS } from "../../src/points/limits.ts";
import { PANEL_LIMITS } from "../../src/panels/limits.ts";
import { renderText } from "../../src/panels/text.ts";
import { viewAnswer } from "../../src/panels/view.ts";
import { DOCUMENT_LIMITS } from "../../src/documents/limits.ts";
import { fixedLoader } from "../../src/mod.ts";
import type { Snapshot } from "../../src/snapshot.ts";
import { SURFACES } from "../../src/surfaces/mod.ts";
import { Commands, type CommandsParts } from "../../src/typed/commands.ts";
import { documentsOf, trusted } from "../documents/support.ts";
import { failureOf, hosted } from "./support.ts";

describe("documents of a plugin that nobody has trusted", () => {
  test("take no more of the host than one budget, however many there are; a plugin of long texts is read", async () => {
    const { dataOfPluginBytesMax, dataBytesMax } = DOCUMENT_LIMITS;
    const many = (count: number): readonly string[] =>
      Array.from({ length: count }, (_, index) => `book${index}.yaml`);
    const lines = "# a comment costs as much as anything\n";
    const filler = lines.repeat(Math.floor((dataBytesMax - 100) / lines.length));
    const bookOf = (name: string, count: number): string =>
      documentsOf(name, `{ playbooks: [${many(count).join(", ")}] }`, {
        ...Object.fromEntries(
          many(count).map((path) => [path, `steps: [{ name: a, instructions: b }]\n${filler}`]),
        ),
      });
    const fitting = Math.floor(dataOfPluginBytesMax / dataBytesMax);
    const texts = Array.from({ length: 20 }, (_, index) => `text${index}.md`);
    const long = documentsOf("long", `{ agents: [${texts.join(", ")}] }`, {
      ...Object.fromEntries(
        texts.map((path) => [path, `---\ndescription: d\n---\n${"words ".repeat(20_000)}`]),
      ),
    });
    const host = await hosted();
    const tenant = host.tenant("budget", {
      plugins: fixedLoader([bookOf("small", fitting), bookOf("greedy", 60), long]),
    });
    const [small, greedy, texty] = await tenant.list();
    expect([small?.reason, texty?.reason]).toEqual([null, null]);
    expect(greedy?.reason).toContain("dataOfPluginBytesMax");
    expect(greedy?.reason).not.toContain(`"book${fitting - 1}.yaml"`);
    expect(greedy?.reason).toContain(`"book${fitting}.yaml"`);
  });
});

describe("packs that restyle all there is", () => {
  // One plugin that asked for nothing held the host for half a minute, whenever anybody read an agent.
  test("cost who reads a document what names that document, and leave the others their turns", async () => {
    const names = (letter: string, count: number, extension: string): readonly string[] =>
      Array.from({ length: count }, (_, index) => `${letter}${index}${extension}`);
    const agents = names("a", 200, ".md");
    const packs = names("k", 20, ".yaml");
    const filled = (paths: readonly string[], text: string) =>
      Object.fromEntries(paths.map((path) => [path, text]));
    const roles = names("many/a", 200, ": { title: t }\n").map((line) => `  ${line}`).join("");
    const host = await hosted();
    const tenant = host.tenant("packs", {
      plugins: fixedLoader([
        documentsOf("many", `{ agents: [${agents.join(", ")}] }`, filled(agents, "words\n")),
        documentsOf("packer", `{ packs: [${packs.join(", ")}] }`, filled(packs, `roles:\n${roles}`)),
        documentsOf("other", "{ agents: [own.md] }", { "own.md": "words\n" }),
      ]),
    });
    for (const plugin of ["many", "packer", "other"]) await trusted(tenant, plugin);
    let turns = 0;
    const others = setInterval(() => turns += 1, 1);
    try {
      expect(await tenant.documents.read("other/own")).toMatchObject({ style: null });
      expect(await tenant.documents.read("many/a7")).toMatchObject({ style: { title: "t" } });
      expect(turns).toBeGreaterThan(5);
    } finally {
      clearInterval(others);
    }
  });

  test("are looked for name by name, each once, and no further than those that are told", async () => {
    const { missingToldMax } = DOCUMENT_LIMITS;
    const asked: string[] = [];
    const resolve = resolvingOnce((ref, surface) => {
      asked.push(ref);
      return Promise.reject(new CapabilityError("ERR_CAPABILITY_UNKNOWN", `no ${ref} on ${surface}`));
    });
    const overlays = () => names.map((ref) => ({ at: [], surface: "agents", ref, style: {} }));
    const names = Array.from({ length: 100 }, (_, index) => `gone/a${index}`);
    const pack = { identity: { id: "packer/k" }, format: { overlays } } as unknown as FoundDocument; // all that is read of it
    for (let count = 0; count < 3; count++) {
      const error = await failureOf(refuseAdditions(pack, {}, resolve));
      expect(error.details.missing).toEqual(names.slice(0, missingToldMax));
    }
    expect(asked).toEqual(names.slice(0, missingToldMax));
  });
});

test("of a command hook's megabytes its first words are looked at, and no known value is left at their end", () => {
  const { stderrReadBytesMax } = POINT_LIMITS;
  const redactor = new Redactor();
  const secret = "0123456789abcdefghij";
  redactor.know(secret);
  const verdict = (stderr: string) =>
    verdictOf({ code: 2, stdout: "", stderr: btoa(stderr) }, { title: "Hook", id: "h" }, redactor);
  expect(verdict(`no ${secret} here`)).toEqual({ decision: "block", reason: "no [redacted] here" });
  // What shows of it was looked at whole; what was not looked at does not show.
  const blanks = " ".repeat(stderrReadBytesMax - 10);
  expect(verdict(blanks + secret)).toMatchObject({ reason: expect.not.stringContaining(secret.slice(0, 8)) });
  expect(verdict(`${" ".repeat(stderrReadBytesMax)}word`)).not.toMatchObject({
    reason: expect.stringContaining("word"),
  });
});

// A plugin with a few hundred prompts held the host for seconds, whenever anybody typed anything.
test("what is typed runs without a look at the prompts that others offer", async () => {
  const entry = { name: "n", plugin: "p", description: null };
  const none = Object.fromEntries(Object.keys(SURFACES).map((surface) => [surface, []]));
  const snapshot = {
    ...none,
    commands: [{ ...entry, id: "p/c", name: "c" }],
    prompts: Array.from({ length: 3 }, (_, index) => ({ ...entry, id: `q/${index}`, name: `${index}` })),
  } as unknown as Snapshot; // all that is read of one
  const commands = new Commands({
    calls: { find: (id: string) => Promise.resolve({ id }), run: () => Promise.resolve("ran") },
    snapshot: () => Promise.resolve(snapshot),
    documents: () => expect.unreachable(),
    panels: {},
  } as unknown as CommandsParts);
  expect(await commands.run("/p:c", "x")).toBe("ran");
  expect((await commands.list()).map(({ kind }) => kind)).toEqual(["command", "prompt", "prompt", "prompt"]);
});

describe("a view of a panel", () => {
  const { textCharsMax, cellCharsMax, widthCellsMax } = PANEL_LIMITS;

  // Each took a minute, in which the host did nothing else.
  test.for<[what: string, character: string, head: string]>([
    ["pictures", "\u{1f600}", ""],
    ["marks that combine", "\u0301", "x".repeat(widthCellsMax + 1)],
  ])("of nothing but %s is written at once", ([, character, head]) => {
    const filled = (charsMax: number): string =>
      head + character.repeat(Math.floor((charsMax - head.length) / character.length));
    const view = viewAnswer.parse([
      ...Array.from({ length: 12 }, () => ({ type: "text", text: filled(textCharsMax) })),
      { type: "table", columns: ["a"], rows: Array.from({ length: 60 }, () => [filled(cellCharsMax)]) },
    ]);
    expect(renderText(view, { width: widthCellsMax }).split("\n").length).toBeGreaterThan(12 + 60);
  });

  test("is split between characters, and what combines stays with what it stands on", () => {
    const text = (given: string): string =>
      renderText(viewAnswer.parse({ type: "text", text: given }), { width: 20 });
    expect(text("\u4e00".repeat(11))).toBe(`${"\u4e00".repeat(10)}\n\u4e00`);
    expect(text("e\u0301".repeat(21))).toBe(`${"e\u0301".repeat(20)}\ne\u0301`);
    expect(text(`\u4e00${"a".repeat(19)}`)).toBe(`\u4e00${"a".repeat(18)}\na`);
    const table = { type: "table", columns: ["a"], rows: [["e\u0301".repeat(21)], ["\u4e00".repeat(11)]] };
    expect(renderText(viewAnswer.parse(table), { width: 20 }).split("\n").slice(2)).toEqual([
      `${"e\u0301".repeat(19)}\u2026`,
      `${"\u4e00".repeat(9)}\u2026`,
    ]);
  });
});

import { beforeAll, describe, expect, test } from "vitest";
import { renderText, type Tenant } from "../../src/mod.ts";
import type { PanelView, ViewNode } from "../../src/plugin_types.ts";
import { PANEL_LIMITS as LIMITS } from "../../src/panels/limits.ts";
import { approve, failureOf, hosted, temporary, write } from "./support.ts";

const MANIFEST = `name: desk
version: "1.0.0"
capabilities:
  commands:
    - { name: save, target: "desk.js:save", description: Keeps it }
  panels:
    - { name: show, target: "desk.js:show", description: Shows what it is given }
    - { name: wrong, target: "desk.js:wrong" }
  tools:
    - { name: tool, target: "desk.js:show" }
`;

const CODE = `
export const show = ({ view }) => view;
export const wrong = () => ({ type: "html", html: "<b>bold</b>" });
export const save = ({ values, argv, args }, { plugin }) => ({ plugin, values, argv, args });
`;

let tenant: Tenant;

beforeAll(async () => {
  const directory = temporary();
  write(directory, { "plugin.yaml": MANIFEST, "desk.js": CODE });
  tenant = (await hosted()).tenant("acme", { plugins: [directory] });
  await approve(tenant, "desk");
});

/** A view of every kind of node, with a text in each place that takes one. */
function everywhere(text: string): readonly ViewNode[] {
  return [
    { type: "text", text },
    { type: "text", text, style: "code" },
    { type: "list", items: [text, { type: "text", text }] },
    { type: "table", columns: [text, { title: text, align: "right" }], rows: [[text, 1], [text, null]] },
    {
      type: "card",
      title: text,
      nodes: [{ type: "text", text }],
      actions: [{ action: "save", label: text }],
    },
    {
      type: "form",
      title: text,
      action: "save",
      label: text,
      fields: [
        { name: "words", label: text, value: text },
        { name: "one", kind: "choice", choices: [text, "other"], label: text },
      ],
    },
    { type: "progress", label: text, done: 1, total: 2 },
    { type: "notification", level: "error", text },
  ];
}

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

const show = (view: unknown) => tenant.panels.render("desk/show", { view });

describe("[R16] script payloads", () => {
  /** What must be left of each in a text: the same words without what could act. */
  const PAYLOADS: Readonly<Record<string, readonly [payload: string, left: string]>> = {
    "a script tag": ["<script>alert(1)</script>", "<script>alert(1)</script>"],
    "an image with a handler": ['<img src=x onerror="alert(1)">', '<img src=x onerror="alert(1)">'],
    "a script URL": ["javascript:alert(1)", "javascript:alert(1)"],
    "a data URL": ["data:text/html,<script>1</script>", "data:text/html,<script>1</script>"],
    "Markdown with a link": ["[x](javascript:alert(1))", "[x](javascript:alert(1))"],
    "a template": ["{{constructor.constructor('x')()}}", "{{constructor.constructor('x')()}}"],
    "colours": ["a\u001b[31mred\u001b[0m", "ared"],
    "a cleared screen": ["a\u001b[2J\u001b[Hb", "ab"],
    "the clipboard by OSC 52": ["a\u001b]52;c;aGk=\u0007b", "ab"],
    "a link by OSC 8": ["a\u001b]8;;https://evil.example\u001b\\b", "ab"],
    "C1 controls": ["a\u009b31mb", "ab"],
    "half a sequence inside another": ["a\u001b\u001b[31m[2Jb", "a[2Jb"],
    "a carriage return": ["safe\rlies", null!],
    "a text that runs from right to left": ["a\u202egpj.exe", "agpj.exe"],
    "isolates": ["a\u2066b\u2069", "ab"],
    "zero width": ["pay\u200bpal\u200d\ufeff", "paypal"],
    "tags that nobody sees": ["a\u{e0041}\u{e0042}", "a"],
    "a backspace and a bell": ["a\u0008\u0007b", "ab"],
    "a NUL": ["a\u0000b", "ab"],
    "line separators": ["a\u2028b", null!],
    "a lone surrogate": ["a\ud800b", "ab"],
  };

  test.each(Object.entries(PAYLOADS))(
    "%s is inert in every place of a view",
    async (_name, [payload, left]) => {
      const { view, text } = await show(everywhere(payload));
      const words = stringsIn(view);
      expect(words.length).toBeGreaterThan(30);
      for (const each of [...words, text]) {
        expect(each).not.toMatch(/[\p{Cf}\p{Cs}\u2028\u2029]|(?!\n)\p{Cc}/u);
      }
      if (left !== null) {
        expect(words.filter((each) => each === left).length).toBe(19);
        expect(text).toContain(left.split(" ")[0]);
      }
      for (
        const node of view.filter(({ type }) => type !== "text" && type !== "notification" && type !== "list")
      ) {
        for (const each of stringsIn(node)) {
          if (left !== null) expect(each).not.toContain("\n");
        }
      }
    },
  );

  const MARKUP: Readonly<Record<string, unknown>> = {
    "HTML alone": "<script>alert(1)</script>",
    "a node of HTML": { type: "html", html: "<b>x</b>" },
    "a script": { type: "script", src: "https://evil.example/x.js" },
    "a frame": { type: "iframe", src: "https://evil.example" },
    "a link": { type: "link", href: "https://example.com", text: "x" },
    "a node of no type": { text: "x" },
    "a type from the prototype": { type: "constructor", text: "x" },
    "a type that is no text": { type: ["text"], text: "x" },
    "a handler on a node": { type: "text", text: "x", onclick: "alert(1)" },
    "a style with a URL": { type: "text", text: "x", style: "background:url(javascript:alert(1))" },
    "inner HTML": { type: "card", nodes: [], innerHTML: "<b>x</b>" },
    "a picture": { type: "card", nodes: [], image: "https://evil.example/pixel.png" },
    "a prototype": JSON.parse('{"type":"text","text":"x","__proto__":{"onclick":"y"}}'),
    "an action that is a URL": { type: "form", fields: [], action: "https://evil.example/collect" },
    "an action that is a script": { type: "form", fields: [], action: "javascript:alert(1)" },
    "a field's pattern": { type: "form", action: "save", fields: [{ name: "a", pattern: "(a+)+$" }] },
    "a field named by markup": { type: "form", action: "save", fields: [{ name: "<b>" }] },
    "a head of a table with markup members": {
      type: "table",
      columns: [{ title: "x", html: "<b>" }],
      rows: [],
    },
    "a cell that is a node": { type: "table", columns: ["a"], rows: [[{ type: "html", html: "x" }]] },
    "markup below a card": { type: "card", nodes: [{ type: "card", nodes: [{ type: "svg", onload: "x" }] }] },
    "markup in a list": { type: "list", items: [{ type: "html", html: "x" }] },
    nothing: null,
    "a number": 7,
  };

  test.each(Object.entries(MARKUP))("%s is refused", async (_name, view) => {
    expect((await failureOf(show(view))).code).toBe("ERR_RESULT_INVALID");
  });

  test("what a refusal says is bounded, and shows what hides", async () => {
    const nodes = Array.from({ length: 400 }, (_, at) => ({ type: "text", text: "x", [`\u202e${at}`]: 1 }));
    const { message } = await failureOf(show(nodes));
    expect(message).toContain("and 392 more problems");
    expect(message).toContain("\\u{202e}0");
    expect(message.length).toBeLessThan(4_000);
  });

  test("without markup the same shapes pass", async () => {
    const { view, text } = await show(everywhere("plain words"));
    expect(view).toEqual(everywhere("plain words"));
    expect(text).toContain("plain words");
    expect((await show({ type: "text", text: "one node" })).view).toEqual([{
      type: "text",
      text: "one node",
    }]);
    expect((await show([])).text).toBe("");
  });
});

describe("bounds", () => {
  const text: ViewNode = { type: "text", text: "x" };
  const nested = (levels: number): ViewNode =>
    levels === 0 ? text : { type: "card", nodes: [nested(levels - 1)] };
  const ROWS: Readonly<Record<string, readonly [fits: PanelView, tooMuch: PanelView]>> = {
    textCharsMax: [
      { type: "text", text: "x".repeat(LIMITS.textCharsMax) },
      { type: "text", text: "x".repeat(LIMITS.textCharsMax + 1) },
    ],
    labelCharsMax: [
      { type: "card", title: "x".repeat(LIMITS.labelCharsMax), nodes: [] },
      { type: "card", title: "x".repeat(LIMITS.labelCharsMax + 1), nodes: [] },
    ],
    cellCharsMax: [
      { type: "table", columns: ["a"], rows: [["x".repeat(LIMITS.cellCharsMax)]] },
      { type: "table", columns: ["a"], rows: [["x".repeat(LIMITS.cellCharsMax + 1)]] },
    ],
    itemsMax: [Array(LIMITS.itemsMax).fill(text), Array(LIMITS.itemsMax + 1).fill(text)],
    depthMax: [nested(6), nested(9)],
    columnsMax: [
      { type: "table", columns: Array(LIMITS.columnsMax).fill("a"), rows: [] },
      { type: "table", columns: Array(LIMITS.columnsMax + 1).fill("a"), rows: [] },
    ],
    rowsMax: [
      { type: "table", columns: ["a"], rows: Array(LIMITS.rowsMax).fill(["x"]) },
      { type: "table", columns: ["a"], rows: Array(LIMITS.rowsMax + 1).fill(["x"]) },
    ],
    valuesMax: [
      [1, 2].map(() => ({
        type: "table",
        columns: Array(8).fill("a"),
        rows: Array(900).fill(Array(8).fill(1)),
      })),
      [1, 2].map(() => ({
        type: "table",
        columns: Array(11).fill("a"),
        rows: Array(999).fill(Array(11).fill(1)),
      })),
    ],
    viewCharsMax: [
      Array(15).fill({ type: "text", text: "x".repeat(LIMITS.textCharsMax) }),
      Array(17).fill({ type: "text", text: "x".repeat(LIMITS.textCharsMax) }),
    ],
    fieldsMax: [fields(LIMITS.fieldsMax), fields(LIMITS.fieldsMax + 1)],
    choicesMax: [choices(LIMITS.choicesMax), choices(LIMITS.choicesMax + 1)],
    actionsMax: [
      { type: "card", nodes: [], actions: Array(LIMITS.actionsMax).fill({ action: "save" }) },
      { type: "card", nodes: [], actions: Array(LIMITS.actionsMax + 1).fill({ action: "save" }) },
    ],
    "cells of a row": [
      { type: "table", columns: ["a", "b"], rows: [["x", "y"]] },
      { type: "table", columns: ["a", "b"], rows: [["x"]] },
    ],
    "names of fields": [
      { type: "form", action: "save", fields: [{ name: "a" }, { name: "b" }] },
      { type: "form", action: "save", fields: [{ name: "a" }, { name: "a" }] },
    ],
    "a choice's value": [
      { type: "form", action: "save", fields: [{ name: "a", kind: "choice", choices: ["x"], value: "x" }] },
      { type: "form", action: "save", fields: [{ name: "a", kind: "choice", choices: ["x"], value: "y" }] },
    ],
    "a number's value": [
      { type: "form", action: "save", fields: [{ name: "a", kind: "number", value: 1 }] },
      { type: "form", action: "save", fields: [{ name: "a", kind: "number", value: "1" }] },
    ],
    "a total": [{ type: "progress", done: 5, total: 1 }, { type: "progress", done: 0, total: 0 }],
    "an action": [
      { type: "form", action: "save", fields: [] },
      { type: "form", action: "remove", fields: [] },
    ],
  };

  test.each(Object.entries(ROWS))("%s", async (_name, [fits, tooMuch]) => {
    await show(fits);
    expect((await failureOf(show(tooMuch))).code).toBe("ERR_RESULT_INVALID");
  });

  function fields(count: number): PanelView {
    return {
      type: "form",
      action: "save",
      fields: Array.from({ length: count }, (_, at) => ({ name: `f${at}` })),
    };
  }

  function choices(count: number): PanelView {
    const names = Array.from({ length: count }, (_, at) => `c${at}`);
    return { type: "form", action: "save", fields: [{ name: "a", kind: "choice", choices: names }] };
  }
});

describe("the tenant's panels", () => {
  test("[R47] a client without panels gets text, and finds what a panel offers among what can be typed", async () => {
    const form: ViewNode = {
      type: "form",
      title: "Note",
      action: "save",
      label: "Keep",
      fields: [{ name: "title", value: "milk" }, { name: "loud", kind: "boolean", value: false }],
    };
    const { text } = await show(form);
    expect(text).toBe(
      "Note\n----\n  title [milk]\n  loud (true | false) [false]\n  > Keep: /desk:save title=… loud=…",
    );
    const typed = await tenant.commands.list();
    expect(typed).toContainEqual({
      typed: "/desk:save",
      kind: "command",
      id: "desk/save",
      plugin: "desk",
      description: "Keeps it",
      usage: null,
    });
    expect(typed.find((entry) => entry.typed === "/desk:show")?.kind).toBe("panel");
    expect(await tenant.commands.run("/desk:save", "title='oat milk' loud=true")).toMatchObject({
      argv: ["title=oat milk", "loud=true"],
    });
  });

  test("what a form was filled in with goes to that command, as values and as words", async () => {
    expect(await tenant.panels.submit("desk/show", "save", { title: "oat milk", loud: true, count: 2 }))
      .toEqual({
        plugin: "desk",
        values: { title: "oat milk", loud: true, count: 2 },
        argv: ["title=oat milk", "loud=true", "count=2"],
        args: "'title=oat milk' loud=true count=2",
      });
    const odd = tenant.panels.submit("desk/show", "save", { "<b>": "x" });
    expect((await failureOf(odd)).code).toBe("ERR_CAPABILITY_INPUT_INVALID");
    const unknown = await failureOf(tenant.panels.submit("desk/show", "remove"));
    expect(unknown).toMatchObject({ code: "ERR_CAPABILITY_UNKNOWN", details: { available: ["save"] } });
    const tool = await failureOf(tenant.panels.submit("desk/show", "tool"));
    expect(tool.code).toBe("ERR_CAPABILITY_UNKNOWN");
  });

  test("they are listed, rendered by id, and neither called nor mistaken for something else", async () => {
    expect((await tenant.panels.list()).map(({ id }) => id)).toEqual(["desk/show", "desk/wrong"]);
    expect((await failureOf(tenant.panels.render("desk/wrong"))).message).toContain(
      "must be one of text, list, table, card, form, progress, notification",
    );
    expect((await failureOf(tenant.call("desk/show", {}))).code).toBe("ERR_USAGE");
    expect((await failureOf(tenant.panels.render("desk/save"))).code).toBe("ERR_CAPABILITY_UNKNOWN");
    expect((await failureOf(tenant.panels.render("desk/nope"))).code).toBe("ERR_CAPABILITY_UNKNOWN");
    await tenant.hide(["desk/show"]);
    expect((await failureOf(show([]))).code).toBe("ERR_CAPABILITY_NOT_EXPOSED");
    expect((await tenant.panels.list()).map(({ id }) => id)).toEqual(["desk/wrong"]);
    await tenant.expose(["desk/show"]);
    expect((await show([])).view).toEqual([]);
  });
});

describe("the text of a view", () => {
  test("tables are aligned, and the widest columns give way", () => {
    const table: ViewNode = {
      type: "table",
      columns: ["Name", { title: "Count", align: "right" }],
      rows: [["apples", 7], ["日本", 12_000], [null, true]],
    };
    expect(renderText([table])).toBe(
      "Name    Count\n------  -----\napples      7\n日本    12000\n         true",
    );
    const wide: ViewNode = { type: "table", columns: ["a", "b"], rows: [["x".repeat(50), "short"]] };
    expect(renderText([wide], { width: 20 })).toBe(
      `a              b\n-------------  -----\n${"x".repeat(12)}…  short`,
    );
  });

  test("lists, cards, bars and notes keep within the width", () => {
    const view: readonly ViewNode[] = [
      { type: "text", text: "one two three four five six" },
      { type: "list", ordered: true, items: ["a long item that goes on", { type: "text", text: "node" }] },
      { type: "card", title: "Card", nodes: [{ type: "text", text: "words inside of it" }] },
      { type: "progress", label: "load", done: 1, total: 4 },
      { type: "notification", level: "success", text: "all of it is done" },
    ];
    const text = renderText(view, { width: 20 });
    expect(text).toBe(
      [
        "one two three four",
        "five six",
        "",
        "1. a long item that",
        "   goes on",
        "2. node",
        "",
        "Card",
        "----",
        "  words inside of it",
        "",
        "load",
        "[###-----------] 25%",
        "",
        "[success] all of it",
        "          is done",
      ].join("\n"),
    );
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(20);
  });
});

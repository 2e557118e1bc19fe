/** Streams pass the points as calls do: what comes out is decided about as a whole, before any of it leaves. */
import { expect, test } from "vitest";
import { opened, standing } from "./points_support.ts";
import { failureOf } from "./support.ts";

const OPEN = { permissions: { observe: true, intercept: true } } as const;
const GO = "plugin__notes__go";

const notes = () =>
  standing("notes", {
    tools: { go: "return input;" },
    more: "",
  });

async function read(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const each of stream) all.push(each);
  return all;
}

test(
  "[T11] what goes into a stream is guarded, and a guardrail of the output sees the value before the reader does",
  { timeout: 60_000 },
  async () => {
    const guard = standing("guard", {
      permissions: `{ observe: ["tool.input notes", "tool.output notes"] }`,
      guards: [
        {
          name: "in",
          on: "[tool.input]",
          code: `if (event.input.bad) return { decision: "block", reason: "in" };`,
        },
        {
          name: "out",
          on: "[tool.output]",
          code: `if (event.output.leaks) return { decision: "block", reason: "out" };`,
        },
      ],
    });
    const { tenant } = await opened("a", [notes(), guard], OPEN);
    expect(await read(tenant.stream(GO, { n: 1 }))).toEqual([{ n: 1 }]);
    expect((await failureOf(read(tenant.stream(GO, { bad: 1 })))).details).toMatchObject({ by: "guard/in" });
    expect((await failureOf(read(tenant.stream(GO, { leaks: 1 })))).details).toMatchObject({
      by: "guard/out",
    });
  },
);

test(
  "[T11] a tool that streams gives nothing past a guardrail of its output, which cannot see it whole; without one it does",
  { timeout: 60_000 },
  async () => {
    const { writeFileSync } = await import("node:fs");
    const streaming = () => {
      const directory = notes();
      writeFileSync(`${directory}/tools/go.ts`, `export async function* run() { yield "a"; yield "b"; }\n`);
      return directory;
    };
    const guard = (on: string) =>
      standing("guard", {
        permissions: `{ observe: ["tool.input notes", "tool.output notes"] }`,
        guards: [{ name: "g", on: `[${on}]`, code: "" }],
        hooks: [{ event: "PostToolUse", code: "" }],
      });
    const { tenant } = await opened("a", [streaming(), guard("tool.output")], OPEN);
    const chunks: unknown[] = [];
    const error = await failureOf((async () => {
      for await (const chunk of tenant.stream(GO, {})) chunks.push(chunk);
    })());
    expect(chunks).toEqual([]);
    expect(error).toMatchObject({ code: "ERR_BLOCKED", details: { by: "guard/g", answered: false } });
    const open = await opened("b", [streaming(), guard("tool.input")], OPEN);
    expect(await read(open.tenant.stream(GO, {}))).toEqual(["a", "b"]);
  },
);

test(
  "[T11] a body, which no guardrail of the input is shown, goes past none of them; without one it does",
  { timeout: 60_000 },
  async () => {
    const guard = (on: string) =>
      standing("guard", {
        permissions: `{ observe: ["tool.input notes", "tool.output notes"] }`,
        guards: [{ name: "g", on: `[${on}]`, code: "" }],
      });
    let isRead = false;
    const body = (async function* () {
      isRead = true;
      yield "x";
    })();
    const guarded = await opened("a", [notes(), guard("tool.input")], OPEN);
    expect(await failureOf(guarded.tenant.call(GO, { n: 1 }, { body }))).toMatchObject({
      code: "ERR_BLOCKED",
      details: { by: "guard/g", answered: false },
    });
    expect(isRead).toBe(false);
    expect(await guarded.tenant.call(GO, { n: 1 })).toEqual({ n: 1 });
    const open = await opened("b", [notes(), guard("tool.output")], OPEN);
    expect(await open.tenant.call(GO, { n: 1 }, { body })).toEqual({ n: 1 });
  },
);

/** The broker: every op of the table, under arguments that no platform of ours would send. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { z } from "zod";
import { grantOf, KIND_NAMES, layerOf } from "../../permissions/mod.ts";
import {
  Broker,
  ENDOWMENTS,
  memoryAudit,
  NET_LIMITS,
  type OpDefinition,
  PowerError,
  type Powers,
} from "../../runtime/mod.ts";
import type { Fuzzer } from "./fuzzer.ts";

/** A place of the host's that no guest may learn of. */
const PLACE = "/srv/place-of-the-host";
const OPS: readonly OpDefinition[] = ENDOWMENTS.flatMap(({ ops }) => ops);
const NAMES = OPS.map(({ name }) => name);

const nasty = fc.oneof(
  fc.constantFrom(
    "",
    ".",
    "..",
    "/",
    "../../etc/passwd",
    "$data/x",
    "$home",
    "data/a.txt",
    "/proc/self/environ",
    "a\0b",
    "\ud800",
    "__proto__",
    "constructor",
    "x".repeat(5_000),
    "http://127.0.0.1:1/",
    "https://example.com:443/v1/%2e%2e/x",
    "https://user:pass@example.com/",
    "GET",
    "env",
    "read",
    "hostname",
    "git",
    "/bin/sh",
    "AAAA",
    "{}",
    "null",
    '{"a":1}',
    "1e400",
    "*",
    "\u202e",
  ),
  fc.string({ unit: "binary", maxLength: 40 }),
);
const anything = fc.oneof(
  { weight: 2, arbitrary: fc.jsonValue() },
  { weight: 3, arbitrary: fc.array(fc.oneof(nasty, fc.jsonValue()), { maxLength: 8 }) },
);
const shaped: ReadonlyMap<string, fc.Arbitrary<unknown>> = new Map(
  OPS.map((op) => [op.name, arbitraryOf(schemaOf(op))]),
);
const requests = fc.constantFrom(...NAMES).chain((name) =>
  fc.oneof(anything, shaped.get(name)!).map((args) => ({ name, args }))
);
const all = Object.fromEntries(KIND_NAMES.filter((kind) => kind !== "storage").map((kind) => [kind, true]));
const CONTEXT = { cwd: PLACE, data: `${PLACE}/data` };
const GRANTS = {
  nothing: grantOf(),
  everything: grantOf(layerOf("policy", { ...all, storage: true }, CONTEXT)),
};

/** The table. */
export const BROKER_FUZZERS: readonly Fuzzer[] = [
  {
    name:
      "every op answers every argument with an envelope, does nothing that is not granted, and tells no place of the host's",
    runs: 1_500,
    property: fc.asyncProperty(
      requests,
      fc.constantFrom<keyof typeof GRANTS>("nothing", "everything"),
      async ({ name, args }, grant) => {
        const { envelope, acts } = await dispatched(JSON.stringify([name, args]), grant);
        const op = OPS.find((one) => one.name === name)!;
        if (grant === "nothing" && op.free === undefined) {
          assert.equal(envelope.ok, false);
          assert.equal(acts, 0, "a power was used without a grant");
        }
        // Its own failure would be a mistake of ours: all powers here fail by name.
        if (!envelope.ok) assert.notEqual(envelope.error.code, "ERR_OP_FAILED", JSON.stringify([name, args]));
      },
    ),
  },
  {
    name: "every text is answered with an envelope",
    runs: 500,
    property: fc.asyncProperty(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc.json(),
        fc.tuple(fc.oneof(fc.constantFrom(...NAMES), nasty, fc.jsonValue()), fc.jsonValue()).map((pair) =>
          JSON.stringify(pair)
        ),
        fc.nat(3_000).map((depth) => `["stat",${"[".repeat(depth)}${"]".repeat(depth)}]`),
        fc.nat(300_000).map((count) => `["stat",[${"1,".repeat(count)}1]]`),
      ),
      async (text) => void await dispatched(text, "everything"),
    ),
  },
];

/** Ops for which the fuzzers find arguments that are taken; all of them, or they prove little. */
export async function takenOps(): Promise<readonly string[]> {
  const taken: string[] = [];
  for (const name of NAMES) {
    for (const args of fc.sample(shaped.get(name)!, { numRuns: 400, seed: 1 })) {
      const { envelope } = await dispatched(JSON.stringify([name, args]), "everything");
      if (!envelope.ok && envelope.error.code === "ERR_OP_INVALID") continue;
      taken.push(name);
      break;
    }
  }
  return taken;
}

type Envelope = { readonly ok: true; readonly value: unknown } | {
  readonly ok: false;
  readonly error: { readonly name: string; readonly code: string; readonly message: string };
};

async function dispatched(
  text: string,
  grant: keyof typeof GRANTS,
): Promise<{ readonly envelope: Envelope; readonly acts: number }> {
  let acts = 0;
  const powers = failingPowers(() => acts++);
  const audit = memoryAudit();
  const broker = new Broker({ ops: OPS, audit, powers, sealed: () => [`${PLACE}/sealed`] });
  const answer = await broker.dispatch({
    principal: {
      tenant: "t",
      plugin: "p",
      title: 'Plugin "p"',
      fingerprint: null,
      confinement: "test",
      grant: GRANTS[grant],
      context: CONTEXT,
      bundle: null,
      own: { lineage: "l", makeData: () => {} },
      environment: { SECRET: PLACE },
      denialPrefix: "d-",
    },
    scope: { id: "c", signal: new AbortController().signal, deny: () => {} },
    op: 1,
    text,
  });
  const envelope = JSON.parse(answer) as Envelope;
  assert.equal(typeof envelope.ok, "boolean");
  if (!envelope.ok) {
    const { name, code, message } = envelope.error;
    assert.deepEqual([typeof name, typeof code, typeof message], ["string", "string", "string"]);
    if (!text.includes(PLACE)) assert.ok(!answer.includes(PLACE), answer);
  }
  return { envelope, acts };
}

/** Powers that do nothing but fail by name, whatever they are asked for. */
function failingPowers(onUse: () => void): Powers {
  const fail = (): never => {
    onUse();
    throw new PowerError("NotFound", "ENOENT", "There is nothing");
  };
  const part = (facts: object): unknown =>
    new Proxy(facts, { get: (target, key) => Reflect.get(target, key) ?? fail });
  return {
    files: part({}),
    net: part({ limits: NET_LIMITS }),
    storage: part({}),
    run: part({}),
  } as Powers; // nothing of them is ever reached but these fields
}

/** As much of JSON Schema as zod makes of arguments. */
interface Shape {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Shape[];
  readonly prefixItems?: readonly Shape[];
  readonly items?: Shape | boolean;
  readonly properties?: Readonly<Record<string, Shape>>;
}

function schemaOf({ args }: OpDefinition): Shape {
  return z.toJSONSchema(args as unknown as z.ZodType, { io: "input", unrepresentable: "any" }) as Shape;
}

/** Values of this shape, and now and then of none. */
function arbitraryOf(shape: Shape): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: fits(shape) }, { weight: 1, arbitrary: fc.jsonValue() });
}

function fits(shape: Shape): fc.Arbitrary<unknown> {
  if ("const" in shape) return fc.constant(shape.const);
  if (shape.enum !== undefined) return fc.constantFrom(...shape.enum);
  if (shape.anyOf !== undefined) return fc.oneof(...shape.anyOf.map(arbitraryOf));
  if (shape.prefixItems !== undefined) return fc.tuple(...shape.prefixItems.map(arbitraryOf));
  switch (shape.type) {
    case "string":
      return nasty;
    case "integer":
    case "number":
      return fc.oneof(fc.integer(), fc.constantFrom(0, -1, 1, 2 ** 53, 1e308));
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(typeof shape.items === "object" ? arbitraryOf(shape.items) : anything, {
        maxLength: 5,
      });
    case "object":
      return fc.record(
        Object.fromEntries(Object.entries(shape.properties ?? {}).map(([key, of]) => [key, arbitraryOf(of)])),
        { requiredKeys: [] },
      );
    default:
      return fc.oneof(nasty, fc.jsonValue());
  }
}

/** Documents that `--json` prints are read here as a program did that was written for the first version. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { pluginOf, temporary } from "../host/support.ts";
import { programs, shell } from "./support.ts";

const path = programs();

/** Further keys may come; these stay, with these types. */
const envelope = (value: z.ZodType) =>
  z.looseObject({ schema_version: z.literal(1), ok: z.literal(true), value, denials: z.array(z.unknown()) });
const failure = z.looseObject({
  schema_version: z.literal(1),
  ok: z.literal(false),
  error: z.looseObject({
    name: z.string(),
    code: z.string(),
    message: z.string(),
    details: z.looseObject({}),
    retryable: z.boolean(),
  }),
});
const capability = z.looseObject({
  id: z.string(),
  surface: z.string(),
  description: z.string().nullable(),
  live: z.boolean(),
  exposed: z.boolean(),
});
const row = z.looseObject({
  name: z.string(),
  version: z.string().nullable(),
  state: z.string(),
  reason: z.string().nullable(),
  directory: z.string(),
  origin: z.string(),
  capabilities: z.array(capability),
});

const VERSION_1: Readonly<Record<string, z.ZodType>> = {
  "list --json": envelope(z.looseObject({ plugins: z.array(row), elsewhere: z.array(z.unknown()) })),
  "check ./one --json": envelope(z.looseObject({ fingerprint: z.string().startsWith("sha256:") })),
  "info ./one --json": envelope(z.looseObject({ name: z.string(), state: z.string() })),
  "run ./one --yes --json": envelope(z.literal(1)),
  "run ./none --json": failure,
  "run ./one --frobnicate --json": failure,
};

test(
  "[R46] a program written for schema_version 1 reads what is printed now",
  { timeout: 120_000 },
  async () => {
    const cwd = temporary();
    const home = join(temporary(), "home");
    mkdirSync(join(home, "user"), { recursive: true });
    pluginOf("one", { go: "export const go = () => 1;" }, { under: cwd });
    for (const [line, schema] of Object.entries(VERSION_1)) {
      const { stdout } = await shell(`sallyport ${line}`, { cwd, home, path });
      expect(schema.safeParse(JSON.parse(stdout)).error?.issues, line).toBeUndefined();
      expect(stdout.trimEnd().split("\n"), line).toHaveLength(1);
    }
  },
);

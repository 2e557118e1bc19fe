/** Command hooks on a machine that can confine no programs: refused, unless the tenant's policy accepts that (T07, T34). */
import { expect, test, vi } from "vitest";
import { memoryAudit } from "../../src/mod.ts";
import { approve, failureOf, hosted, pluginOf } from "./support.ts";

vi.mock("../../runtime/powers/sandbox.ts", async (original) => ({
  ...await original<typeof import("../../runtime/powers/sandbox.ts")>(),
  findJail: () => Promise.resolve("bubblewrap is not installed"),
}));

const MANIFEST = `name: hooked
version: "1"
permissions: { run: [./hooks/look] }
capabilities:
  tools: [{ name: go, target: go.ts:go, input: { type: object } }]
  hooks: { PreToolUse: [{ hooks: [{ type: command, command: [hooks/look], files: [hooks/lib.sh, hooks/look] }] }] }
`;
const FILES = {
  "plugin.yaml": MANIFEST,
  "go.ts": "export const go = () => 1;",
  "hooks/look": '#!/bin/sh\n. "$(dirname "$0")/lib.sh"\necho "$lib $(env | grep -c HOME)" >&2; exit 2\n',
  "hooks/lib.sh": "lib=there\n",
};

test("[T07][T34] without bubblewrap a command hook is refused, which blocks; only the tenant's policy accepts it, and every report says so", async () => {
  const directory = pluginOf("hooked", {}, { files: FILES });
  const audit = memoryAudit();
  const host = await hosted({ audit: () => audit });
  const run = { permissions: { run: true } } as const;
  const refused = host.tenant("acme", { plugins: [directory], policy: run });
  await approve(refused, "hooked");
  const error = await failureOf(refused.call("go", {}));
  expect(error).toMatchObject({ code: "ERR_BLOCKED", details: { answered: false, code: "ERR_NOT_CAPABLE" } });
  expect(error.message).toContain(
    "programs cannot be confined on this machine (bubblewrap is not installed)",
  );
  expect(host.weakenings).toEqual([]);
  const accepted = host.tenant("lax", {
    plugins: [directory],
    policy: { ...run, unconfinedCommands: "allow" },
  });
  await approve(accepted, "hooked");
  const denied = await failureOf(accepted.call("go", {}));
  expect(denied).toMatchObject({ code: "ERR_BLOCKED", details: { answered: true, reason: "there 0" } });
  expect(host.weakenings).toEqual([
    'programs of tenant "lax" may run without confinement (unconfinedCommands)',
  ]);
  const ran = audit.events.filter(({ op, details }) => op === "run" && details?.sandbox !== undefined);
  expect(ran).toMatchObject([{
    tenant: "lax",
    confinement: expect.stringContaining("commands may be unconfined"),
    details: { sandbox: "none: unconfinedCommands: allow (bubblewrap is not installed)" },
  }]);
});

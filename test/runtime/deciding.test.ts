/** Decisions that are remembered, places that no grant reaches, and approvals that are over. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { grantOf, layerOf, type PermissionRequest, TrustError } from "../../permissions/mod.ts";
import {
  type AuditEvent,
  Broker,
  type BrokerOptions,
  defineOp,
  type OpDefinition,
  type Powers,
  type Principal,
  Tenure,
} from "../../runtime/mod.ts";

const CONTEXT = { cwd: "/srv/plugin" };
const look = defineOp<[path: string]>({
  name: "look",
  args: z.tuple([z.string()]),
  requires: ([path]) => [{ kind: "read", value: path }],
  act: async ([path]) => path,
});
const clear = defineOp<[path: string]>({
  name: "clear",
  args: z.tuple([z.string()]),
  requires: ([path]) => [{ kind: "read", value: path, recursive: true }],
  act: async () => null,
});

function bed(
  permissions: PermissionRequest,
  options: Partial<BrokerOptions> = {},
  more: Partial<Principal> = {},
) {
  const events: AuditEvent[] = [];
  const broker = new Broker({
    ops: [look, clear],
    audit: { write: (event) => void events.push(event), close: () => {} },
    powers: {} as Powers, // the ops of these tests have no effects
    sealed: () => [],
    ...options,
  });
  const principal: Principal = {
    tenant: "t",
    plugin: "p",
    title: 'Plugin "p"',
    fingerprint: "sha256:0",
    confinement: "strong",
    grant: grantOf(layerOf("manifest", permissions, CONTEXT)),
    context: CONTEXT,
    bundle: null,
    denialPrefix: "dTEST-",
    ...more,
  };
  const scope = { id: "call", signal: new AbortController().signal, deny: () => {} };
  let op = 0;
  const ask = async (name: string, ...args: unknown[]) =>
    JSON.parse(
      await broker.dispatch({ principal, scope, op: op++, text: JSON.stringify([name, args]) }),
    ) as { ok: boolean; error?: { code: string; message: string } };
  return { ask, events };
}

describe("a decision", () => {
  test("that is made a second time is the same, and is written down each time", async () => {
    const { ask, events } = bed({ read: { allow: ["/srv/open"], deny: ["/srv/open/secret"] } });
    for (let time = 0; time < 3; time++) {
      expect(await ask("look", "/srv/open/a")).toMatchObject({ ok: true });
      expect(await ask("look", "/srv/open/secret/a")).toMatchObject({ ok: false });
      // The same path means another question where the act reaches all below it.
      expect(await ask("clear", "/srv/open")).toMatchObject({ ok: false });
      expect(await ask("look", "/srv/open")).toMatchObject({ ok: true });
    }
    expect(events).toHaveLength(12);
    expect(new Set(events.slice(0, 4).map(({ rule }) => rule)).size).toBe(2);
    for (let at = 4; at < 12; at++) expect(events[at]).toEqual(events[at - 4]);
  });

  test("[T03] that was granted is refused as soon as the place is sealed", async () => {
    let sealed: readonly string[] = ["/srv/state"];
    const { ask } = bed({ read: ["/srv"] }, { sealed: () => sealed });
    expect(await ask("look", "/srv/plugins/other/a")).toMatchObject({ ok: true });
    sealed = [...sealed, "/srv/plugins/"];
    expect(await ask("look", "/srv/plugins/other/a")).toMatchObject({ ok: false });
    expect(await ask("look", "/srv/plugins-of-mine/a")).toMatchObject({ ok: true });
    expect(await ask("look", "/srv/state")).toMatchObject({ ok: false });
    expect(await ask("clear", "/srv")).toMatchObject({ ok: false });
    expect(await ask("clear", "/srv/elsewhere")).toMatchObject({ ok: true });
    for (const path of ["/srv/x/.Sallyport/y", "/srv/.sallyport"]) {
      expect(await ask("look", path)).toMatchObject({ ok: false });
    }
    expect(await ask("look", "/srv/x.sallyport/y")).toMatchObject({ ok: true });
  });
});

describe("an approval that is over", () => {
  const ENDED = new TrustError("ERR_TRUST_UNKNOWN", "nobody trusts /srv/plugin any more");

  test("[T14] refuses the next op, and tells its guest no more than the code", async () => {
    const tenure = new Tenure();
    const { ask, events } = bed({ read: ["/srv"] }, {}, { tenure });
    expect(await ask("look", "/srv/a")).toMatchObject({ ok: true });
    tenure.end(ENDED);
    expect(await ask("look", "/srv/a")).toEqual({
      ok: false,
      error: { name: "Error", code: "ERR_TRUST_UNKNOWN", message: "The host could not do this" },
    });
    expect(events).toHaveLength(1);
  });

  test("[T14] stops an op that was under way at whatever it wants to reach next", async () => {
    const tenure = new Tenure();
    const { promise, resolve } = Promise.withResolvers<void>();
    const reached: string[] = [];
    const walk: OpDefinition = defineOp<[]>({
      name: "walk",
      args: z.tuple([]),
      requires: () => [{ kind: "read", value: "/srv/a" }],
      act: async (_args, tools) => {
        reached.push(tools.authorize("read", "/srv/a/b").path);
        await promise;
        reached.push(tools.authorize("read", "/srv/a/c").path);
      },
    });
    const { ask } = bed({ read: ["/srv"] }, { ops: [walk] }, { tenure });
    const walking = ask("walk");
    tenure.end(ENDED);
    tenure.end(new TrustError("ERR_TRUST_CHANGED", "a second reason counts for nothing"));
    resolve();
    expect(await walking).toMatchObject({ ok: false, error: { code: "ERR_TRUST_UNKNOWN" } });
    expect(reached).toEqual(["/srv/a/b"]);
  });
});

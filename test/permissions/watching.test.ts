/** Seeing and changing what passes between others. */
import assert from "node:assert/strict";
import {
  checkIntercept,
  checkObserve,
  grantOf,
  layerOf,
  type LayerSource,
  type PermissionRequest,
} from "../../permissions/mod.ts";
import { test } from "./door.ts";

const context = { cwd: "/plugins/guard" };
const VALUE = "tool.input plugin__notes__add";

function grant(requests: Partial<Record<LayerSource, PermissionRequest>>) {
  return grantOf(
    ...Object.entries(requests).map(([source, request]) => layerOf(source as LayerSource, request, context)),
  );
}

const intercept = (
  manifest: PermissionRequest["intercept"],
  policy: PermissionRequest["intercept"],
  value = VALUE,
) =>
  checkIntercept(
    grant({ manifest: { intercept: manifest! }, policy: { intercept: policy! } }),
    value,
    context,
  );

test("[T04] changing another plugin's traffic needs that plugin named, or a policy that states the entry itself", () => {
  assert.equal(intercept(["tool.input notes"], true).state, "granted");
  assert.equal(intercept([VALUE], true).state, "granted");
  assert.equal(intercept(["tool.input plugin__notes__*"], true).state, "granted");
  assert.equal(intercept(["tool.input *"], ["tool.input *"]).state, "granted");
  assert.equal(intercept(true, ["tool.input notes"]).state, "granted");
  assert.equal(intercept(["prompt.submit"], true, "prompt.submit").state, "granted");
  const refused = intercept(["tool.input *"], true);
  assert.equal(refused.state, "denied");
  assert.match(refused.reason, /needs that plugin named/);
  assert.match(refused.remedy, /policy/);
  for (const manifest of [["tool.input plugin__*__add"], true, ["tool.output notes"], []] as const) {
    assert.equal(intercept(manifest as PermissionRequest["intercept"], true).state, "denied");
  }
  assert.equal(intercept(true, true, "prompt.submit").state, "denied");
  assert.equal(intercept(["tool.input notes"], { allow: true, deny: ["tool.input notes"] }).state, "denied");
  assert.equal(checkIntercept(grantOf(), VALUE, context).state, "denied");
  assert.equal(intercept(true, true, "no point at all").state, "denied");
});

test("[T04] who may change it may see it, unless seeing is denied", () => {
  const seen = (
    manifest: PermissionRequest,
    policy: PermissionRequest = { observe: true, intercept: true },
  ) => checkObserve(grant({ manifest, policy }), VALUE, context).state;
  assert.equal(seen({ observe: ["tool.input *"] }), "granted");
  assert.equal(seen({ intercept: ["tool.input notes"] }), "granted");
  assert.equal(seen({ intercept: ["tool.input *"] }), "denied");
  assert.equal(seen({ observe: { deny: ["tool.input notes"] }, intercept: ["tool.input notes"] }), "denied");
  assert.equal(
    seen({ intercept: ["tool.input notes"] }, { observe: { allow: true, deny: [VALUE] }, intercept: true }),
    "denied",
  );
  assert.equal(seen({}), "denied");
});

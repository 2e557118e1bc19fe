import { describe, expect, test } from "vitest";
import { grantOf, includes, layerOf, type PermissionRequest } from "../../permissions/mod.ts";
import type { Answered } from "../../runtime/mod.ts";
import { withAnswers } from "../../src/trust/mod.ts";

const CONTEXT = { cwd: "/p", bundle: "/p", data: "/d" };

function answered(kind: string, entry: string | null, answer: Answered["answer"] = "yes"): Answered {
  return { plugin: "p", kind, entry, answer };
}

describe("answers that are kept", () => {
  const request: PermissionRequest = {
    read: { allow: ["./data", "/srv/in"], deny: ["./data/secret"], reason: "to look", required: false },
    net: ["GET https://api.example.com/v1/"],
    storage: { maxBytes: 1000 },
    env: ["A", "B"],
  };

  test("a yes adds its entry, and keeps what the record denies", () => {
    const grants = { read: { allow: ["/p/data/a"], deny: ["/srv/in/x"] }, env: ["A"] };
    const kept = withAnswers(request, grants, [answered("read", "/p/data/b"), answered("env", "B")], CONTEXT);
    expect(kept).toEqual({
      read: { allow: ["/p/data/a", "/p/data/b"], deny: ["/srv/in/x"] },
      env: { allow: ["A", "B"] },
    });
  });

  test("[T17] never more than the manifest asks for, by entry, by kind or by always", () => {
    const all = [
      answered("net", "api.example.com:443"),
      answered("read", "/srv"),
      answered("read", "/etc/passwd"),
      answered("run", "/bin/sh"),
      answered("write", null, "always"),
      answered("constructor", null, "always"),
      answered("storage", null),
      answered("env", null, "always"),
    ];
    const kept = withAnswers(request, {}, all, CONTEXT);
    expect(kept).toEqual({
      net: { allow: ["GET https://api.example.com:443/v1"] },
      read: { allow: ["/srv/in"] },
      storage: { maxBytes: 1000 },
      env: { allow: ["A", "B"] },
    });
    const asked = grantOf(layerOf("manifest", request, CONTEXT));
    expect(includes(asked, grantOf(layerOf("manifest", request, CONTEXT), layerOf("record", kept, CONTEXT))))
      .toBe(true);
    expect(includes(asked, grantOf(layerOf("record", { net: kept.net!, env: kept.env! }, CONTEXT)))).toBe(
      true,
    );
  });

  test("always takes the kind as the manifest asks for it, with every deny of both; no changes nothing", () => {
    const grants = { read: { allow: [], deny: ["/srv/in/x"] } };
    expect(withAnswers(request, grants, [answered("read", "/p/data/b", "always")], CONTEXT)).toEqual({
      read: { allow: ["./data", "/srv/in"], deny: ["./data/secret", "/srv/in/x"] },
    });
    expect(withAnswers(request, grants, [answered("read", "/p/data/b", "no")], CONTEXT)).toBe(grants);
    expect(withAnswers(request, { read: true }, [answered("read", "/p/data/b")], CONTEXT)).toEqual({
      read: true,
    });
  });
});

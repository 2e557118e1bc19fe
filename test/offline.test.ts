import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { ERRORS } from "../src/mod.ts";
import { temporary } from "./bundler/support.ts";
import { OFFLINE } from "./offline.ts";

test("[P24] tests reach this machine and nothing else, and write below the system's folder for temporary files", async () => {
  expect(() => connect({ host: "192.0.2.1", port: 80 })).toThrow(OFFLINE);
  expect(() => connect(443, "example.com")).toThrow(OFFLINE);
  const server = createServer((socket) => socket.end("here")).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const text = await new Promise((resolve, reject) => {
    connect({ host: "127.0.0.1", port }).once("data", resolve).once("error", reject);
  });
  expect(String(text)).toBe("here");
  server.close();
  expect(temporary().startsWith(tmpdir())).toBe(true);
});

test("[P24] no code of the first version is gone or means something else", () => {
  const first = {
    ERR_USAGE: ["UsageError", 2],
    ERR_MANIFEST_NOT_FOUND: ["ManifestError", 3],
    ERR_MANIFEST_SYNTAX: ["ManifestError", 3],
    ERR_MANIFEST_INVALID: ["ManifestError", 3],
    ERR_TRUST_UNKNOWN: ["TrustError", 3],
    ERR_TRUST_CHANGED: ["TrustError", 3],
    ERR_TRUST_INCOMPATIBLE: ["TrustError", 3],
    ERR_TRUST_QUARANTINED: ["TrustError", 3],
    ERR_TRUST_DISABLED: ["TrustError", 3],
    ERR_COLLISION: ["CollisionError", 3],
    ERR_NAME_AMBIGUOUS: ["CollisionError", 3],
    ERR_BUNDLE_FAILED: ["BundleError", 3],
    ERR_IMPORT_REFUSED: ["BundleError", 3],
    ERR_CAPABILITY_UNKNOWN: ["CapabilityError", 2],
    ERR_CAPABILITY_NOT_EXPOSED: ["CapabilityError", 2],
    ERR_CAPABILITY_INPUT_INVALID: ["CapabilityError", 2],
    ERR_ACTIVATION_FAILED: ["ActivationError", 1],
    ERR_NOT_CAPABLE: ["NotCapableError", 4],
    ERR_GUEST_THREW: ["GuestError", 1],
    ERR_RESULT_INVALID: ["GuestError", 1],
    ERR_LIMIT_MEMORY: ["LimitError", 5],
    ERR_LIMIT_CPU: ["LimitError", 5],
    ERR_LIMIT_WALL: ["LimitError", 5],
    ERR_LIMIT_OPS: ["LimitError", 5],
    ERR_LIMIT_SIZE: ["LimitError", 5],
    ERR_LIMIT_RATE: ["LimitError", 5],
    ERR_WORKER_LOST: ["HostError", 6],
    ERR_STALE_GENERATION: ["HostError", 6],
    ERR_HOST_CLOSED: ["HostError", 6],
    ERR_AUDIT_FAILED: ["HostError", 6],
    ERR_STORE: ["HostError", 6],
  };
  const now = Object.fromEntries(
    Object.entries(ERRORS).map(([code, { name, exit }]) => [code, [name, exit]]),
  );
  expect(now).toMatchObject(first);
});

/** The audit of one tenant as it lies in a user's home. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { HostError } from "../../permissions/mod.ts";
import type { Home } from "../home.ts";
import { readKey } from "../stores/key_file.ts";
import { headsDirectory } from "./jsonl.ts";
import { type AuditVerification, verifyAudit } from "./verify.ts";

/** Whether it is what was written; null where nothing was. Throws HostError `ERR_STORE` where its key cannot be read. */
export function verifyLocalAudit({ audit, auditKey }: Home, tenant: string): AuditVerification | null {
  if (!existsSync(auditKey)) return null;
  return verifyAudit({
    segments: join(audit, tenant),
    heads: headsDirectory(auditKey, tenant),
    key: keyOf(auditKey),
  });
}

function keyOf(auditKey: string): Uint8Array {
  try {
    return readKey(auditKey);
  } catch (cause) {
    throw new HostError("ERR_STORE", `Cannot verify the audit: its key "${auditKey}" cannot be read`, {
      cause,
    });
  }
}

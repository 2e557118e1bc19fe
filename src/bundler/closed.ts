/** What ends the builds of a host that is closed. */
import { HostError } from "../../permissions/mod.ts";

/** The error of a build that comes too late. */
export function closed(): HostError {
  return new HostError("ERR_HOST_CLOSED", "Cannot bundle: the host is closed");
}

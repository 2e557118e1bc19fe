/** Facts about the machine and the host's process, as Deno's functions tell them. Given to a guest only word by word. */
import { readFileSync } from "node:fs";
import { freemem, hostname, loadavg, networkInterfaces, release, totalmem, uptime } from "node:os";
import process from "node:process";

/** A word of the kind `sys` that has a function of Deno's. */
export type SystemFact =
  | "hostname"
  | "osRelease"
  | "osUptime"
  | "loadavg"
  | "networkInterfaces"
  | "systemMemoryInfo"
  | "uid"
  | "gid";

/** How each is found out, as JSON. The words that are not here have no function that a guest could call. */
export const SYSTEM_FACTS: Readonly<Record<SystemFact, () => unknown>> = Object.freeze({
  hostname,
  osRelease: release,
  osUptime: () => Math.floor(uptime()),
  loadavg,
  networkInterfaces: listInterfaces,
  systemMemoryInfo: readMemory,
  uid: () => process.getuid?.() ?? null,
  gid: () => process.getgid?.() ?? null,
});

function listInterfaces(): unknown {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    addresses.map(({ family, address, netmask, cidr, mac, ...rest }) => {
      const scopeid = "scopeid" in rest ? rest.scopeid : null;
      return { family, name, address, netmask, scopeid, cidr, mac };
    })
  );
}

function readMemory(): unknown {
  const text = readWhereThereIs("/proc/meminfo");
  const bytesOf = (name: string): number | null => {
    const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1];
    return kib === undefined ? null : Number(kib) * 1_024;
  };
  return {
    total: bytesOf("MemTotal") ?? totalmem(),
    free: bytesOf("MemFree") ?? freemem(),
    available: bytesOf("MemAvailable") ?? freemem(),
    buffers: bytesOf("Buffers") ?? 0,
    cached: bytesOf("Cached") ?? 0,
    swapTotal: bytesOf("SwapTotal") ?? 0,
    swapFree: bytesOf("SwapFree") ?? 0,
  };
}

function readWhereThereIs(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** The machine in general terms: what figures depend on, and nothing that names it. */
import { createRequire } from "node:module";
import { availableParallelism, cpus, loadavg, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { execFileSync } from "node:child_process";
import { denoPath } from "./deno.ts";
import { PACKAGE, ROOT } from "./places.ts";

/** Lines that describe it. */
export function describeMachine(confinement: string): readonly string[] {
  const memoryGib = Math.round(totalmem() / 2 ** 30);
  const deno = execFileSync(denoPath(), ["--version"], { encoding: "utf8" })
    .split("\n").slice(0, 2).join(", ");
  return [
    `${availableParallelism()} cores (${
      cpus()[0]?.model.trim() || "unknown"
    }), ${memoryGib} GiB, ${platform()} ${release().split(".").slice(0, 2).join(".")}`,
    `Node ${process.versions.node} (V8 ${process.versions.v8}); ${deno}`,
    ["isolated-vm", "workerd", "quickjs-emscripten", "esbuild"].map((name) => `${name} ${versionOf(name)}`)
      .join(", "),
    `Sallyport ${versionIn(join(PACKAGE, "package.json"))}, built; workers confined: ${confinement}`,
    `other work when it began: a load average of ${loadavg()[0]!.toFixed(1)}`,
  ];
}

function versionOf(name: string): string {
  const places = [import.meta.url, join(ROOT, "package.json")];
  const path = places.map((place) => createRequire(place)).flatMap((require) => {
    try {
      return [require.resolve(`${name}/package.json`)];
    } catch {
      return [];
    }
  })[0];
  return path === undefined ? "missing" : versionIn(path);
}

function versionIn(path: string): string {
  const { version } = createRequire(import.meta.url)(path) as {
    readonly version: string;
  };
  return version;
}

/**
 * The two engines. esbuild's own program is five to ten times as fast and knows a file system, so it runs only where
 * bubblewrap gives it an empty one; everywhere else runs the build that has none, in Node under its permission model.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import {
  type ConfinedProcess,
  type ConfinementPlan,
  startConfined,
  startProgram,
} from "../../runtime/mod.ts";
import type { Dialect } from "./dialect.ts";
import { engineVersion, versionOf } from "./engine_version.ts";
import type { BundleLimits } from "./limits.ts";
import { nativeDialect } from "./native_dialect.ts";
import { wasmDialect } from "./wasm_dialect.ts";

const WASM_PAGES_PER_MB = 16;
/** A deep but honest file needs more stack than Node gives; a dishonest one ends the process all the same. */
const STACK_KB = 3_900;

/** A process that was started, and how to speak with it. */
export interface StartedEngine {
  /** The process. */
  readonly child: ConfinedProcess;
  /** Its language. */
  readonly dialect: Dialect<unknown>;
}

/** Whether the engine that is right for a plan starts soon and takes little memory. */
export function isLight({ bubblewrap }: ConfinementPlan): boolean {
  return bubblewrap !== undefined && nativeProgram(engineVersion()) !== null;
}

/** Starts the engine that is right for a plan. */
export async function startEngine(plan: ConfinementPlan, limits: BundleLimits): Promise<StartedEngine> {
  const version = engineVersion();
  const program = plan.bubblewrap === undefined ? null : nativeProgram(version);
  if (plan.bubblewrap === undefined || program === null) return await startWasm(plan, limits);
  const { bubblewrap } = plan;
  const child = await startProgram({ bubblewrap, program, args: [`--service=${version}`] });
  return { child, dialect: nativeDialect(version, limits) };
}

/** Absolute path of esbuild's program of this version for this machine, or null: its package is optional. */
function nativeProgram(version: string): string | null {
  try {
    const name = `@esbuild/linux-${process.arch}/package.json`;
    const file = createRequire(import.meta.url).resolve(name);
    return versionOf(file) === version ? join(dirname(file), "bin/esbuild") : null;
  } catch {
    return null;
  }
}

async function startWasm(plan: ConfinementPlan, limits: BundleLimits): Promise<StartedEngine> {
  const require = createRequire(import.meta.url);
  const engine = { file: require.resolve("esbuild-wasm/lib/browser.min.js") };
  const wasm = { file: require.resolve("esbuild-wasm/esbuild.wasm") };
  const child = await startConfined({
    plan,
    entry: ownFile("./child"),
    readable: [...importsOfEntry(), engine.file, wasm.file],
    nodeFlags: [
      `--wasm-max-mem-pages=${limits.bundleMemoryMb * WASM_PAGES_PER_MB}`,
      `--max-old-space-size=${limits.bundleMemoryMb}`,
      `--stack-size=${STACK_KB}`,
      // The engine lives for few builds: compiling it better costs more than it gives (1.4 s instead of 3.9 s for 169 files).
      "--liftoff-only",
    ],
    args: [engine, wasm],
  });
  return { child, dialect: wasmDialect(limits) };
}

const EXTENSION = import.meta.url.endsWith(".ts") ? ".ts" : ".js";

/** In the package the entry is one file; in development it imports its neighbours. */
function importsOfEntry(): readonly string[] {
  if (EXTENSION === ".js") return [];
  return ["./protocol", "../../runtime/wire", "../../runtime/worker/confine_self"].map(ownFile);
}

function ownFile(path: string): string {
  return fileURLToPath(new URL(path + EXTENSION, import.meta.url));
}

/** Temporary plugins, and a way to run what was bundled. */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import vm from "node:vm";
import { afterAll } from "vitest";
import { BundleError } from "../../permissions/mod.ts";
import { planConfinement } from "../../runtime/mod.ts";
import { Bundler, type BundlerOptions, type BundleTarget, type TargetBundle } from "../../src/bundler/mod.ts";
import { PluginSource } from "../../src/source.ts";

/** A path → text, bytes, or a link to a target. */
export type Files = Readonly<Record<string, string | Uint8Array | { readonly link: string }>>;

const made: string[] = [];
const bundlers: Bundler[] = [];

afterAll(async () => {
  await Promise.all(bundlers.splice(0).map((bundler) => bundler.close()));
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
});

/** An empty directory that goes away with the test file. */
export function temporary(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "sallyport-test-")));
  chmodSync(directory, 0o755);
  made.push(directory);
  return directory;
}

/** Writes files below a directory. */
export function write(directory: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    const full = join(directory, path);
    mkdirSync(dirname(full), { recursive: true });
    if (typeof content === "string" || content instanceof Uint8Array) writeFileSync(full, content);
    else symlinkSync(content.link, full);
  }
}

/** A plugin directory with these files. */
export function plugin(files: Files): string {
  const directory = join(temporary(), "plugin");
  mkdirSync(directory);
  write(directory, files);
  return directory;
}

/** Copies a package of this repository into a plugin. */
export function install(directory: string, name: string): void {
  const from = join(import.meta.dirname, "../../node_modules", name);
  cpSync(from, join(directory, "node_modules", name), { recursive: true });
}

/** A bundler that is closed after the file's tests. */
export function bundler(options: Partial<BundlerOptions> = {}): Bundler {
  const made = new Bundler({ plan: planConfinement("best"), ...options });
  bundlers.push(made);
  return made;
}

/** Bundles an export of a directory. */
export function bundle(
  by: Bundler,
  source: PluginSource | string,
  path = "main.ts",
  name: string | null = "run",
): Promise<TargetBundle> {
  const target: BundleTarget = { path, export: name };
  const opened = typeof source === "string" ? PluginSource.open(source) : source;
  return by.bundle({ source: opened, target, tenant: "test" });
}

/** Runs a bundle as a worker would wrap it; gives what was registered. In tests only: node:vm confines nothing. */
export async function evaluate(made: TargetBundle, globals: Record<string, unknown> = {}): Promise<unknown> {
  let registered: unknown = "nothing was registered";
  const text = `(async (__sallyport_register__) => { "use strict";\n${made.code}\n})`;
  const main = vm.runInNewContext(text, globals) as (register: (value: unknown) => void) => Promise<void>;
  await main((value) => registered = value);
  return registered;
}

/** Runs what was registered, a function. */
export async function run(made: TargetBundle, ...args: unknown[]): Promise<unknown> {
  const registered = await evaluate(made) as (...args: unknown[]) => unknown;
  return await registered(...args);
}

/** The BundleError of a promise that must fail with one. */
export async function failure(promise: Promise<unknown>): Promise<BundleError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof BundleError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

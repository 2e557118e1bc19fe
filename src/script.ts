/**
 * A single script: its flags are its manifest, its source is itself and the code that it imports from its own folder
 * (T30). No trust applies, so its reach is what the person typed, and nothing more.
 */
import { basename, join } from "node:path";
import {
  check,
  grantOf,
  layerOf,
  type PathContext,
  type PermissionRequest,
  TrustError,
  UsageError,
} from "../permissions/mod.ts";
import type { Bundler } from "./bundler/mod.ts";
import type { LimitRequest } from "./manifest/mod.ts";
import { limitsOf } from "./policy.ts";
import { type OwnSpaces, scriptLineage } from "./own_spaces.ts";
import { withRealPaths } from "./real_paths.ts";
import type { CallOptions, Runner, Unit } from "./runner.ts";
import { PluginSource } from "./source.ts";
import { SourceError } from "./source_file.ts";
import { type Fingerprint, fingerprintOf } from "./trust/mod.ts";

/** How a script runs. */
export interface ScriptOptions extends CallOptions {
  /** What it may do; relative paths start at `cwd`. */
  readonly permissions: PermissionRequest;
  /** The working directory. */
  readonly cwd: string;
  /** The environment that `env` grants from. */
  readonly environment: Readonly<Record<string, string>>;
  /** What it may use. */
  readonly limits: LimitRequest;
  /** `sha256:…` that its source must have. */
  readonly fingerprint?: string;
}

/** A script that is ready to run. */
export interface Script {
  /** Hash over the script and all that it imports; bundles it, runs nothing. */
  fingerprint(): Promise<Fingerprint>;
  /** Runs it and gives what its default export gives, or null when it has none. Throws what a call throws. */
  run(input: unknown): Promise<unknown>;
}

/** Opens a script. Throws UsageError when it is not there or a permission cannot be read. */
export function openScript(
  file: string,
  options: ScriptOptions,
  parts: {
    readonly runner: Runner;
    readonly bundler: Pick<Bundler, "bundle">;
    readonly tenant: string;
    readonly spaces: OwnSpaces;
  },
): Script {
  const context: PathContext = { cwd: options.cwd };
  const grant = grantOf(withRealPaths(layerOf("flags", options.permissions, context)));
  const mayRead = (path: string): boolean =>
    check(grant, { kind: "read", value: path, absolute: true }, context).state === "granted";
  const source = open(file, mayRead);
  const name = basename(file);
  const target = { path: source.script ?? name, export: null };
  const pin = async (): Promise<Fingerprint> => {
    const bundle = await parts.bundler.bundle({ source, target, tenant: parts.tenant });
    const files = [target.path, ...bundle.inputs, ...bundle.packageFiles].map((
      path,
    ) => [path, source.hash(path, "code")]);
    return fingerprintOf({
      manifest: { script: target.path },
      files: Object.fromEntries(files) as Record<string, string>,
      resolutions: { [target.path]: bundle.resolution },
      trees: {},
    });
  };
  return {
    fingerprint: pin,
    async run(input) {
      const pinned = options.fingerprint === undefined ? null : await pin();
      if (pinned !== null && pinned.hash !== options.fingerprint) {
        throw changed(name, pinned.hash, options.fingerprint!);
      }
      const unit: Unit = {
        key: `script ${join(source.directory, target.path)}`,
        plugin: name,
        title: `Script "${name}"`,
        source,
        target,
        declaredIn: null,
        fingerprint: pinned?.hash ?? null,
        verify: () => {},
        grant,
        context,
        bundle: null,
        own: parts.spaces.spaceOf(scriptLineage(join(source.directory, target.path))),
        environment: options.environment,
        limits: limitsOf(options.limits, { limits: options.limits }),
      };
      return await parts.runner.call(unit, input, options);
    },
  };
}

function open(file: string, mayRead: (path: string) => boolean): PluginSource {
  try {
    const source = PluginSource.openScript(file, { mayRead });
    if (source.kind(source.script!) !== "file") {
      throw new SourceError("not-a-file", basename(file), "is not a file");
    }
    return source;
  } catch (cause) {
    if (!(cause instanceof SourceError)) throw cause;
    throw new UsageError("ERR_USAGE", `Cannot run script "${file}": ${cause.message}. Check the path`, {
      cause,
    });
  }
}

function changed(name: string, found: string, asked: string): TrustError {
  return new TrustError(
    "ERR_TRUST_CHANGED",
    `Cannot run script "${name}": its fingerprint is ${found}, not ${asked}. Read it again, and use --lock to print what it is now`,
    { details: { script: name, found, asked } },
  );
}

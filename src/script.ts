/**
 * A single script: its flags are its manifest, its source is itself and the code that it imports from its own folder
 * (T30). No trust applies, so its reach is what the person typed, and nothing more.
 */
import { basename, join } from "node:path";
import {
  check,
  type Decision,
  grantOf,
  type KindTable,
  layerOf,
  type PathContext,
  type PermissionRequest,
  type Requirement,
  TrustError,
  UsageError,
} from "../permissions/mod.ts";
import type { Bundler } from "./bundler/mod.ts";
import type { LimitRequest } from "./manifest/mod.ts";
import { limitsOf } from "./policy.ts";
import { findPrograms } from "./programs.ts";
import { type OwnSpaces, scriptLineage } from "./own_spaces.ts";
import { withRealPaths } from "./real_paths.ts";
import type { CallOptions } from "./run.ts";
import type { Runner } from "./runner.ts";
import type { SecretStore, TenantSecrets } from "./secrets/mod.ts";
import { PluginSource } from "./source.ts";
import { SourceError } from "./source_file.ts";
import { ceilingLayer, discoverUses, type Discovery, widened } from "./discovery.ts";
import type { Redactor } from "../runtime/mod.ts";
import { type CallStream, readWhole } from "./call_stream.ts";
import { type Explain, explainUse } from "./explain.ts";
import { Streams } from "./streams.ts";
import { type Fingerprint, fingerprintOf, type Narrowing } from "./trust/mod.ts";
import type { Unit } from "./unit.ts";

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
  /** As a tenant's policy has it. */
  readonly unconfinedCommands?: "allow";
  /** Where secrets are kept; absent is nowhere. */
  readonly secrets?: SecretStore;
}

/** A script that is ready to run. */
export interface Script {
  /** Decides as if the script used it now; runs nothing. */
  explain(requirement: Requirement): Decision;
  /** Runs it with its permissions widened to a ceiling, and tells what it used. Throws UsageError for a ceiling that may not be. */
  discover(input: unknown, ceiling: Narrowing): Promise<Discovery>;
  /** Hash over the script and all that it imports; bundles it, runs nothing. */
  fingerprint(): Promise<Fingerprint>;
  /** Runs it and gives what its default export gives, or null when it has none. Throws what a call throws. */
  run(input: unknown): Promise<unknown>;
  /** The same, piece by piece, as `tenant.stream` gives what a tool gives. */
  stream(input: unknown): CallStream;
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
    readonly kinds: KindTable;
    readonly secrets: Pick<TenantSecrets, "learn">;
    readonly explain: Explain;
    readonly redactor: Redactor;
  },
): Script {
  const context: PathContext = { cwd: options.cwd, kinds: parts.kinds, which: findPrograms() };
  const grant = grantOf(withRealPaths(layerOf("flags", options.permissions, context)));
  const mayRead = (path: string): boolean =>
    check(grant, { kind: "read", value: path, absolute: true }, context).state === "granted";
  const source = open(file, mayRead);
  const name = basename(file);
  const target = { path: source.script ?? name, export: null };
  const streams = new Streams(parts.redactor);
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
  const unitOf = async (): Promise<Unit> => {
    await parts.secrets.learn(); // its results and lines may repeat one
    const pinned = options.fingerprint === undefined ? null : await pin();
    if (pinned !== null && pinned.hash !== options.fingerprint) {
      throw changed(name, pinned.hash, options.fingerprint!);
    }
    return {
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
      place: join(source.directory, target.path),
      bundle: null,
      own: parts.spaces.spaceOf(scriptLineage(join(source.directory, target.path))),
      environment: options.environment,
      limits: limitsOf(options.limits, { limits: options.limits }),
    };
  };
  return {
    fingerprint: pin,
    explain: (requirement) => explainUse(parts.explain, { grant, context, bundle: null }, requirement),
    run: async (input) => await parts.runner.call(await unitOf(), input, options),
    stream: (input) =>
      streams.open(
        name,
        options,
        async (inner) => await parts.runner.call(await unitOf(), input, { ...options, ...inner }),
      ),
    async discover(input, ceiling) {
      const wide = widened(grant, ceilingLayer(ceiling, { context, bundle: null }, parts.explain));
      const unit: Unit = { ...await unitOf(), grant: wide, tellsReads: true };
      const declared = { request: options.permissions, source: "flags" as const, context };
      return await discoverUses(
        declared,
        (onUse) =>
          readWhole(
            streams.open(
              name,
              options,
              (inner) => parts.runner.call(unit, input, { ...options, ...inner, onUse }),
            ),
          ),
      );
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

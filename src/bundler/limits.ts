/** Bounds of reading and bundling a plugin, each with its unit last in its name. */

/** What one plugin's directory may cost while it is read. */
export interface SourceLimits {
  /** Bytes of one file. */
  readonly sourceBytesMax: number;
  /** Bytes of all files together. */
  readonly sourceTotalBytesMax: number;
  /** Files that are opened. */
  readonly sourceFilesMax: number;
  /** Answers about paths that are remembered, "there is nothing" included. */
  readonly sourceAnswersMax: number;
  /** Characters of one path. */
  readonly sourcePathCharsMax: number;
  /** Symbolic links followed in one path. */
  readonly sourceLinksMax: number;
}

/** What one build may cost. */
export interface BundleLimits {
  /** Time of one build, from its start in a bundler process to its end. */
  readonly bundleWallMs: number;
  /** Resident memory of a bundler process. */
  readonly bundleMemoryMb: number;
  /** Bytes of all files that one target imports. */
  readonly bundleInputBytesMax: number;
  /** Files that one target imports. */
  readonly bundleModulesMax: number;
  /** Import statements of one target that are resolved. */
  readonly bundleImportsMax: number;
  /** Brackets open at once in one file; the engine's stack ends not far above it. */
  readonly bundleNestingMax: number;
  /** Bytes of one package.json. */
  readonly bundlePackageBytesMax: number;
  /** Files of a chain of imports that are named in an error. */
  readonly bundleChainMax: number;
  /** Characters of one import specifier. */
  readonly bundleSpecifierCharsMax: number;
  /** Bytes of the code that comes out. */
  readonly bundleCodeBytesMax: number;
  /** Bytes of one answer of a bundler process: code, source map and warnings. */
  readonly bundleFrameBytesMax: number;
  /** Errors and warnings reported of one build. */
  readonly bundleMessagesMax: number;
  /** Characters of one of them. */
  readonly bundleMessageCharsMax: number;
}

/** Bounds of the bundler processes of one host. */
export interface BundlerPoolLimits {
  /** Bundler processes at once. */
  readonly bundlerProcessesMax: number;
  /** Builds that one tenant may have waiting. */
  readonly bundlerWaitingMax: number;
  /** Time from the start of a bundler process to its first word. */
  readonly bundlerStartMs: number;
  /** A process without work is ended after this. */
  readonly bundlerIdleMs: number;
  /** After a build, a spare process is started when no other build has begun for this long. */
  readonly bundlerSpareDelayMs: number;
  /** Time that answers to one process may take before the host turns to its other work. */
  readonly bundlerTurnMs: number;
  /** Between two looks at the resident memory of a process that builds. */
  readonly bundlerPollMs: number;
}

/** The defaults for reading a plugin. */
export const SOURCE_LIMITS: SourceLimits = Object.freeze({
  sourceBytesMax: 4 * 1_048_576,
  sourceTotalBytesMax: 64 * 1_048_576,
  sourceFilesMax: 20_000,
  sourceAnswersMax: 400_000,
  sourcePathCharsMax: 512,
  sourceLinksMax: 40,
});

/** The defaults for one build. */
export const BUNDLE_LIMITS: BundleLimits = Object.freeze({
  bundleWallMs: 30_000,
  bundleMemoryMb: 768,
  bundleInputBytesMax: 32 * 1_048_576,
  bundleModulesMax: 3_000,
  bundleImportsMax: 25_000,
  bundleNestingMax: 1_000,
  bundlePackageBytesMax: 262_144,
  bundleChainMax: 20,
  bundleSpecifierCharsMax: 512,
  bundleCodeBytesMax: 16 * 1_048_576,
  bundleFrameBytesMax: 64 * 1_048_576,
  bundleMessagesMax: 20,
  bundleMessageCharsMax: 500,
});

/** The defaults for the bundler processes of one host. */
export const BUNDLER_POOL_LIMITS: BundlerPoolLimits = Object.freeze({
  bundlerProcessesMax: 2,
  bundlerWaitingMax: 1_000,
  bundlerStartMs: 15_000,
  bundlerIdleMs: 30_000,
  bundlerSpareDelayMs: 100,
  bundlerTurnMs: 5,
  bundlerPollMs: 20,
});

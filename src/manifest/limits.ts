/** Every bound on a manifest, in one table; units last. */
export const MANIFEST_LIMITS = {
  /** Size of the file. */
  bytesMax: 256 * 1024,
  /** Nesting of maps and lists in the YAML. */
  depthMax: 64,
  /** Maps, lists, keys and scalars in the YAML. */
  nodesMax: 20_000,
  /** Problems listed by one error; the rest is counted. */
  issuesMax: 100,
  /** Text of others quoted inside a message. */
  quoteCharsMax: 120,
  versionCharsMax: 64,
  rangeCharsMax: 128,
  descriptionCharsMax: 4096,
  usageCharsMax: 256,
  matcherCharsMax: 512,
  /** Steps of the automaton that a matcher becomes, and repetitions that are written out in it. */
  matcherStepsMax: 2_000,
  titleCharsMax: 128,
  /** A reference: the whole path. */
  referenceCharsMax: 512,
  /** A reference: one segment, as most file systems have it. */
  segmentBytesMax: 255,
  exportCharsMax: 128,
  /** Entries of one surface, matchers of one hook event, hooks of one matcher, callers of one tool. */
  entriesMax: 256,
  /** Permission entries of the plugin and all its capabilities together: each is compared with each. */
  permissionEntriesMax: 2000,
  argumentsMax: 64,
  argumentCharsMax: 1024,
  /** Files that a hook's program sees beside itself: each is a descriptor while it starts. */
  hookFilesMax: 32,
  priorityMax: 10_000,
  /** A JSON Schema: nesting, keywords and items together, and its size as JSON. */
  schemaDepthMax: 32,
  schemaNodesMax: 2_000,
  schemaCharsMax: 65_536,
  /** What `limits:` may ask for. The tenant's policy caps it further. */
  memoryMbMin: 8,
  memoryMbMax: 4096,
  cpuMsMax: 3_600_000,
  wallMsMax: 3_600_000,
} as const;

/** Bounds of reading resources. */

/** Each with its unit last in its name. */
export interface ResourceLimits {
  /** One resource, encoded. */
  readonly resourceBytesMax: number;
  /** A path, after its prefix is taken off. */
  readonly pathCharactersMax: number;
  /** Roots that are looked through. */
  readonly rootsMax: number;
  /** Names in one folder of a root. */
  readonly namesMax: number;
}

/** The values in force. */
export const RESOURCE_LIMITS: ResourceLimits = Object.freeze({
  resourceBytesMax: 1_048_576,
  pathCharactersMax: 1_024,
  rootsMax: 1_024,
  namesMax: 4_096,
});

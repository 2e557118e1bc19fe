/** Every bound on documents, in one table; units last. */
export const DOCUMENT_LIMITS = {
  /** One document, as a resource has it. */
  documentBytesMax: 1_048_576,
  /** What stands between the two `---` of a Markdown document. */
  frontMatterBytesMax: 64 * 1024,
  /** A document that is data as a whole: a playbook, a pack, a theme. */
  dataBytesMax: 256 * 1024,
  /** All of a plugin's front matter and data: it is read before anybody trusts the plugin, whenever it is found. */
  dataOfPluginBytesMax: 512 * 1024,
  /** Nesting of maps and lists. */
  depthMax: 32,
  /** Maps, lists, keys and scalars. */
  nodesMax: 20_000,
  titleCharsMax: 128,
  descriptionCharsMax: 4_096,
  /** A name, a model, a licence: one line. */
  lineCharsMax: 512,
  /** Texts that a playbook or a pack holds itself. */
  wordingCharsMax: 65_536,
  /** Tools of a document, what one step needs. */
  entriesMax: 256,
  /** Arguments that a prompt declares. */
  argumentsMax: 64,
  /** Words that a person typed after a prompt's name. */
  wordsMax: 4_096,
  /** A prompt with its arguments put in: each may stand in it many times. */
  promptCharsMax: 4 * 1_048_576,
  stepsMax: 256,
  rolesMax: 256,
  /** Names that a pack restyles and nobody has, as they are told; no further ones are looked for. */
  missingToldMax: 8,
  /** Colours, fonts and images of one theme, each. */
  stylesMax: 256,
  /** One image or font file of a theme. */
  assetBytesMax: 1_048_576,
} as const;

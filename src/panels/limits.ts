/** Every bound on a panel's view, in one table; units last. */
export const PANEL_LIMITS = {
  /** Lists and maps inside one another; a card in a card takes two. */
  depthMax: 16,
  /** Nodes, their members, items and cells together. */
  valuesMax: 20_000,
  /** All texts of a view together. */
  viewCharsMax: 262_144,
  /** One paragraph. */
  textCharsMax: 16_384,
  /** Heads, labels, names and choices. */
  labelCharsMax: 128,
  /** One cell of a table, and what stands in a field. */
  cellCharsMax: 1_024,
  /** Nodes of a view or a card, items of a list. */
  itemsMax: 500,
  columnsMax: 32,
  rowsMax: 1_000,
  fieldsMax: 64,
  choicesMax: 100,
  actionsMax: 16,
  /** Problems that are told; the rest is counted. */
  issuesMax: 8,
  /** What is told of one of them. */
  issueCharsMax: 200,
  /** Width of the rendered text, in cells of a terminal. */
  widthCellsMin: 20,
  widthCellsMax: 400,
  widthCells: 80,
} as const;

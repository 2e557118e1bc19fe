// @ts-check
/** Runs in the validator's isolate, around the library's class: one question in, one answer out. */
((Validator) => {
  "use strict";
  const SCHEMAS_MAX = 200;
  const compiled = new Map();

  function validatorOf(text) {
    const known = compiled.get(text);
    if (known !== undefined) return known;
    if (compiled.size >= SCHEMAS_MAX) compiled.clear();
    const made = new Validator(JSON.parse(text), "2020-12", false);
    compiled.set(text, made);
    return made;
  }

  return ({ schema, value, issuesMax }) => {
    const { valid, errors } = validatorOf(schema).validate(value);
    // The library names every schema on the way down; the deepest one is what a person needs to hear.
    const issues = errors.map(({ instanceLocation, error }) => ({ at: instanceLocation, message: error }));
    return { valid, issues: issues.slice(-issuesMax) };
  };
});

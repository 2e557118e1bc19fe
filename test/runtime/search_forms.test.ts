/** Looking for many texts at once finds what looking for each of them finds. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Redactor } from "../../runtime/mod.ts";
import { formSearch } from "../../runtime/search_forms.ts";

/** Few characters, so that forms overlap, repeat and begin each other; some that share their lower bits. */
const letters = fc.constantFrom("a", "b", "c", "\u0161", "\u4161", "\ud83d", "\ude00");
const form = fc.string({ unit: letters, minLength: 2, maxLength: 9 });
const forms = fc.uniqueArray(form, { minLength: 1, maxLength: 6 });
const text = fc.string({ unit: letters, maxLength: 60 });

test("every place of every form is found, and no other one", () => {
  fc.assert(fc.property(forms, text, fc.nat(20), (wanted, hay, at) => {
    const searched = hay.slice(0, at) + wanted[0] + hay.slice(at);
    const found = formSearch(wanted).find(searched).map(([from, to]) => `${from}-${to}`).sort();
    const places: string[] = [];
    for (const each of wanted) {
      for (let from = searched.indexOf(each); from !== -1; from = searched.indexOf(each, from + 1)) {
        places.push(`${from}-${from + each.length}`);
      }
    }
    expect(found).toEqual(places.sort());
  }));
});

test("the longest end with which a form begins is found", () => {
  fc.assert(fc.property(forms, text, fc.integer({ min: 2, max: 4 }), (wanted, hay, least) => {
    let longest = -1;
    for (let at = 0; at + least <= hay.length && longest === -1; at++) {
      if (wanted.some((each) => each.startsWith(hay.slice(at)))) longest = at;
    }
    expect(formSearch(wanted).begunAtEnd(hay, least)).toBe(longest);
  }));
});

test("[T35] a result is the same whether its text or its value is searched, however it is written", () => {
  const secrets = ["s3cret-value-one", 'quo"ted\\value', "value with spaces & signs"];
  const piece = fc.oneof(
    fc.constantFrom(...secrets, ...secrets.map((secret) => encodeURIComponent(secret))),
    fc.constantFrom(...secrets.map((secret) => Buffer.from(`x${secret}`).toString("base64"))),
    fc.string({ maxLength: 12 }),
  );
  const words = fc.array(piece, { maxLength: 4 }).map((parts) => parts.join(""));
  const value = fc.object({ key: words, values: [words, fc.integer(), fc.constant(null)], maxDepth: 3 });
  fc.assert(fc.property(value, fc.boolean(), (given, isEscaped) => {
    const redactor = new Redactor();
    for (const secret of secrets) redactor.know(secret);
    const plain = JSON.stringify(given);
    // The guest writes the text, and may write any character of it as an escape.
    const written = isEscaped ? plain.replace(/[a-z](?=[^\\"]*")/, escaped) : plain;
    let parsed: unknown;
    try {
      parsed = JSON.parse(written);
    } catch {
      return; // the escape fell into a literal
    }
    expect(redactor.parsed(written, parsed)).toEqual(redactor.value(parsed));
    const left = JSON.stringify(redactor.parsed(written, parsed));
    expect(secrets.some((secret) => left.includes(secret))).toBe(false);
  }));
});

function escaped(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { composeParts, createRealm, type Realm } from "./realm.ts";

let realm: Realm;
beforeAll(() => realm = createRealm());
afterAll(() => realm.dispose());

/** Runs the same script here and in the isolate; both must give the same JSON. */
function same(script: string): void {
  const node: unknown = JSON.parse(JSON.stringify(new Function(script)()));
  expect(realm.run(script)).toEqual(node);
}

test("TextEncoder gives Node's bytes, lone surrogates included", () => {
  const texts = fc.sample(fc.string({ unit: "binary", maxLength: 40 }), { numRuns: 300, seed: 1 })
    .concat(
      "",
      "\ud800",
      "a\udc00b",
      "\ud83d\ude00\ud83d",
      "\u07ff\u0800\uffff",
      "x".repeat(5000) + "\u20ac",
    );
  same(`return ${JSON.stringify(texts)}.map((text) => [...new TextEncoder().encode(text)].join());`);
});

test("TextEncoder.encodeInto writes whole characters only", () => {
  same(`
    const out = [];
    for (const text of ["abc", "a\u20acb", "\ud83d\ude00x", "\ud800", "", "\u00fc\u00fc\u00fc"]) {
      for (let size = 0; size < 7; size++) {
        const bytes = new Uint8Array(size + 1).subarray(1);
        const { read, written } = new TextEncoder().encodeInto(text, bytes);
        out.push([read, written, ...bytes].join());
      }
    }
    return out;
  `);
  expect(realm.run(`new TextEncoder().encodeInto("a", new Int8Array(1))`)).toMatch(/^threw TypeError/);
});

test("TextDecoder reads arbitrary bytes as Node does, whole and in pieces, fatal and not", () => {
  const raw = fc.sample(fc.uint8Array({ maxLength: 24 }), { numRuns: 200, seed: 2 }).map((
    bytes,
  ) => [...bytes]);
  const edges = [
    [0xef, 0xbb, 0xbf, 65],
    [0xef, 0xbb],
    [0xe0, 0x80, 0x80],
    [0xed, 0xa0, 0x80],
    [0xf0, 0x9f, 0x98, 0x80],
    [0xf0, 0x9f, 0x98],
    [0xf4, 0x90, 0x80, 0x80],
    [0xc0, 0x80],
    [0xf8, 0x80],
    [0xc3, 0x41],
    [0xff, 0xfe, 65, 0],
    [0, 0xd8, 0, 0xdc],
    [0, 0xd8, 65, 0],
    [0, 0xdc],
    [65],
    [0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf],
    [0x80, 0x81, 0x9f, 0xa0],
  ];
  const utf8 = fc.sample(fc.string({ unit: "binary", maxLength: 12 }), { numRuns: 100, seed: 4 })
    .map((text) => [...new TextEncoder().encode(text)]);
  same(`
    const inputs = ${JSON.stringify([...raw, ...edges, ...utf8])};
    const out = [];
    for (const label of ["utf-8", "utf-16le", "windows-1252"]) for (const fatal of [false, true]) for (const ignoreBOM of [false, true]) {
      for (const input of inputs) {
        const options = { fatal, ignoreBOM };
        const units = (text) => Array.from({ length: text.length }, (_, i) => text.charCodeAt(i)).join();
        try { out.push(units(new TextDecoder(label, options).decode(new Uint8Array(input)))); } catch (e) { out.push(e.name); }
        const decoder = new TextDecoder(label, options);
        let text = "";
        try {
          for (const byte of input) text += decoder.decode(new Uint8Array([byte]), { stream: true });
          out.push(units(text + decoder.decode()));
        } catch (e) { out.push(e.name); }
      }
    }
    return out;
  `);
});

test("TextDecoder labels, views and long texts", () => {
  same(
    `return [" UTF8 ", "Latin1", "ascii", "utf-16", "ucs-2", "ISO-8859-1", "l1"].map((l) => new TextDecoder(l).encoding);`,
  );
  same(`
    const bytes = new TextEncoder().encode("h\u00e9llo".repeat(3000));
    const decoder = new TextDecoder();
    return [decoder.decode(bytes) === "h\u00e9llo".repeat(3000), decoder.decode(bytes.buffer).length,
      decoder.decode(new DataView(bytes.buffer, 1, 4)), decoder.decode(new Uint16Array(bytes.buffer, 0, 3)), decoder.decode(undefined)];
  `);
  expect(realm.run(`new TextDecoder("shift_jis")`)).toMatch(/^threw RangeError/);
  expect(realm.run(`new TextDecoder("")`)).toMatch(/^threw RangeError/);
  expect(realm.run(`new TextDecoder().decode("text")`)).toMatch(/^threw TypeError/);
});

test.each(["with the engine's base64", "without it"])("atob and btoa agree with Node's, %s", (mode) => {
  const inner = mode === "without it"
    ? createRealm(
      "",
      `(delete Uint8Array.fromBase64, delete Uint8Array.prototype.toBase64, ${composeParts()})`,
    )
    : realm;
  const latin = fc.sample(fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 20 }), {
    numRuns: 200,
    seed: 5,
  })
    .map((units) => String.fromCharCode(...units));
  const encoded = [
    "",
    " ",
    "YQ==",
    "YQ=",
    "YQ",
    "Y",
    "YWI=",
    "YWI",
    "YWJj",
    "YWJjZ",
    " Y Q = = ",
    "Y\nQ",
    "====",
    "=",
    "YQ==YQ==",
    "YWJj=",
    "YR==",
    "YWJ=",
    "a-_b",
    "ab\u00fc",
    "/+/+",
    "YQ==\f",
    "Y=Q=",
  ];
  const random = fc.sample(fc.array(fc.constantFrom(..."ABab01+/= \n-"), { maxLength: 9 }), {
    numRuns: 400,
    seed: 6,
  });
  const script = `
    const go = (f, v) => { try { return f(v); } catch (e) { return e.name + e.code; } };
    return [${JSON.stringify(latin)}.map((t) => go(btoa, t)), ${
    JSON.stringify([...encoded, ...random.map((r) => r.join(""))])
  }.map((t) => go(atob, t)),
      go(btoa, "\u20ac"), go(atob, null), go(btoa, undefined)];
  `;
  expect(inner.run(script)).toEqual(JSON.parse(JSON.stringify(new Function(script)())));
  if (inner !== realm) inner.dispose();
});

test("what other parts share: bytes, base64, latin1, and the units that fit", () => {
  expect(realm.run(`
    const i = $internal, bytes = i.encodeUtf8("\u00fc\u20ac");
    return [i.bytesToBase64(bytes), i.decodeUtf8(i.base64ToBytes(i.bytesToBase64(bytes))), i.bytesToLatin1(i.latin1ToBytes("\u00ff\0a")),
      i.unitsThatFit("\u20ac\u20ac", 5), i.unitsThatFit("abc", 8)];
  `)).toEqual(["w7zigqw=", "\u00fc\u20ac", "\u00ff\0a", 1, 3]);
});

import { join } from "node:path";
import { expect, test } from "vitest";
import { createHash } from "node:crypto";
import { memoryAudit } from "../../src/mod.ts";
import { Redactor, withoutShapes } from "../../runtime/mod.ts";
import { approved, failureOf, hosted, pluginOf, temporary, write } from "./support.ts";

const VALUE = "s3cr3t-of/the+tenant";
const sha256 = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`;
const FORMS: readonly string[] = [
  VALUE,
  Buffer.from(VALUE).toString("base64"),
  Buffer.from(VALUE).toString("base64url"),
  Buffer.from(VALUE).toString("hex"),
  Buffer.from(VALUE).toString("hex").toUpperCase(),
  encodeURIComponent(VALUE),
];
// Strings of a credential's shape that nobody ever had.
const SHAPED = {
  github: "ghp_" + "a1B2".repeat(9),
  "github, fine-grained": "github_pat_" + "a1B2".repeat(6),
  openai: "sk-proj-" + "a1B2-_".repeat(5),
  aws: "AKIA" + "A1B2".repeat(4),
  jwt: "eyJhbGciOiJub25l.eyJzdWIiOiJub2JvZHki.c2lnbmF0dXJl",
  pem: "-----BEGIN RSA PRIVATE KEY-----\nMIIBOgIBAAJB\nAKj34Gkx\n-----END RSA PRIVATE KEY-----",
  authorization: "Basic dXNlcjpwYXNz",
} as const;
/** What has no credential's shape, and is evidence. */
const HARMLESS: readonly string[] = [
  sha256("x"),
  createHash("sha512").update("x").digest("base64"),
  "123e4567-e89b-12d3-a456-426614174000",
  "risk-assessment-of-something-longer",
  "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  "-----BEGIN CERTIFICATE-----",
  "authorization was refused",
  "--allow-secrets='KEY api.example.com:443 as authorization: Bearer {}'",
];

const known = (...values: string[]): Redactor => {
  const redactor = new Redactor();
  for (const value of values) redactor.know(value);
  return redactor;
};

test("[T35] known values are cut in every form from every kind of text; each audit value keeps a hash of what was cut", () => {
  const redactor = known(VALUE);
  for (const form of FORMS) {
    const text = `<${form}>`;
    expect(redactor.text(text)).toBe("<[redacted]>");
    expect(redactor.message(text)).toBe("<[redacted]>");
    expect(redactor.lines()(text)).toBe("<[redacted]>");
    expect(redactor.evidence(text)).toBe(`<${sha256(form)}>`);
    expect(redactor.value({ a: [text, 1, null], [text]: true })).toEqual({
      a: ["<[redacted]>", 1, null],
      "<[redacted]>": true,
    });
  }
  const plain = { a: [1, { b: "text" }] };
  expect(redactor.value(plain)).toBe(plain);
});

test("[T35] a value of fewer than eight characters is a word like others, and is left", () => {
  for (const [value, text] of [["1234567", "1234567"], ["12345678", "[redacted]"]] as const) {
    expect(known(value).text(value)).toBe(text);
  }
});

test("[T35] many values: the oldest is forgotten, none is half cut", () => {
  const values = Array.from({ length: 1_025 }, (_none, index) => `value-number-${index}`);
  const redactor = known(...values);
  expect(redactor.text(values[0]!)).toBe(values[0]);
  expect(redactor.text(`${values[1_024]} ${values[3]}`)).toBe("[redacted] [redacted]");
  const overlapping = known("abcdefgh", "efghijkl");
  expect(overlapping.text("xabcdefghijkly")).toBe("x[redacted]y");
});

test("[T35] a value over several console lines of one call is cut out of each", () => {
  for (const form of FORMS) {
    for (let size = 4; size < form.length; size++) {
      const line = known(VALUE).lines();
      const parts = form.match(new RegExp(`.{1,${size}}`, "g"))!;
      const shown = [...parts.slice(0, -1).map((part) => line(part)), line(`${parts.at(-1)} and more`)];
      for (let at = 0; at + 4 <= form.length; at++) {
        expect(shown.join("")).not.toContain(form.slice(at, at + 4));
      }
      expect(shown.at(-1)).toMatch(/ and more$/);
    }
  }
  // Of the first three characters nobody can tell what they begin; the rest is cut all the same.
  const line = known(VALUE).lines();
  expect([line(VALUE.slice(0, 3)), line(`${VALUE.slice(3)}.`)]).toEqual([VALUE.slice(0, 3), "[redacted]."]);
  // Another call begins anew.
  expect(known(VALUE).lines()(VALUE.slice(3))).toBe(VALUE.slice(3));
});

test.each(Object.entries(SHAPED))(
  "[T35][R23] the shape %s is cut from messages and lines, not from results and audit",
  (name, text) => {
    const written = name === "authorization"
      ? `{"Authorization": "${text}", "a": 1}`
      : `before ${text}, after`;
    const cut = name === "authorization"
      ? `{"Authorization": "[redacted]", "a": 1}`
      : "before [redacted], after";
    expect(withoutShapes(written)).toBe(cut);
    const redactor = known(VALUE);
    expect(redactor.message(written)).toBe(cut);
    expect(redactor.lines()(written)).toBe(cut);
    expect(redactor.text(written)).toBe(written);
    expect(redactor.evidence(written)).toBe(written);
  },
);

test.each(HARMLESS)("[T35] evidence stays: %s", (text) => {
  expect(withoutShapes(`${text} `)).toBe(`${text} `);
});

test("[T35] a hostile text costs no more than its length", () => {
  const redactor = known(VALUE, "\\".repeat(64), "%25".repeat(20), "a".repeat(64), "&amp;".repeat(16));
  const bad = [
    "eyJ-",
    "sk-",
    "ghp_",
    "authorization:",
    "-----BEGIN PRIVATE KEY-----",
    "\\",
    "%25",
    "a",
    "AKIA",
    "&amp;",
    "eyJaaaaaaaa.",
  ];
  for (const text of bad) {
    const long = text.repeat(Math.ceil(65_536 / text.length));
    // Were it the square, the test's own time would not do.
    expect(redactor.message(long).length + redactor.lines()(`${long}!`).length).toBeGreaterThan(0);
  }
});

const SAYS = `export const go = ({ say, field }) => {
  const word = Deno.env.get("TOKEN");
  if (say === "result") return { word, [word]: [Buffer64(word)], hash: "ghp_${"x".repeat(20)}" };
  if (say === "lines") { console.log("one", word.slice(0, 9)); console.error(word.slice(9), "two"); console.log("Authorization: Bearer abc"); return null; }
  if (say === "read") return Deno.readTextFile("/nowhere/" + word);
  if (say === "long") throw new Error("x".repeat(1_015) + word);
  const error = new Error("it is " + word + " and ${SHAPED.github}");
  Object.defineProperty(error, "name", { value: "Bad" + word });
  throw error;
};
const Buffer64 = (text) => btoa(text);`;

test("[T35] the environment that a plugin was granted leaves it in no result, message, stack, line, refusal or audit", async () => {
  const audit = memoryAudit();
  const tenant = await approved(await hosted({ audit: () => audit }), "acme", {
    plugins: [pluginOf("p", { go: SAYS }, { head: "permissions: { env: [TOKEN, SHORT] }\n" })],
    policy: { permissions: { env: true }, environment: { TOKEN: VALUE, SHORT: "short" } },
  });
  expect(await tenant.call("go", { say: "result" })).toEqual({
    word: "[redacted]",
    "[redacted]": ["[redacted]"],
    hash: `ghp_${"x".repeat(20)}`,
  });
  const lines: string[] = [];
  await tenant.call("go", { say: "lines" }, { onLine: ({ text }) => void lines.push(text) });
  expect(lines).toEqual(["one [redacted]", "[redacted] two", "Authorization: [redacted]"]);
  const thrown = await failureOf(tenant.call("go", { say: "throw" }));
  expect(thrown.code).toBe("ERR_GUEST_THREW");
  expect(thrown.message).toContain("Bad[redacted]: it is [redacted] and [redacted]");
  const long = await failureOf(tenant.call("go", { say: "long" }));
  expect(long.message).toMatch(/xx\[redacted\]…$/);
  const refusals: unknown[] = [];
  const denied = await failureOf(
    tenant.call("go", { say: "read" }, { onDenial: (denial) => void refusals.push(denial) }),
  );
  expect(denied).toMatchObject({ code: "ERR_NOT_CAPABLE", details: { value: "/nowhere/[redacted]" } });
  expect(refusals.length).toBe(1);
  for (const error of [thrown, long, denied]) {
    expect(`${error.message}${error.stack}${JSON.stringify(error.details)}${String(error.cause)}`).not
      .toContain("s3cr3t");
  }
  expect(JSON.stringify(refusals)).not.toContain("s3cr3t");
  const read = audit.events.find(({ kind }) => kind === "read");
  expect(read).toMatchObject({ value: `/nowhere/${sha256(VALUE)}`, decision: "denied" });
  expect(JSON.stringify(audit.events)).not.toContain("s3cr3t");
});

test("[T35] secrets of the tenant are cut where a plugin came by them elsewhere, and stay cut when they are taken back", async () => {
  const place = temporary();
  write(place, { "env.txt": `KEY=${VALUE}\nOTHER=1` });
  const tenant = await approved(await hosted(), "acme", {
    plugins: [pluginOf("reader", { go: "export const go = ({ path }) => Deno.readTextFile(path);" }, {
      head: `permissions: { read: [${JSON.stringify(place)}] }\n`,
    })],
    policy: { permissions: { read: true } },
  });
  const read = () => tenant.call("go", { path: join(place, "env.txt") });
  expect(await read()).toBe(`KEY=${VALUE}\nOTHER=1`);
  await tenant.secrets.set("KEY", VALUE, { hosts: ["a.example:443"], plugins: ["web"] });
  expect(await read()).toBe("KEY=[redacted]\nOTHER=1");
  await tenant.secrets.delete("KEY");
  expect(await read()).toBe("KEY=[redacted]\nOTHER=1");
});

test("[T35] what one tenant is known to hold is a word like others to another one", async () => {
  const host = await hosted();
  const echo = pluginOf("echo", { go: "export const go = ({ text }) => text;" });
  const [acme, umbrella] = [
    await approved(host, "acme", { plugins: [echo] }),
    await approved(host, "umbrella", { plugins: [echo] }),
  ];
  await acme.secrets.set("KEY", VALUE, { hosts: ["a.example:443"], plugins: ["echo"] });
  expect(await acme.call("go", { text: VALUE })).toBe("[redacted]");
  expect(await umbrella.call("go", { text: VALUE })).toBe(VALUE);
});

test("[T35] a script may print the environment that its own reader granted it", async () => {
  const place = temporary();
  write(place, { "a.ts": "export default () => Deno.env.get('TOKEN');" });
  const script = (await hosted()).script("local", join(place, "a.ts"), {
    permissions: { env: ["TOKEN"] },
    cwd: place,
    environment: { TOKEN: VALUE },
    limits: {},
  });
  expect(await script.run({})).toBe(VALUE);
});

test("[T35] queries and users of URLs are no audit value", async () => {
  const audit = memoryAudit();
  const tenant = await approved(await hosted({ audit: () => audit }), "acme", {
    plugins: [pluginOf("web", { go: "export const go = ({ url }) => fetch(url).then(() => 1);" }, {
      head: 'permissions: { net: ["127.0.0.1:1"] }\n',
    })],
    policy: { permissions: { net: true } },
  });
  const urls = [
    "http://127.0.0.1:1/p?token=abc",
    "http://a.example/p?token=abc#x",
    "http://a_%62:1/?token=abc",
    "http://u:abc@127.0.0.1:1/",
    `http://${"a".repeat(64)}.example/p?token="abc"`,
  ];
  for (const url of urls) await failureOf(tenant.call("go", { url }));
  const values = audit.events.filter(({ kind }) => kind === "net").map(({ value }) => value);
  expect(values.slice(0, 3)).toEqual([
    "GET http://127.0.0.1:1/p",
    "GET http://127.0.0.1:1/p",
    "GET http://a.example:80/p",
  ]);
  expect(JSON.stringify(audit.events)).not.toContain("abc");
});

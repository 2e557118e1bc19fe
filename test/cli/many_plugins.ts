/** A home with many trusted plugins, written as `trust` would have left them one by one. */
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseManifest } from "../../src/manifest/mod.ts";
import { canonicalPins } from "../../src/trust/fingerprint.ts";

/** The files of one plugin. */
export interface PluginPaths {
  readonly manifest: string;
  readonly code: string;
}

const CODE = "export const greet = ({ name }) => `Hello, ${name}!`;\n";

/** Writes plugins below `home`, a record and the pins of each. */
export function manyPlugins(home: string, count: number): readonly PluginPaths[] {
  const records: string[] = [];
  const paths = Array.from({ length: count }, (_, number): PluginPaths => {
    const name = `plugin-${String(number).padStart(4, "0")}`;
    const directory = join(home, "plugins", name);
    const text = manifestOf(name);
    const pins = canonicalPins({
      manifest: parseManifest(Buffer.from(text), { file: "plugin.yaml" }),
      files: { "tools/greet.ts": sha256(CODE) },
      resolutions: { "tools/greet.ts": [] },
      trees: {},
    });
    write(directory, { "plugin.yaml": text, "tools/greet.ts": CODE });
    write(home, { [`pins/${sha256(pins)}.json`]: pins });
    records.push(recordOf(name, directory, sha256(pins)));
    return { manifest: join(directory, "plugin.yaml"), code: join(directory, "tools/greet.ts") };
  });
  write(home, { "settings.yaml": `trusted_plugins:\n${records.join("")}` });
  chmodSync(join(home, "settings.yaml"), 0o600);
  chmodSync(home, 0o700);
  return paths;
}

function manifestOf(name: string): string {
  return `name: ${name}
version: "1.0.0"
description: Greets people, as so many others do
permissions:
  net: ["api.example.com:443"]
  read: ["$project/notes"]
capabilities:
  tools:
    - name: greet
      target: tools/greet.ts:greet
      description: Greets somebody by name
      input:
        type: object
        properties:
          name: { type: string, description: Whom to greet }
        required: [name]
        additionalProperties: false
`;
}

function recordOf(name: string, directory: string, digits: string): string {
  return `  - tenant: local
    name: ${name}
    directory: ${directory}
    algorithm: sallyport-1
    fingerprint: sha256:${digits}
    grants:
      net:
        - api.example.com:443
    exposed:
      - plugin__${name}__greet
    approver: test
    approved_at: 2026-11-30T12:00:00.000Z
    lineage: ${digits.slice(0, 32)}
`;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

// No support of tests is used here, since tools use this as well.
function write(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
}

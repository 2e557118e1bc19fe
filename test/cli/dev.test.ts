/** How `dev` asks, at a real terminal: `script` of util-linux makes one. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { temporary, write } from "../bundler/support.ts";
import { ROOT } from "./support.ts";

const hasScript = spawnSync("script", ["--version"]).status === 0;

function manifest(net: string): string {
  return `name: edited\nversion: "1"\npermissions: { net: [${net}] }\ncapabilities: { tools: [{ name: go, target: "go.ts:go" }] }\n`;
}

describe("dev at a terminal", () => {
  test.skipIf(!hasScript)(
    "[T37] it asks as trust does, once; an edit is not asked about, and what asks for more is, with what is more in front",
    { timeout: 120_000 },
    async () => {
      const directory = join(temporary(), "edited");
      const home = join(temporary(), "home");
      write(directory, {
        "plugin.yaml": manifest('"a.example:443"'),
        "go.ts": 'export const go = () => "first";',
      });
      const command = `exec '${process.execPath}' '${
        join(ROOT, "bin/sallyport.js")
      }' dev '${directory}' --run go`;
      const child = spawn("script", ["-qec", command, "/dev/null"], {
        env: { PATH: process.env.PATH ?? "", HOME: home, SALLYPORT_HOME: join(home, "state"), TERM: "xterm" },
      });
      let output = "";
      child.stdout.on("data", (chunk: Buffer) => output += chunk.toString("utf8").replaceAll("\r\n", "\n"));
      const saying = async (pattern: RegExp): Promise<string> => {
        for (let waited = 0; !pattern.test(output); waited += 50) {
          if (waited > 60_000) throw new Error(`it did not say ${pattern}:\n${output}`);
          await new Promise((resume) => setTimeout(resume, 50));
        }
        const said = output;
        output = "";
        return said;
      };
      try {
        expect(await saying(/leave it: $/)).toContain("net a.example:443");
        child.stdin.write("y\n");
        await saying(/^first$/m);

        write(directory, { "go.ts": 'export const go = () => "second";' });
        expect(await saying(/^second$/m)).not.toContain("leave it");

        write(directory, { "plugin.yaml": manifest('"a.example:443", "evil.example:443"') });
        expect(await saying(/leave it: $/)).toMatch(/Escalations.*\n.*! permission {2}net evil\.example:443/);
        child.stdin.write("n\n");
        await saying(/what was good before is kept/);

        write(directory, { "go.ts": 'export const go = () => "third";' });
        expect(await saying(/leave it: $/)).toContain("net evil.example:443");
        child.stdin.write("y\n");
        await saying(/^third$/m);
        expect(existsSync(join(home, "state/settings.yaml"))).toBe(false);
      } finally {
        child.kill();
      }
    },
  );
});

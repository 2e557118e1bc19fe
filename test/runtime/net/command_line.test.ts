import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { programs, shell } from "../../cli/support.ts";
import { temporaryFolder } from "../harness.ts";
import { serve } from "./support.ts";

test("a script's refusal names the flag that cures it, and the flag does", async () => {
  await using target = await serve((_seen, response) => void response.end("there"));
  await using server = await serve((seen, response) => {
    if (seen.url.startsWith("/away")) {
      response.writeHead(302, { location: `http://127.0.0.1:${target.port}/x?k=1` }).end();
    } else response.end(`${seen.method} ${seen.url}`);
  });
  using folder = temporaryFolder();
  mkdirSync(join(folder.path, "user"), { recursive: true });
  writeFileSync(
    join(folder.path, "script.ts"),
    `export default async ({ path }: { path: string }) => await (await fetch("http://127.0.0.1:${server.port}" + path)).text();`,
  );
  const path = programs();
  const run = (flags: string, at: string) =>
    shell(`sallyport run script.ts ${flags} --input '{"path":"${at}"}'`, {
      cwd: folder.path,
      home: folder.path,
      path,
    });

  const refused = await run("", "/a,b?token=1");
  expect(refused.exit).toBe(4);
  expect(refused.stderr).not.toContain("token");
  const [, flag = ""] = /Run again with (--allow-net=\S+)\.\n?$/.exec(refused.stderr) ?? [];
  expect(flag).toBe(`--allow-net=127.0.0.1:${server.port}`);
  expect(server.connections).toBe(0);
  expect((await run(flag, "/a,b?token=1")).stdout).toBe("GET /a,b?token=1\n");

  const away = await run(flag, "/away");
  expect(away.exit).toBe(4);
  expect(target.connections).toBe(0);
  const [, further = ""] = /Run again with (--allow-net=\S+)\.\n?$/.exec(away.stderr) ?? [];
  expect((await run(`${flag} ${further}`, "/away")).stdout).toBe("there\n");
});

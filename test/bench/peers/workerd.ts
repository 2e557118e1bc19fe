/** workerd: one process, a dynamic worker for each plugin, reached over loopback HTTP, which is how a Node host reaches it. */
import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, writeFileSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import type { Socket } from "node:net";
import { bundleOf } from "../bundles.ts";
import { WORK } from "../places.ts";
import { jsonSandbox, type Peer } from "./peer.ts";

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .host)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const host :Workerd.Worker = (
  modules = [(name = "host.mjs", esModule = embed "host.mjs")],
  compatibilityDate = "2026-11-01",
  compatibilityFlags = ["experimental"],
  bindings = [(name = "LOADER", workerLoader = (id = "plugins"))],
);`;

/** Makes the peer. */
export async function workerd(): Promise<Peer> {
  const port = await start();
  const agent = new http.Agent({
    keepAlive: true,
    maxSockets: 64,
    scheduling: "lifo",
  });
  const post = (path: string, body: string): Promise<string> => request(agent, port, path, body);
  await post("/ready", "");
  let seq = 0;
  return {
    async open(fixture) {
      const key = `plugin${++seq}`;
      let isLoaded = false;
      return jsonSandbox(async (tool, json, isAsync) => {
        const query = `key=${key}&tool=${tool}${isAsync ? "&async" : ""}`;
        if (isLoaded) return await post(`/call?${query}`, json);
        isLoaded = true;
        return await post(
          `/load?${query}`,
          JSON.stringify({ source: bundleOf(fixture), input: json }),
        );
      }, () => {}); // the loader decides when a worker goes
    },
  };
}

function start(): Promise<number> {
  const directory = mkdtempSync(join(WORK, "workerd-"));
  writeFileSync(join(directory, "config.capnp"), CONFIG);
  copyFileSync(
    join(import.meta.dirname, "../fixtures/workerd_host.mjs"),
    join(directory, "host.mjs"),
  );
  const child = spawn(binaryPath(), [
    "serve",
    "--experimental",
    "--control-fd=3",
    "config.capnp",
  ], {
    cwd: directory,
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  return new Promise((done, fail) => {
    let text = "";
    (child.stdio[3] as Socket).on("data", (chunk: Buffer) => { // spawned with a pipe there
      text += chunk.toString();
      const port = /"port":\s*(\d+)/.exec(text)?.[1];
      if (port !== undefined) done(Number(port));
    });
    child.once("exit", (code) => fail(new Error(`workerd ended with ${code}`)));
  });
}

/** The platform's own package: the main one's `bin` needs an install script. */
function binaryPath(): string {
  const name = `@cloudflare/workerd-${process.platform}-${process.arch === "x64" ? "64" : process.arch}`;
  const require = createRequire(import.meta.url);
  return join(dirname(require.resolve(`${name}/package.json`)), "bin/workerd");
}

function request(
  agent: http.Agent,
  port: number,
  path: string,
  body: string,
): Promise<string> {
  return new Promise((done, fail) => {
    const headers = { "content-length": Buffer.byteLength(body) };
    const asked = http.request(
      { host: "127.0.0.1", port, path, method: "POST", agent, headers },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode === 200) done(text);
          else {fail(
              new Error(
                `workerd answered ${response.statusCode}: ${text.slice(0, 200)}`,
              ),
            );}
        });
      },
    );
    asked.on("error", fail);
    asked.end(body);
  });
}

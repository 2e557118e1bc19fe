/**
 * Sallyport through its public API and its process boundary: the built package, `createHost` with the best confinement of the
 * machine, one tenant for each question, an op of the embedder's that is granted by manifest and policy and written to the
 * audit file as is the default.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import type * as Sallyport from "../../../src/mod.ts";
import { moduleOf, sourceOf, writeSource } from "../bundles.ts";
import { BENCH, PACKAGE, WORK } from "../places.ts";
import type { Fixture, Peer, Sandbox } from "./peer.ts";

const TOOLS: Readonly<Record<Fixture, readonly string[]>> = {
  small: ["echo", "opSerial", "opParallel"],
  large: ["echo"],
  cpu: ["kernelFib", "kernelJson", "kernelMix", "kernelSort"],
};

/** Plugins that are loaded and unloaded in turn. */
const RING = 12;

/** Plugins that are trusted, bundled and not yet started. */
interface Stock {
  readonly tenant: Sallyport.Tenant;
  readonly names: string[];
}

/** Makes the peer. */
export async function sallyport(): Promise<Peer> {
  const library = await import(
    pathToFileURL(join(PACKAGE, "dist/src/mod.js")).href
  ) as typeof Sallyport;
  const work = mkdtempSync(join(WORK, "sallyport-"));
  const host = await openHost(library, join(work, "home"));
  const stocks = new Map<Fixture, Stock>();
  let seq = 0;

  async function stock(fixture: Fixture, count: number): Promise<void> {
    const id = `tenant${++seq}`;
    const names = Array.from(
      { length: count },
      (_, i) => `${fixture}${seq}-${i}`,
    );
    const plugins = names.map((name) => writePlugin(join(work, id, name), fixture, moduleOf(fixture)));
    const tenant = openTenant(host, id, plugins);
    for (const name of names) await approve(tenant, name, fixture);
    stocks.set(fixture, { tenant, names });
  }

  let ring: Stock | undefined;

  return {
    stock,
    /** Switching a plugin off ends its isolate; the next call after it is on again starts another. */
    async cycle() {
      if (ring === undefined) {
        await stock("small", RING);
        ring = stocks.get("small")!;
      }
      const name = ring.names.shift()!;
      ring.names.push(name);
      await ring.tenant.call(idOf(name, "echo"), {});
      await ring.tenant.disable(name);
      await ring.tenant.enable(name);
    },
    async open(fixture) {
      if (!stocks.get(fixture)?.names.length) await stock(fixture, 1);
      const { tenant, names } = stocks.get(fixture)!;
      return sandboxOf(tenant, names.shift()!);
    },
    async firstEver(fixture, input) {
      const name = `first-${fixture}`;
      const fresh = mkdtempSync(join(work, "first-"));
      const plugin = writePlugin(join(fresh, name), fixture, null);
      let own: Sallyport.Host | undefined;
      return {
        async run() {
          own = await openHost(library, join(fresh, "home"));
          const tenant = openTenant(own, "first", [plugin]);
          await approve(tenant, name, fixture);
          await tenant.call(idOf(name, "echo"), input);
        },
        undo: () => own?.close(),
      };
    },
    async typescript(text, input) {
      const file = writeSource(text);
      const options = {
        permissions: {},
        cwd: work,
        environment: {},
        limits: {},
      };
      return {
        run: async () => void await host.script(`script${++seq}`, file, options).run(input),
        undo() {},
      };
    },
  };
}

function openHost(
  library: typeof Sallyport,
  home: string,
): Promise<Sallyport.Host> {
  const { createHost, defineOp, wordKind } = library;
  const service = {
    ...wordKind({
      name: "service",
      doc: "Asking the named services of the embedder.",
    }),
    isGrave: () => false, // whoever holds something grave has a worker of its own, whose hop is the same
  };
  const lookUp = defineOp<
    [question: { readonly key: string; readonly want: readonly string[] }]
  >({
    name: "lookUp",
    args: z.tuple([
      z.object({
        key: z.string().max(64),
        want: z.array(z.string().max(64)).max(16),
      }),
    ]),
    requires: () => [{ kind: "service", value: "users" }],
    act: async ([question]) => question,
  });
  return createHost({
    confinement: "best",
    home,
    permissions: [service],
    ops: [lookUp],
  });
}

function openTenant(
  host: Sallyport.Host,
  id: string,
  plugins: readonly string[],
): Sallyport.Tenant {
  return host.tenant(id, {
    plugins,
    policy: { permissions: { service: true } },
  });
}

/** Trusts a plugin as it is, which bundles it, and exposes all of it. */
async function approve(
  tenant: Sallyport.Tenant,
  name: string,
  fixture: Fixture,
): Promise<void> {
  const review = await tenant.review(name);
  await review.approve({
    approver: "bench",
    expose: TOOLS[fixture].map((tool) => idOf(name, tool)),
  });
}

function sandboxOf(tenant: Sallyport.Tenant, name: string): Sandbox {
  return {
    call: (tool, input) => tenant.call(idOf(name, tool), input),
    dispose() {},
  };
}

function idOf(plugin: string, tool: string): string {
  return `plugin__${plugin}__${tool}`;
}

/** Writes a plugin with one file of code; without a text for it, from the fixture's sources and the packages that they need. */
function writePlugin(
  directory: string,
  fixture: Fixture,
  code: string | null,
): string {
  mkdirSync(directory, { recursive: true });
  const file = code === null ? "tools.ts" : "tools.mjs";
  const tools = TOOLS[fixture].map((tool) =>
    `    - { name: ${tool}, target: "${file}:${tool}", input: { type: object } }\n`
  );
  const permissions = fixture === "small" ? 'permissions: { service: ["users"] }\n' : "";
  writeFileSync(
    join(directory, "plugin.yaml"),
    `name: ${basename(directory)}\nversion: "1.0.0"\n${permissions}capabilities:\n  tools:\n${
      tools.join("")
    }`,
  );
  writeFileSync(
    join(directory, file),
    code ?? readFileSync(sourceOf(fixture), "utf8"),
  );
  if (code !== null || fixture !== "large") return directory;
  for (const name of ["zod", "lodash"]) {
    cpSync(
      join(BENCH, "node_modules", name),
      join(directory, "node_modules", name),
      { recursive: true },
    );
  }
  return directory;
}

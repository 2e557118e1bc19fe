/** Temporary plugins and hosts with real workers. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";
import { type SallyportError } from "../../permissions/mod.ts";
import { createHost, type Host, type HostOptions, type Tenant, type TenantOptions } from "../../src/mod.ts";
import { type Files, temporary, write } from "../bundler/support.ts";

export { type Files, temporary, write } from "../bundler/support.ts";

/** The root of this repository. */
export const ROOT = join(import.meta.dirname, "../..");

const hosts: Host[] = [];

afterAll(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()));
});

/** A host of its own, with a home of its own, closed after the file's tests. */
export async function hosted(options: HostOptions = {}): Promise<Host> {
  const host = await createHost({ confinement: "best", home: join(temporary(), "home"), ...options });
  hosts.push(host);
  return host;
}

/** Writes a plugin folder `name` with tools given as `name: code of tools/name.ts`, which exports a function of that name. */
export function pluginOf(
  name: string,
  tools: Readonly<Record<string, string>>,
  { head = "", files = {}, under }: {
    readonly head?: string;
    readonly files?: Files;
    readonly under?: string;
  } = {},
): string {
  const directory = join(under ?? temporary(), name);
  mkdirSync(directory, { recursive: true });
  const entries = Object.keys(tools).map((tool) =>
    `    - { name: ${tool}, target: "tools/${tool}.ts:${tool}", input: { type: object } }\n`
  );
  write(directory, {
    "plugin.yaml": `name: ${name}\nversion: "1.0.0"\n${head}capabilities:\n  tools:\n${entries.join("")}`,
    ...Object.fromEntries(Object.entries(tools).map(([tool, code]) => [`tools/${tool}.ts`, code])),
    ...files,
  });
  return directory;
}

/** Approves all that a plugin is and exposes all that it offers. */
export async function approve(tenant: Tenant, name: string): Promise<string> {
  const { hash } = await tenant.fingerprint(name);
  await tenant.trust(name, { fingerprint: hash, approver: "test" });
  const { capabilities } = await tenant.facts(name);
  await tenant.expose(capabilities.map(({ fullId }) => fullId));
  return hash;
}

/** A tenant whose plugins are all approved and exposed. */
export async function approved(host: Host, id: string, options: TenantOptions): Promise<Tenant> {
  const tenant = host.tenant(id, options);
  for (const { name } of await tenant.list()) await approve(tenant, name);
  return tenant;
}

/** The error that a promise must fail with. */
export async function failureOf(promise: Promise<unknown>): Promise<SallyportError> {
  try {
    await promise;
  } catch (error) {
    return error as SallyportError; // the tests assert its code
  }
  throw new Error("nothing was refused");
}

/** The error that calls come to fail with, as soon as what happened behind them is seen: the bound of T14, and slack. */
export async function refusalOf(call: () => Promise<unknown>): Promise<SallyportError> {
  for (const start = Date.now(); Date.now() - start < 10_000;) {
    try {
      await call();
    } catch (error) {
      return error as SallyportError; // the tests assert its code
    }
    await new Promise((resume) => setTimeout(resume, 20));
  }
  throw new Error("nothing was refused");
}

/** Waits until `isTrue` holds, or fails after ten seconds. */
export async function until(isTrue: () => boolean): Promise<void> {
  for (let waited = 0; !isTrue(); waited += 20) {
    if (waited > 10_000) throw new Error("it did not come true");
    await new Promise((resume) => setTimeout(resume, 20));
  }
}

/** Plugins that stand around calls, for the tests of the points. */
import { join } from "node:path";
import {
  type AuditEvent,
  type Host,
  type HostOptions,
  memoryAudit,
  type Tenant,
  type TenantOptions,
} from "../../src/mod.ts";
import { approve, hosted, temporary, write } from "./support.ts";

/** What a plugin of these tests is made of; code is the body of `(event, context) => …`, in a file of its own. */
export interface Standing {
  /** YAML of what it asks for, in flow style. */
  readonly permissions?: string;
  /** Tools by name; the parameters are `input` and `context`. */
  readonly tools?: Readonly<Record<string, string>>;
  /** Input schemas of tools, in YAML's flow style. */
  readonly inputs?: Readonly<Record<string, string>>;
  /** Hooks: event, code, and further keys of group or hook. */
  readonly hooks?: readonly {
    readonly event: string;
    readonly code: string;
    readonly matcher?: string;
    readonly priority?: number;
  }[];
  /** Guardrails: points, code, priority. */
  readonly guards?: readonly {
    readonly name: string;
    readonly on: string;
    readonly code: string;
    readonly priority?: number;
  }[];
  /** Interceptors: code, priority. */
  readonly around?: readonly { readonly code: string; readonly priority?: number }[];
  /** More of the manifest. */
  readonly more?: string;
}

/** Writes a plugin; gives its directory. */
export function standing(name: string, parts: Standing, under: string = temporary()): string {
  const directory = join(under, name);
  const files: Record<string, string> = {};
  const file = (path: string, code: string): string => {
    files[path] = `export const run = async (event: any, context: any) => { ${code} };\n`;
    return `"${path}:run"`;
  };
  const tools = Object.entries(parts.tools ?? {}).map(([tool, code]) => {
    files[`tools/${tool}.ts`] = `export const run = async (input: any, context: any) => { ${code} };\n`;
    const input = parts.inputs?.[tool] ?? "{ type: object }";
    return `    - { name: ${tool}, target: "tools/${tool}.ts:run", input: ${input}, callers: any }\n`;
  });
  const byEvent = Map.groupBy((parts.hooks ?? []).entries(), ([, { event }]) => event);
  const hooks = [...byEvent].map(([event, all]) =>
    `    ${event}:\n${
      all.map(([place, { code, matcher, priority = 0 }]) =>
        `      - { ${
          matcher === undefined ? "" : `matcher: ${JSON.stringify(matcher)}, `
        }hooks: [{ type: module, target: ${file(`hooks/h${place}.ts`, code)}, priority: ${priority} }] }\n`
      ).join("")
    }`
  );
  const guards = (parts.guards ?? []).map(({ name: guard, on, code, priority = 0 }) =>
    `    - { name: ${guard}, on: ${on}, priority: ${priority}, target: ${
      file(`guards/${guard}.ts`, code)
    } }\n`
  );
  const around = (parts.around ?? []).map(({ code, priority = 0 }, place) =>
    `    - { point: tool.call, priority: ${priority}, target: ${file(`around/a${place}.ts`, code)} }\n`
  );
  const section = (key: string, lines: readonly string[]): string =>
    lines.length === 0 ? "" : `  ${key}:\n${lines.join("")}`;
  write(directory, {
    "plugin.yaml": `name: ${name}\nversion: "1"\npermissions: ${parts.permissions ?? "{}"}\n${
      parts.more ?? ""
    }capabilities:\n${section("tools", tools)}${section("hooks", hooks)}${section("guardrails", guards)}${
      section("interceptors", around)
    }`,
    ...files,
  });
  return directory;
}

/** A tenant whose plugins are approved and exposed, with what is written down. */
export async function opened(
  id: string,
  plugins: readonly string[],
  policy: TenantOptions["policy"] = {},
  { host: given, ...options }: HostOptions & { readonly host?: Host } = {},
): Promise<{ readonly tenant: Tenant; readonly host: Host; readonly events: readonly AuditEvent[] }> {
  const sink = memoryAudit();
  const host = given ?? await hosted({ audit: () => sink, ...options });
  const tenant = host.tenant(id, { plugins, policy });
  for (const { name } of await tenant.list()) await approve(tenant, name);
  return { tenant, host, events: sink.events };
}

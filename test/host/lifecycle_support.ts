/** Plugins with lifecycle code, and a host that hears what they say. */
import { z } from "zod";
import {
  defineOp,
  type Host,
  type HostOptions,
  type OpDefinition,
  type Tenant,
  type TenantOptions,
} from "../../src/mod.ts";
import { approve, hosted, pluginOf, temporary } from "./support.ts";

/** What a plugin said with `context.host.say(…)`, and what `context.host.ask(…)` answers. */
export interface Ear {
  readonly said: string[];
  /** Answers `ask`; a promise holds whoever asks. */
  answer: (word: string) => unknown;
}

/** A host with an ear. */
export async function hearing(
  options: HostOptions = {},
): Promise<{ readonly host: Host; readonly ear: Ear }> {
  const ear: Ear = { said: [], answer: () => null };
  const ops: OpDefinition[] = [
    defineOp<[word: string]>({
      name: "say",
      args: z.tuple([z.string()]),
      free: "a test listens",
      act: ([word]) => {
        ear.said.push(word);
        return Promise.resolve(null);
      },
    }),
    defineOp<[word: string]>({
      name: "ask",
      args: z.tuple([z.string()]),
      free: "a test answers",
      act: async ([word]) => await ear.answer(word) ?? null,
    }),
  ];
  return { host: await hosted({ ops, ...options }), ear };
}

/** A manifest's lifecycle, in `main.ts`. */
export const LIFECYCLE = 'lifecycle: { activate: "main.ts:activate", stop: "main.ts:onStop" }\n';

/** What a plugin with lifecycle code is made of. */
export interface LifePlugin {
  /** Code of `main.ts`; must export `activate` and `onStop`, unless `head` says otherwise. */
  readonly main: string;
  /** Tools with a target of their own, as for `pluginOf`. */
  readonly tools?: Readonly<Record<string, string>>;
  /** Tools that lifecycle code registers: their further fields in the manifest, ` permissions: {…}` or nothing. */
  readonly registered?: Readonly<Record<string, string>>;
  readonly head?: string;
  readonly under?: string;
}

/** Writes one. */
export function lifePlugin(
  name: string,
  { main, tools = {}, registered = {}, head = LIFECYCLE, under = temporary() }: LifePlugin,
): string {
  const own = Object.entries(registered).map(([tool, more]) =>
    `    - { name: ${tool}, input: { type: object }${more === "" ? "" : `, ${more}`} }\n`
  );
  const targets = Object.keys(tools).map((tool) =>
    `    - { name: ${tool}, target: "tools/${tool}.ts:${tool}", input: { type: object } }\n`
  );
  return pluginOf(name, tools, {
    under,
    files: {
      "main.ts": main,
      "plugin.yaml": `name: ${name}\nversion: "1.0.0"\n${head}capabilities:\n  tools:\n${
        [...targets, ...own].join("")
      }`,
    },
  });
}

let count = 0;

/** A tenant whose plugins are all approved and exposed. */
export async function lively(
  host: Host,
  plugins: readonly string[],
  options: Omit<TenantOptions, "plugins"> = {},
): Promise<Tenant> {
  const tenant = host.tenant(`life${count++}`, { ...options, plugins });
  for (const { name } of await tenant.list()) await approve(tenant, name);
  return tenant;
}

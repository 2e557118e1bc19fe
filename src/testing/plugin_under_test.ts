/** A plugin in the hands of its author's test: the real host, confined as ever, in a home that is gone afterwards. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KINDS, type PermissionRequest } from "../../permissions/mod.ts";
import { type Denial, type GuestLine, memoryAudit } from "../../runtime/mod.ts";
import type { CallStream } from "../call_stream.ts";
import type { Document } from "../documents/types.ts";
import { type Host, openHost } from "../host.ts";
import type { RenderedPanel } from "../panels/panels.ts";
import type { Emitted, EmittedEvent } from "../points/emit.ts";
import { findCapability } from "../registry.ts";
import type { CallOptions } from "../run.ts";
import { ceilingOf } from "../settings_policy.ts";
import type { Tenant } from "../tenant.ts";
import type { PluginFacts } from "../tenant_types.ts";
import type { TypedText } from "../typed/commands.ts";
import { fixedClock } from "./fixed_clock.ts";
import { type MadeFetch, type RecordedFetch, type RecordedNet, recordedNet } from "./recorded_net.ts";

/** How a plugin is tested. */
export interface TestOptions {
  /** Less than the manifest asks for; absent is all that it asks for. */
  readonly grants?: PermissionRequest;
  /** The environment that `env` grants from; absent is empty. */
  readonly env?: Readonly<Record<string, string>>;
  /** What answers instead of a network; what is not here fails, and names its URL. */
  readonly fetches?: readonly RecordedFetch[];
  /** What `$project` stands for; absent is nowhere. */
  readonly project?: string;
  /** The time at which the plugin's `Date` stands still; absent is the real one. */
  readonly clock?: Date | string | number;
}

/**
 * Opens a plugin for a test: checks its manifest, trusts what is there for this process alone, exposes all that it offers, and
 * runs it as it will be run, but for the network: what it is granted of files and programs it really does. Throws what
 * `tenant.trust` throws.
 *
 * @example
 * ```ts
 * await using plugin = await testPlugin("./examples/word-count");
 * await plugin.call("count", { text: "a b a" });
 * ```
 */
export async function testPlugin(directory: string, options: TestOptions = {}): Promise<PluginUnderTest> {
  const home = mkdtempSync(join(tmpdir(), "sallyport-plugin-"));
  const recording = recordedNet(options.fetches ?? []);
  const { clock } = options;
  let host: Host | undefined;
  try {
    host = await openHost({ confinement: "best", home, audit: () => memoryAudit() }, {
      standIns: {
        net: recording.net,
        ...(clock === undefined ? {} : { alterBundle: fixedClock(clock) }),
      },
    });
    const { env = {}, project } = options;
    const tenant = host.tenant("test", {
      plugins: [directory],
      policy: {
        permissions: ceilingOf({}, KINDS),
        environment: env,
        ...(project === undefined ? {} : { project }),
      },
    });
    const [row] = await tenant.list();
    const { grants } = options;
    const { hash } = await tenant.fingerprint(row!.name);
    await tenant.trust(row!.name, {
      fingerprint: hash,
      approver: "test",
      ...(grants === undefined ? {} : { grants }),
    });
    const facts = await tenant.facts(row!.name);
    await tenant.expose(facts.capabilities.map(({ fullId }) => fullId));
    return new PluginUnderTest({ host, home, tenant, facts, recording });
  } catch (error) {
    await host?.close();
    rmSync(home, { recursive: true, force: true });
    throw error;
  }
}

interface Parts {
  readonly host: Host;
  readonly home: string;
  readonly tenant: Tenant;
  readonly facts: PluginFacts;
  readonly recording: RecordedNet;
}

/** A plugin that is being tested. Names are those of its manifest, or full ids. */
export class PluginUnderTest {
  readonly #parts: Parts;
  /** What it was refused so far, also where it went on. */
  readonly denials: readonly Denial[];
  /** What it wrote to its console so far. */
  readonly lines: readonly GuestLine[];
  readonly #options: CallOptions;

  /** Use `testPlugin`. */
  constructor(parts: Parts) {
    const denials: Denial[] = [];
    const lines: GuestLine[] = [];
    this.#parts = parts;
    this.denials = denials;
    this.lines = lines;
    this.#options = { onDenial: (denial) => denials.push(denial), onLine: (line) => lines.push(line) };
  }

  /** Its name. */
  get name(): string {
    return this.#parts.facts.name;
  }

  /** The tenant in which it is alone, for all that has no short way here. */
  get tenant(): Tenant {
    return this.#parts.tenant;
  }

  /** Requests that it was let make, in order. */
  get fetched(): readonly MadeFetch[] {
    return this.#parts.recording.made;
  }

  /** Calls a tool. Throws as `tenant.call` does. */
  async call(name: string, input: unknown = {}): Promise<unknown> {
    return await this.tenant.call(this.#idOf(name), input, this.#options);
  }

  /** Runs a command or prompt with what is typed behind its name. Throws as `tenant.commands.run` does. */
  async command(name: string, text: TypedText = ""): Promise<unknown> {
    return await this.tenant.commands.run(`/${this.name}:${name}`, text, this.#options);
  }

  /** Renders a panel. Throws as `tenant.panels.render` does. */
  async panel(name: string, input: unknown = {}): Promise<RenderedPanel> {
    return await this.tenant.panels.render(this.#idOf(name), input, this.#options);
  }

  /** Calls a tool or provider and gives what it gives piece by piece. Throws as `tenant.stream` does. */
  stream(name: string, input: unknown = {}): CallStream {
    return this.tenant.stream(this.#idOf(name), input, this.#options);
  }

  /** Tells an event, and gives what became of it. Throws as `tenant.emit` does. */
  async emit(event: EmittedEvent): Promise<Emitted> {
    const { onDenial } = this.#options;
    return await this.tenant.emit(event, onDenial === undefined ? {} : { onDenial });
  }

  /** Reads a document. Throws as `tenant.documents.read` does. */
  async document(name: string): Promise<Document> {
    return await this.tenant.documents.read(this.#idOf(name));
  }

  /** Ends it, and removes all that it kept. */
  async close(): Promise<void> {
    await this.#parts.host.close();
    rmSync(this.#parts.home, { recursive: true, force: true });
  }

  /** Closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #idOf(name: string): string {
    return findCapability(name, this.#parts.facts.capabilities).fullId;
  }
}

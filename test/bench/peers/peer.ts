/** What every peer is to the harness: something that opens sandboxes for the same few plugins. */

/** The plugins that are measured. */
export type Fixture = "small" | "large" | "cpu";

/** One plugin, opened. */
export interface Sandbox {
  /** Calls a tool: a value goes in and a value comes out, whatever the peer makes of them in between. */
  call(tool: string, input: unknown): Promise<unknown>;
  /** Unloads it. */
  dispose(): Promise<void> | void;
}

/** One way to run plugins. */
export interface Peer {
  /** Makes ready, unmeasured, as many cold starts as are to come. */
  stock?(fixture: Fixture, count: number): Promise<void>;
  /** Starts a plugin whose bundle is known; what it leaves for the first call is measured there. */
  open(fixture: Fixture): Promise<Sandbox>;
  /** From a plugin's sources, with nothing started and nothing cached, to its first result. */
  firstEver?(fixture: Fixture, input: unknown): Promise<Attempt>;
  /** From a small TypeScript file with this text, never seen before, to its first result, everything else being warm. */
  typescript?(text: string, input: unknown): Promise<Attempt>;
  /** Loads and unloads a plugin, for what that leaves behind; absent is open, call, dispose. */
  cycle?(): Promise<void>;
}

/** Something that is measured once, with what comes before and after it. */
export interface Attempt {
  /** What is measured. */
  run(): Promise<void>;
  /** Undoes it. */
  undo(): Promise<void> | void;
}

/** A peer whose guest takes JSON text and gives JSON text. */
export function jsonSandbox(
  call: (
    tool: string,
    json: string,
    isAsync: boolean,
  ) => Promise<string> | string,
  dispose: () => Promise<void> | void,
): Sandbox {
  return {
    // The two tools that ask the host are asynchronous; for the others the peers may take their shorter way.
    call: async (tool, input) =>
      JSON.parse(
        await call(tool, JSON.stringify(input), tool.startsWith("op")),
      ) as unknown,
    dispose,
  };
}

/** The host's side of the op that the peers without a broker offer: it answers what it was asked, and checks nothing. */
export async function answerOp(json: string): Promise<string> {
  return JSON.stringify(JSON.parse(json));
}

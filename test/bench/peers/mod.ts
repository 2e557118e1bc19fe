/** The peers, in the order of the tables. */
import type { Peer } from "./peer.ts";

export type { Fixture, Peer, Sandbox } from "./peer.ts";

/** What the harness knows of a peer before it is started. */
export interface PeerEntry {
  /** How tables call it. */
  readonly title: string;
  /** What its process is. */
  readonly runtime: "node" | "deno";
  /** What tables say beside it; absent is nothing. */
  readonly remark?: string;
  /** Whether it is measured for processor time alone. */
  readonly isOnlyCpu?: boolean;
  /** How much it can bear where each sandbox is heavy. */
  readonly weight: "light" | "middle" | "heavy";
  /** Makes it, in its own process. */
  readonly load: () => Promise<Peer>;
}

/** All peers; `ivm` is what every ratio is a multiple of. */
export const PEERS = {
  ivm: {
    title: "raw isolated-vm, async",
    runtime: "node",
    weight: "light",
    load: async () => await (await import("./isolated_vm.ts")).isolatedVm("async"),
  },
  sallyport: {
    title: "Sallyport",
    runtime: "node",
    weight: "light",
    load: async () => await (await import("./sallyport.ts")).sallyport(),
  },
  ivmSync: {
    title: "raw isolated-vm, sync",
    runtime: "node",
    remark: "stops the host meanwhile",
    weight: "light",
    load: async () => await (await import("./isolated_vm.ts")).isolatedVm("sync"),
  },
  denoWorker: {
    title: "Deno Worker, permissions none",
    runtime: "deno",
    remark: "in the host's process",
    weight: "middle",
    load: async () => await (await import("./deno_worker.ts")).denoWorker(),
  },
  denoRun: {
    title: "deno run, a process each",
    runtime: "node",
    weight: "heavy",
    load: async () => await (await import("./child_process.ts")).childProcess("deno"),
  },
  workerd: {
    title: "workerd, dynamic workers over HTTP",
    runtime: "node",
    weight: "light",
    load: async () => await (await import("./workerd.ts")).workerd(),
  },
  quickjs: {
    title: "quickjs-emscripten",
    runtime: "node",
    remark: "no JIT, in the host's process",
    weight: "light",
    load: async () => await (await import("./quickjs.ts")).quickjs(),
  },
  nodeChild: {
    title: "Node child process each",
    runtime: "node",
    remark: "no boundary",
    weight: "heavy",
    load: async () => await (await import("./child_process.ts")).childProcess("node"),
  },
  nodeVm: {
    title: "node:vm",
    runtime: "node",
    remark: "no boundary, for scale",
    weight: "light",
    load: async () => await (await import("./same_process.ts")).sameProcess("vm"),
  },
  native: {
    title: "no sandbox",
    runtime: "node",
    remark: "the same realm",
    isOnlyCpu: true,
    weight: "light",
    load: async () => await (await import("./same_process.ts")).sameProcess("realm"),
  },
} as const satisfies Readonly<Record<string, PeerEntry>>;

/** Name of a peer. */
export type PeerName = keyof typeof PEERS;

/** All names. */
export const PEER_NAMES = Object.keys(PEERS) as readonly PeerName[];

/** Floors without any boundary: the same realm, and a context of node:vm. */
import vm from "node:vm";
import { bundleOf } from "../bundles.ts";
import { answerOp, jsonSandbox, type Peer } from "./peer.ts";

interface Entries {
  readonly __call: (tool: string, json: string) => string;
  readonly __callAsync: (tool: string, json: string) => Promise<string>;
}

/** Makes the peer. */
export async function sameProcess(variant: string): Promise<Peer> {
  let seq = 0;
  const open = variant === "vm" ? inContext : inRealm;
  return {
    async open(fixture) {
      // What was compiled before would be found by its text.
      const { __call, __callAsync } = open(`${bundleOf(fixture)}\n//${++seq}`);
      return jsonSandbox(
        (tool, json, isAsync) => isAsync ? __callAsync(tool, json) : __call(tool, json),
        () => {},
      );
    },
  };
}

function inContext(source: string): Entries {
  const context = vm.createContext({ __host: answerOp });
  new vm.Script(source).runInContext(context);
  return context as unknown as Entries; // the bundle defines both
}

function inRealm(source: string): Entries {
  const world = globalThis as unknown as Entries & { __host: typeof answerOp };
  world.__host = answerOp;
  vm.runInThisContext(source);
  const { __call, __callAsync } = world;
  return { __call, __callAsync };
}

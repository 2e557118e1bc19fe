/** quickjs-emscripten: a runtime and a context for each plugin, in one WebAssembly memory. */
import { createRequire } from "node:module";
import { bundleOf } from "../bundles.ts";
import { answerOp, jsonSandbox, type Peer } from "./peer.ts";

/** The part of the library that is used; it is installed for the bench alone, so its own types may not be there. */
interface Handle {
  dispose(): void;
  consume<T>(use: (handle: Handle) => T): T;
}
interface Deferred {
  readonly handle: Handle;
  resolve(value: Handle): void;
}
interface Context {
  readonly global: Handle;
  readonly undefined: Handle;
  newFunction(name: string, run: (argument: Handle) => Handle): Handle;
  newString(text: string): Handle;
  newPromise(): Deferred;
  getString(handle: Handle): string;
  getProp(of: Handle, name: string): Handle;
  setProp(of: Handle, name: string, value: Handle): void;
  evalCode(source: string): unknown;
  callFunction(fn: Handle, self: Handle, ...args: readonly Handle[]): unknown;
  resolvePromise(handle: Handle): Promise<unknown>;
  unwrapResult(result: unknown): Handle;
  dispose(): void;
}
interface Runtime {
  setMemoryLimit(bytes: number): void;
  setMaxStackSize(bytes: number): void;
  newContext(): Context;
  executePendingJobs(): { dispose(): void };
  dispose(): void;
}
interface QuickJs {
  getQuickJS(): Promise<{ newRuntime(): Runtime }>;
}

const MEMORY_BYTES = 128 * 1_048_576;
const STACK_BYTES = 1_048_576;

/** Makes the peer. */
export async function quickjs(): Promise<Peer> {
  const { getQuickJS } = createRequire(import.meta.url)(
    "quickjs-emscripten",
  ) as QuickJs;
  const engine = await getQuickJS();
  return {
    async open(fixture) {
      const runtime = engine.newRuntime();
      runtime.setMemoryLimit(MEMORY_BYTES);
      runtime.setMaxStackSize(STACK_BYTES);
      const guest = runtime.newContext();
      provideHost(runtime, guest);
      guest.unwrapResult(guest.evalCode(bundleOf(fixture))).dispose();
      const plain = guest.getProp(guest.global, "__call");
      const async_ = guest.getProp(guest.global, "__callAsync");
      const invoke = (fn: Handle, tool: string, json: string): Handle =>
        guest.newString(tool).consume((a) =>
          guest.newString(json).consume((b) =>
            guest.unwrapResult(guest.callFunction(fn, guest.undefined, a, b))
          )
        );
      const take = (handle: Handle): string => handle.consume((it) => guest.getString(it));
      return jsonSandbox(
        async (tool, json, isAsync) => {
          if (!isAsync) return take(invoke(plain, tool, json));
          const settled = invoke(async_, tool, json).consume((promise) => guest.resolvePromise(promise));
          runtime.executePendingJobs().dispose();
          return take(guest.unwrapResult(await settled));
        },
        () => {
          plain.dispose();
          async_.dispose();
          guest.dispose();
          runtime.dispose();
        },
      );
    },
  };
}

function provideHost(runtime: Runtime, guest: Context): void {
  guest.newFunction("__host", (argument) => {
    const promise = guest.newPromise();
    void answerOp(guest.getString(argument)).then((text) => {
      guest.newString(text).consume((value) => promise.resolve(value));
      runtime.executePendingJobs().dispose();
    });
    return promise.handle;
  }).consume((fn) => guest.setProp(guest.global, "__host", fn));
}

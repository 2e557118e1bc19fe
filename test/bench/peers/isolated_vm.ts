/**
 * isolated-vm as it comes: an isolate for each plugin in this process. `async` is the reference of all ratios; with `sync`
 * the isolate runs on the caller's thread and stops the host meanwhile.
 */
import ivm from "isolated-vm";
import { buildFile, buildSource, bundleOf, writeSource } from "../bundles.ts";
import { answerOp, type Attempt, jsonSandbox, type Peer, type Sandbox } from "./peer.ts";

const PRELUDE =
  "globalThis.__host = (json) => __hostReference.apply(undefined, [json], { result: { promise: true } });";
const MEMORY_MB = 128;

/** Makes the peer. */
export async function isolatedVm(variant: string): Promise<Peer> {
  const start = variant === "sync" ? startSync : startAsync;
  return {
    open: (fixture) => start(bundleOf(fixture)),
    firstEver: async (fixture, input) =>
      attempt(
        async () => await start(await buildFile(fixture, { isCold: true })),
        "echo",
        input,
      ),
    async typescript(text, input) {
      const file = writeSource(text);
      return attempt(
        async () => await start(await buildSource(file)),
        "default",
        input,
      );
    },
  };
}

function attempt(
  start: () => Promise<Sandbox>,
  tool: string,
  input: unknown,
): Attempt {
  let box: Sandbox | undefined;
  return {
    async run() {
      box = await start();
      await box.call(tool, input);
    },
    undo: () => box?.dispose(),
  };
}

async function startAsync(source: string): Promise<Sandbox> {
  const isolate = new ivm.Isolate({ memoryLimit: MEMORY_MB });
  const context = await isolate.createContext();
  context.global.setSync("__hostReference", new ivm.Reference(answerOp));
  await (await isolate.compileScript(PRELUDE + source)).run(context);
  return handles(
    isolate,
    context,
    async (tool, json, call) => await call.apply(undefined, [tool, json]),
  );
}

async function startSync(source: string): Promise<Sandbox> {
  const isolate = new ivm.Isolate({ memoryLimit: MEMORY_MB });
  const context = isolate.createContextSync();
  context.global.setSync("__hostReference", new ivm.Reference(answerOp));
  isolate.compileScriptSync(PRELUDE + source).runSync(context);
  return handles(
    isolate,
    context,
    (tool, json, call) => call.applySync(undefined, [tool, json]),
  );
}

type Call = ivm.Reference<(tool: string, json: string) => string>;

function handles(
  isolate: ivm.Isolate,
  context: ivm.Context,
  plain: (tool: string, json: string, call: Call) => Promise<string> | string,
): Sandbox {
  const call: Call = context.global.getSync("__call", { reference: true });
  const callAsync: Call = context.global.getSync("__callAsync", {
    reference: true,
  });
  return jsonSandbox(
    (tool, json, isAsync) =>
      isAsync
        ? callAsync.apply(undefined, [tool, json], {
          result: { promise: true },
        })
        : plain(tool, json, call),
    () => isolate.dispose(),
  );
}

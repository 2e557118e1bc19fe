/** A Deno Worker with every permission denied for each plugin. This peer's process is Deno. */
import { bundleOf } from "../bundles.ts";
import { type Message, messageSandbox } from "./messages.ts";
import type { Peer } from "./peer.ts";

/** The part of Deno's globals that is used; Node's types do not know it. */
interface DenoWorld {
  readonly Worker: new (url: string, options: object) => {
    onmessage: (event: { readonly data: Message }) => void;
    postMessage(message: object): void;
    terminate(): void;
  };
}

const GUEST = `
const waiting = new Map(); let seq = 0;
globalThis.__host = (json) => new Promise((done) => { waiting.set(++seq, done); postMessage({ host: seq, json }); });
onmessage = ({ data: m }) => {
  if (m.host) { waiting.get(m.host)(m.json); waiting.delete(m.host); }
  else if (m.isAsync) __callAsync(m.tool, m.json).then((json) => postMessage({ id: m.id, json }));
  else postMessage({ id: m.id, json: __call(m.tool, m.json) });
};
`;

/** Makes the peer. */
export async function denoWorker(): Promise<Peer> {
  const { Worker } = globalThis as unknown as DenoWorld;
  let seq = 0;
  return {
    async open(fixture) {
      const parts = [GUEST, bundleOf(fixture), `\n//${++seq}`];
      const url = URL.createObjectURL(
        new Blob(parts, { type: "application/javascript" }),
      );
      const worker = new Worker(url, {
        type: "module",
        deno: { permissions: "none" },
      });
      const { sandbox, take } = messageSandbox(
        (message) => worker.postMessage(message),
        () => {
          worker.terminate();
          URL.revokeObjectURL(url);
        },
      );
      worker.onmessage = ({ data }) => take(data);
      return sandbox;
    },
  };
}

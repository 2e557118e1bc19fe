/** A guest that is reached by messages, in a thread or a process of its own. */
import { answerOp, jsonSandbox, type Sandbox } from "./peer.ts";

/** What such a guest sends. */
export interface Message {
  readonly id?: number;
  readonly host?: number;
  readonly json: string;
}

/** The sandbox over a channel, and what is to be done with each message that comes out of it. */
export function messageSandbox(
  post: (message: object) => void,
  dispose: () => Promise<void> | void,
): { readonly sandbox: Sandbox; readonly take: (message: Message) => void } {
  const waiting = new Map<number, (json: string) => void>();
  let seq = 0;
  const send = (
    tool: string,
    json: string,
    isAsync: boolean,
  ): Promise<string> =>
    new Promise((done) => {
      waiting.set(++seq, done);
      post({ id: seq, tool, json, isAsync });
    });
  return {
    sandbox: jsonSandbox(send, dispose),
    take({ id, host, json }) {
      if (host !== undefined) {
        return void answerOp(json).then((answer) => post({ host, json: answer }));
      }
      waiting.get(id!)?.(json);
      waiting.delete(id!);
    },
  };
}

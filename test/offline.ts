/** Loaded before every test file: whatever a test asks for, it reaches nothing but this machine. */
import { Socket } from "node:net";

const LOCAL = /^(?:localhost|127\.\d+\.\d+\.\d+|::1|0\.0\.0\.0|::)$/;

/** What a connection is refused with that would leave the machine. */
export const OFFLINE = "a test tried to leave the machine";

const connect = Socket.prototype.connect;
Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
  const [first, second] = args.flat() as unknown[];
  const { host, path } = typeof first === "object" && first !== null
    ? first as { readonly host?: string; readonly path?: string }
    : {
      host: typeof second === "string" ? second : undefined,
      path: typeof first === "string" ? first : undefined,
    };
  if (path === undefined && host !== undefined && !LOCAL.test(host)) {
    throw new Error(`${OFFLINE}: ${host}`);
  }
  return Reflect.apply(connect, this, args) as Socket;
} as typeof connect;

/** A tool, a provider, or whatever else is called by its id: one JSON value in, and one out, or a stream that is written as it comes. */
import { LimitError } from "../../../permissions/mod.ts";
import { RUNTIME_LIMITS } from "../../../runtime/mod.ts";
import type { CallStream } from "../../call_stream.ts";
import { type Given, type Ran, refuseWords } from "./runner.ts";

/** Calls it. */
export async function runCall(given: Given): Promise<Ran> {
  refuseWords(given);
  const { tenant, capability: { fullId }, input = {}, options } = given;
  return await readStream(fullId, tenant.stream(fullId, input, options), given);
}

/** Reads what comes: one value is the result, a stream is written as it comes or, with `--json`, gathered. */
export async function readStream(
  id: string,
  stream: CallStream,
  given: Pick<Given, "flags" | "terminal">,
): Promise<Ran> {
  const first = await stream.next();
  if (stream.isValue === true) {
    // It is an array's one element as long as nothing failed behind it.
    await stream.next();
    return { value: first.value };
  }
  return await (given.flags.json === true ? collect(id, stream, first) : write(given, stream, first));
}

type Step = Awaited<ReturnType<CallStream["next"]>>;

/** One document holds all of it, so it is bounded as a result is. */
async function collect(id: string, stream: CallStream, first: Step): Promise<Ran> {
  const { resultBytesMax } = RUNTIME_LIMITS;
  const chunks: unknown[] = [];
  let bytes = 0;
  for (let step = first; step.done !== true; step = await stream.next()) {
    const chunk = step.value instanceof Uint8Array
      ? { base64: Buffer.from(step.value).toString("base64") }
      : step.value;
    bytes += JSON.stringify(chunk).length;
    if (bytes > resultBytesMax) {
      await stream.return();
      throw new LimitError(
        "ERR_LIMIT_SIZE",
        `Cannot print the stream of "${id}" as one document: it has more than ${resultBytesMax} bytes. Run it without --json`,
      );
    }
    chunks.push(chunk);
  }
  return { value: { stream: chunks, ...stream.summary } };
}

/** Text and bytes as they are, all else a line each; no faster than they are read, and no longer. */
async function write(
  { flags, terminal }: Pick<Given, "flags" | "terminal">,
  stream: CallStream,
  first: Step,
): Promise<Ran> {
  const isRaw = flags.raw === true;
  const say = async (part: string | Uint8Array): Promise<boolean> => {
    if (terminal.chunk !== undefined) return await terminal.chunk(part, isRaw);
    terminal.result(typeof part === "string" ? part : Buffer.from(part).toString("latin1"), isRaw);
    return true;
  };
  let isLineOpen = false;
  for (let step = first; step.done !== true; step = await stream.next()) {
    const { value } = step;
    const isText = typeof value === "string";
    const chunk = isText || value instanceof Uint8Array ? value : `${JSON.stringify(value)}\n`;
    const start = isLineOpen && !isText && typeof chunk === "string" ? "\n" : "";
    isLineOpen = isText && (value === "" ? isLineOpen : !value.endsWith("\n"));
    if (await say(start === "" ? chunk : `${start}${chunk as string}`)) continue;
    await stream.return();
    return { value: null, text: null };
  }
  if (isLineOpen) await say("\n");
  return { value: stream.summary, text: null };
}

/**
 * What a worker that was taken over can say to its host. A script of our own stands in its place, under weak confinement,
 * and writes what it likes to the pipe.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { grantOf } from "../../permissions/mod.ts";
import {
  Broker,
  encodeFrame,
  ENDOWMENTS,
  GUEST_LIMITS,
  GuestIsolate,
  memoryAudit,
  planConfinement,
  type Powers,
  RUNTIME_LIMITS,
  startConfined,
  type WorkerEnd,
  WorkerProcess,
} from "../../runtime/mod.ts";
import { orderIsolate } from "../../runtime/order_isolate.ts";
import { FROM_WORKER, TO_WORKER } from "../../runtime/protocol.ts";
import { temporaryFolder } from "./harness.ts";

const plan = planConfinement("weak", ["bubblewrap", "uid"]);
const started: WorkerProcess[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((worker) => worker.close()));
});

/** A process in a worker's place that says it is ready, and does this when an isolate is to be made. */
async function takenOver(onCreate: string, onLoad = ""): Promise<WorkerProcess> {
  using folder = temporaryFolder();
  const entry = join(folder.path, "worker.cjs");
  const ready = encodeFrame(FROM_WORKER.ready, 0, 0, '{"node":"","addon":false,"fsRead":false}');
  writeFileSync(
    entry,
    `const { writeSync } = require("node:fs");
     const say = (hex) => writeSync(3, Buffer.from(hex, "hex"));
     ${onLoad};
     let bytes = Buffer.alloc(0);
     const socket = new (require("node:net").Socket)({ fd: 3, readable: true, writable: true });
     // Behind what is still being written, not into the middle of it.
     const pong = () => socket.write(Buffer.from("${
      encodeFrame(FROM_WORKER.pong, 0, 0, "").toString("hex")
    }", "hex"));
     socket.on("data", (chunk) => {
       bytes = Buffer.concat([bytes, chunk]);
       while (bytes.length >= 4 && bytes.length >= bytes.readUInt32LE(0) + 4) {
         const type = bytes[4];
         bytes = bytes.subarray(bytes.readUInt32LE(0) + 4);
         if (type === ${TO_WORKER.boot}) { ${say(ready)} }
         if (type === ${TO_WORKER.create}) { ${onCreate} }
         if (type === ${TO_WORKER.ping}) { pong(); }
       }
     });`,
  );
  const launched = startConfined({ plan, entry, readable: [] });
  const worker = await WorkerProcess.start({ plan, platform: "", engine: "", launched });
  started.push(worker);
  return worker;
}

/** Orders an isolate and waits for the end of the worker. */
function endOf(worker: WorkerProcess): Promise<WorkerEnd> {
  return new Promise((resolve) => {
    const ignore = (): void => {};
    worker.retain();
    worker.createIsolate({ memoryMb: 8 }, {
      owner: null,
      callsInFlight: () => 0,
      isRunning: () => false,
      onBlocked: ignore,
      onCompiled: ignore,
      onCreated: ignore,
      onResult: ignore,
      onOp: ignore,
      onLog: ignore,
      onBreach: ignore,
      onFault: ignore,
      onIdle: ignore,
      onGone: ignore,
      onWorkerLost: resolve,
    });
  });
}

const say = (bytes: Buffer): string => `say("${bytes.toString("hex")}")`;
const oversize = Buffer.alloc(13);
oversize.writeUInt32LE(RUNTIME_LIMITS.frameBytesMax, 0);

const FORGED: Readonly<Record<string, Buffer>> = {
  "a word of an isolate that never was": encodeFrame(FROM_WORKER.op, 7, 1, "[]", 1),
  "a word of no isolate": encodeFrame(FROM_WORKER.result, 0, 1, '{"ok":true,"value":1}'),
  "a type that does not exist": encodeFrame(99, 1, 1, ""),
  "a type that only a host sends": encodeFrame(TO_WORKER.reply, 1, 1, ""),
  "a second readiness": encodeFrame(FROM_WORKER.ready, 1, 0, "{}"),
  "a frame longer than frames are": oversize,
  "a frame shorter than its header": Buffer.alloc(13),
  "an op without its call": encodeFrame(FROM_WORKER.op, 1, 1, "[]"),
  "an op with nothing at all": encodeFrame(FROM_WORKER.op, 1, 1, ""),
  "an end without a reason": encodeFrame(FROM_WORKER.gone, 1, 0, "nonsense"),
};

describe("a worker that says what no worker of ours says is killed", () => {
  for (const [name, bytes] of Object.entries(FORGED)) {
    test(`[T15] ${name}`, async () => {
      const worker = await takenOver(say(bytes));
      const end = await endOf(worker);
      expect(end).toMatchObject({ killedFor: "breach", exit: { signal: "SIGKILL" } });
      expect(worker.isUsable).toBe(false);
    });
  }

  test("[T15] and one that says nothing wrong is not", async () => {
    const worker = await takenOver(say(encodeFrame(FROM_WORKER.pong, 0, 5, "")));
    const end = endOf(worker);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(worker.isUsable).toBe(true);
    await worker.close();
    expect(await end).toMatchObject({ killedFor: "closing" });
  });

  test("[T01] one that admits to authority, or speaks before it is ready, does not even start", async () => {
    const facts = JSON.stringify({ node: "", addon: true, fsRead: false });
    await expect(takenOver("", say(encodeFrame(FROM_WORKER.ready, 0, 0, facts)))).rejects.toMatchObject({
      code: "ERR_WORKER_LOST",
      message: expect.stringContaining("kept authority"),
    });
    await expect(takenOver("", say(encodeFrame(FROM_WORKER.log, 1, 0, "lhello")))).rejects.toMatchObject({
      code: "ERR_WORKER_LOST",
    });
    await expect(takenOver("", "process.exit(7)")).rejects.toMatchObject({
      code: "ERR_WORKER_LOST",
      message: expect.stringContaining("7"),
    });
  });

  test("[T39] one that no longer answers is killed for its silence", async () => {
    const end = await endOf(await takenOver("for (;;);"));
    expect(end.killedFor).toBe("silence");
  });

  test("[T39] one that no longer reads is killed before its queue is the host's problem", async () => {
    const worker = await takenOver("for (;;);");
    const end = endOf(worker);
    const chunk = new Uint8Array(16 * 1_048_576);
    for (let i = 0; i < 6; i++) worker.send(TO_WORKER.call, 1, 1, chunk);
    expect(await end).toMatchObject({ killedFor: "breach" });
  });
});

describe("what was not assigned to it", () => {
  const created = (isolate: number): string => say(encodeFrame(FROM_WORKER.created, isolate, 0, ""));
  const WORDS: Readonly<Record<string, Buffer>> = {
    "an op": encodeFrame(FROM_WORKER.op, 1, 1, '["stat",["/etc/passwd"]]', 1),
    "a result": encodeFrame(FROM_WORKER.result, 1, 1, '{"ok":true,"value":1}'),
    "a line": encodeFrame(FROM_WORKER.log, 1, 1, "lhello"),
    "a bound that was reached": encodeFrame(FROM_WORKER.breach, 1, 1, "ops"),
    "an error": encodeFrame(FROM_WORKER.fault, 1, 1, "x"),
  };
  for (const [what, word] of Object.entries(WORDS)) {
    test(`[T15] ${what} of an isolate that is nobody's yet ends the worker`, async () => {
      const worker = await takenOver(`${created(1)}; setTimeout(() => { ${say(word)} }, 100);`);
      worker.retain();
      expect(await orderIsolate(worker, 8)).toBe(1);
      expect(await worker.ended).toMatchObject({ killedFor: "breach" });
    });
  }

  test("[T15] a word of another worker's isolate ends this one, and that is written down for all who lived in it", async () => {
    const forged = encodeFrame(FROM_WORKER.op, 9, 1, '["stat",["/etc/passwd"]]', 1);
    const worker = await takenOver(
      `globalThis.made = (globalThis.made ?? 0) + 1;
       if (globalThis.made === 1) { ${created(1)} }
       else { ${created(2)}; setTimeout(() => { ${say(forged)} }, 300); }`,
    );
    const [one, two] = [await guestOf(worker, "one"), await guestOf(worker, "two")];
    const run = { id: "c", deadline: performance.now() + 5_000, wallMs: 5_000, denials: [] };
    await expect(one.guest.call("{}", run)).rejects.toMatchObject({
      code: "ERR_WORKER_LOST",
      retryable: true,
    });
    const crash = { type: "crash", details: { killedFor: "breach", suspects: 2 } };
    expect(one.events).toMatchObject([{ ...crash, plugin: "one", call: "c" }]);
    expect(two.events).toMatchObject([{ ...crash, plugin: "two", call: null }]);
    expect(two.guest.isAlive).toBe(false);
    expect((await worker.ended).suspects.map(({ plugin }) => plugin)).toEqual(["one", "two"]);
  });

  test("[T39] one that does not take its answers is not listened to, and ends by its silence; one that does is not", async () => {
    const pong = say(encodeFrame(FROM_WORKER.pong, 0, 0, ""));
    const deaf =
      `process._getActiveHandles().find((handle) => handle.fd === 3 || (handle.readable && handle.writable)).pause();
      setInterval(() => { ${pong} }, 100);`;
    const [worker, listening] = [await takenOver(deaf), await takenOver(deaf)];
    const [end] = [endOf(worker), endOf(listening)];
    listening.retain();
    const chunk = new Uint8Array(12 * 1_048_576);
    for (let i = 0; i < 4; i++) worker.send(TO_WORKER.call, 1, 1, chunk);
    expect(await end).toMatchObject({ killedFor: "silence" });
    expect(listening.isUsable).toBe(true);
  });
});

async function guestOf(
  worker: WorkerProcess,
  plugin: string,
): Promise<{ readonly guest: GuestIsolate; readonly events: readonly unknown[] }> {
  const audit = memoryAudit();
  const broker = new Broker({
    ops: ENDOWMENTS.flatMap(({ ops }) => ops),
    audit,
    powers: {} as Powers, // every op is refused before it acts
    sealed: () => [],
  });
  const principal = {
    tenant: "t",
    plugin,
    title: `Plugin "${plugin}"`,
    fingerprint: null,
    confinement: "weak",
    grant: grantOf(),
    context: { cwd: "/" },
    bundle: null,
    denialPrefix: "d-",
  };
  const guest = await GuestIsolate.create({ worker, broker, principal, limits: GUEST_LIMITS });
  return { guest, events: audit.events };
}

describe("what it says in the name of a call", () => {
  const guestIn = async (onCreate: string) => await guestOf(await takenOver(onCreate), "p");
  const created = say(encodeFrame(FROM_WORKER.created, 1, 0, ""));
  const later = (statement: string): string => `${created}; setTimeout(() => { ${statement} }, 300);`;
  const op = encodeFrame(FROM_WORKER.op, 1, 1, '["stat",["/etc/passwd"]]', 1);
  const run = () => ({ id: "c", deadline: performance.now() + 5_000, wallMs: 5_000, denials: [] });

  test("[T15] an op of a call that is under way is decided under its grant; of any other, not at all", async () => {
    const { guest, events } = await guestIn(later(say(op)));
    const call = guest.call("{}", run());
    call.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 800));
    expect(events).toMatchObject([{ type: "op", call: "c", decision: "denied", kind: "read" }]);
    const idle = await guestIn(later(say(op)));
    await new Promise((resolve) => setTimeout(resolve, 800));
    expect(idle.events).toEqual([]);
    guest.dispose();
    await expect(call).rejects.toMatchObject({ code: "ERR_HOST_CLOSED" });
  });

  test("[T15] after a lie nothing counts that came with it in one piece", async () => {
    const { guest, events } = await guestIn(
      later(say(Buffer.concat([FORGED["a type that does not exist"]!, op]))),
    );
    await expect(guest.call("{}", run())).rejects.toMatchObject({ code: "ERR_WORKER_LOST" });
    expect(events).toMatchObject([{ type: "crash" }]);
  });

  test("[T39] more ops than a call may ask for end it, whatever the platform counted", async () => {
    const { guest } = await guestIn(
      later(`const all = Buffer.from("${op.toString("hex")}".repeat(500), "hex");
      const pipe = process._getActiveHandles().find((handle) => handle.fd === 3 || (handle.readable && handle.writable));
      let left = 110;
      const next = () => left-- > 0 && pipe.write(all, next);
      next();`),
    );
    const patient = { ...run(), deadline: performance.now() + 25_000 };

    await expect(guest.call("{}", patient)).rejects.toMatchObject({ code: "ERR_LIMIT_OPS" });
  });

  test("[T15] a failure that is told at great length, or depth, is not read; one of the usual size is", async () => {
    const { errorAnswerBytesMax, errorAnswerDepthMax } = RUNTIME_LIMITS;
    const told = (facts: string): string => `{"ok":false,"error":{"name":"E",${facts}}}`;
    const nested = (depth: number): string => told(`"more":${"[".repeat(depth)}${"]".repeat(depth)}`);
    const cases: [string, boolean][] = [
      [told(`"stack":"${"x".repeat(errorAnswerBytesMax)}"`), true],
      [nested(errorAnswerDepthMax), true],
      [told(`"stack":"${"x".repeat(50 * 1_024)}"`), false],
      [nested(errorAnswerDepthMax - 2), false],
    ];
    for (const [text, isInvalid] of cases) {
      const frame = encodeFrame(FROM_WORKER.result, 1, 1, text).toString("base64");
      // Too much for one write that waits for nothing.
      const { guest } = await guestIn(later(
        `process._getActiveHandles().find((handle) => handle.fd === 3 || (handle.readable && handle.writable))
          .write(Buffer.from("${frame}", "base64"));`,
      ));
      expect(await guest.call("{}", run())).toMatchObject({ ok: false, error: { isInvalid } });
      guest.dispose();
    }
  });

  test("an answer that is no answer is a result that cannot be used", async () => {
    for (
      const text of ["nonsense", "null", "{}", '{"ok":true}', '{"ok":false,"error":1}', '{"ok":true,"value":']
    ) {
      const { guest } = await guestIn(later(say(encodeFrame(FROM_WORKER.result, 1, 1, text))));
      const answer = await guest.call("{}", run());
      if (!answer.ok) expect(answer.error).toMatchObject({ isInvalid: true });
      guest.dispose();
    }
  });
});

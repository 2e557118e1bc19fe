/**
 * A small agent: a loop around a model, here one that a plugin scripts, with tools, hooks, a guardrail, an interceptor and a
 * skill of other plugins. In the middle of an answer it builds all plugins anew, and in the middle of another one its workers
 * are killed; not a piece of an answer is lost, and none comes twice. It needs no network: `node examples/agent_host/host.ts`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
// In a program of your own: from "sallyport".
import { BlockedError, createHost, defineOp, HostError, type Tenant } from "../../src/mod.ts";

/** A piece of an answer, with its number in the turn and that of the start that gave it. */
type Piece =
  & { readonly n: number; readonly start: number }
  & ({ readonly word: string } | { readonly call: string; readonly input: object });

const TURNS_MAX = 10;
const PLUGINS = ["model", "pantry", "house-rules"];
const home = mkdtempSync(join(tmpdir(), "agent-host-"));
const metronome = startMetronome();

try {
  await using host = await createHost({ confinement: "best", home, ops: [metronome.op] });
  const tenant = host.tenant("kitchen", {
    plugins: PLUGINS.map((name) => join(import.meta.dirname, "plugins", name)),
    policy: { permissions: { storage: true, intercept: true } },
  });
  await loadAll(tenant);
  const killWorkers = async (): Promise<void> => {
    const pids = await host.workerPids();
    for (const pid of pids) process.kill(pid, "SIGKILL");
    // Until they are gone, they may go on.
    while ((await host.workerPids()).some((pid) => pids.includes(pid))) await setTimeout(5);
  };
  await answer(tenant, "bread?", killWorkers);
} finally {
  rmSync(home, { recursive: true, force: true });
}

/** Approves what a person would look at first, and exposes all of it. */
async function loadAll(tenant: Tenant): Promise<void> {
  for (const name of PLUGINS) {
    const { hash } = await tenant.fingerprint(name);
    await tenant.trust(name, { fingerprint: hash, approver: "the cook" });
    const { capabilities } = await tenant.facts(name);
    await tenant.expose(capabilities.map(({ fullId }) => fullId));
    say(`loaded ${name}: ${capabilities.map(({ fullId }) => fullId).join(", ")}`);
  }
}

/** The loop: the model speaks, and what it calls is called, until it calls nothing more. */
async function answer(tenant: Tenant, prompt: string, killWorkers: () => Promise<void>): Promise<void> {
  const { value } = await tenant.emit({ name: "UserPromptSubmit", prompt });
  say(`\nuser: ${prompt}\nafter the hooks: ${value.prompt}`);
  const { id, text } = await tenant.documents.read("ordering");
  say(`skill ${id}: ${text.trim()}`);
  const { ref } = await tenant.providers.match("scripted");

  const accidents = new Map([
    ["turn 1, piece 3", async () => {
      const { generation } = await tenant.snapshot();
      const next = await tenant.reload();
      say(`  (all plugins were built anew: generation ${next.generation - generation} later)`);
    }],
    ["turn 2, piece 5", async () => {
      await killWorkers();
      say("  (all workers were killed)");
    }],
  ]);
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    const call = await hear(tenant, ref, turn, accidents);
    if (call === null) return;
    say(`${call.call} ${JSON.stringify(call.input)}\n  -> ${await use(tenant, call)}`);
  }
}

/** Reads one turn to its end, whatever happens to the worker meanwhile; gives the tool that is to be called. */
async function hear(
  tenant: Tenant,
  ref: string,
  turn: number,
  accidents: ReadonlyMap<string, () => Promise<void>>,
): Promise<Extract<Piece, { readonly call: string }> | null> {
  const pieces: Piece[] = [];
  for (let isOver = false; !isOver;) {
    const stream = tenant.providers.stream(ref, { turn, from: pieces.length });
    let said = "";
    try {
      for (;;) {
        metronome.beat();
        const { value, done } = await stream.next();
        isOver = done === true;
        if (isOver) break;
        const piece = value as Piece; // what this model gives
        if (piece.n !== pieces.length) throw new Error(`piece ${piece.n} came for piece ${pieces.length}`);
        pieces.push(piece);
        if ("word" in piece) said += ` ${piece.word}`;
        const accident = accidents.get(`turn ${turn}, piece ${pieces.length}`);
        if (accident === undefined) continue;
        say(`model, start ${piece.start}:${said}`);
        said = "";
        await accident();
      }
    } catch (error) {
      if (!(error instanceof HostError) || !error.retryable) throw error;
      say(`  (${error.code}: asking again from piece ${pieces.length})`);
    }
    if (said !== "") say(`model, start ${pieces.at(-1)!.start}:${said}`);
  }
  return pieces.find((piece) => "call" in piece) ?? null;
}

/** A refusal is told to the model like any other result. */
async function use(
  tenant: Tenant,
  { call, input }: Extract<Piece, { readonly call: string }>,
): Promise<string> {
  try {
    return JSON.stringify(await tenant.call(call, input));
  } catch (error) {
    if (error instanceof BlockedError) return `stopped: ${error.details.reason}`;
    throw error;
  }
}

/** Prints what plugins and models say without what could move a cursor or hide; nobody vetted their words. */
function say(text: string): void {
  console.log(text.replaceAll(/[^\P{C}\n]/gu, ""));
}

/** Beats once for each piece that is wanted, so that what was said when something happened is the same in each run. */
function startMetronome() {
  let beats = Promise.withResolvers<null>();
  return {
    beat: (): void => beats.resolve(null),
    op: defineOp<[]>({
      name: "beat",
      args: z.tuple([]),
      free: "it waits, and tells nothing",
      async act() {
        await beats.promise;
        beats = Promise.withResolvers();
        return null;
      },
    }),
  };
}

/** The example of a host that runs an agent: what it prints is the same in each run, whatever happens to its workers. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { ROOT } from "./support.ts";

const OUTPUT = `loaded model: plugin/model/scripted
loaded pantry: plugin__pantry__stock, plugin__pantry__order, pantry/ordering
loaded house-rules: house-rules/UserPromptSubmit/0/0, house-rules/small-orders, house-rules/tool.call/0

user: bread?
after the hooks: Is there any bread? If not, order some.
skill pantry/ordering: See first what there is. Order what lasts for a week, and no more.
model, start 1: I will see what there is.
plugin__pantry__stock {"item":"Bread"}
  -> {"item":"bread","left":0}
model, start 1: None is left,
  (all plugins were built anew: generation 1 later)
model, start 1: so I order plenty.
plugin__pantry__order {"item":"Bread","count":50}
  -> stopped: ten at most in one order
model, start 2: That was too much for
  (all workers were killed)
  (ERR_WORKER_LOST: asking again from piece 5)
model, start 3: one order, so I order four.
plugin__pantry__order {"item":"Bread","count":4}
  -> {"item":"bread","ordered":4}
model, start 3: Four loaves of bread are on their way.
`;

test(
  "[R39] an agent's host loses and repeats no piece of an answer when it reloads or its workers are killed",
  {
    timeout: 120_000,
  },
  async () => {
    const child = spawn(process.execPath, [join(ROOT, "examples/agent_host/host.ts")], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = new Promise((resolve) => child.once("close", resolve));
    const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    expect({ stdout, stderr, exit }).toEqual({ stdout: OUTPUT, stderr: "", exit: 0 });
  },
);

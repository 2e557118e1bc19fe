/** Starters by the name that `init --template` takes; a new one is a file and a line. */
import { command } from "./command.ts";
import { hook } from "./hook.ts";
import { panel } from "./panel.ts";
import { provider } from "./provider.ts";
import { skill } from "./skill.ts";
import type { Template } from "./template.ts";
import { tool } from "./tool.ts";

/** All starters; the first one is made where none is named. */
export const TEMPLATES: Readonly<Record<string, Template>> = { tool, command, hook, provider, panel, skill };

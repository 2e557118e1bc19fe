/** The panels of one tenant: what there is, drawn as a view and as text, and what a form of one is sent to. */
import { CapabilityError, GuestError } from "../../permissions/mod.ts";
import type { Callable } from "../authority.ts";
import type { FormValue } from "../plugin_types.ts";
import { quoteArgument } from "../quote.ts";
import type { CallOptions } from "../run.ts";
import type { Snapshot, SnapshotEntry } from "../snapshot.ts";
import { commands } from "../surfaces/commands.ts";
import type { Capability } from "../surfaces/mod.ts";
import { panels } from "../surfaces/panels.ts";
import type { TenantCalls } from "../tenant_calls.ts";
import { renderText } from "./text.ts";
import { actionsOf, type View } from "./view.ts";

/** A panel as it is now. */
export interface RenderedPanel {
  /** Its nodes, one below the other; every text in them is to be shown as it stands. */
  readonly view: View;
  /** The same for a client that has no panels. */
  readonly text: string;
}

/** How a panel is rendered. */
export interface RenderOptions extends CallOptions {
  /** Cells of a line of the text; absent is 80. */
  readonly width?: number;
}

/** What panels are rendered with. */
export interface PanelsParts {
  /** Finds and calls what is behind them. */
  readonly calls: Pick<TenantCalls, "find" | "run">;
  /** What is offered. */
  readonly snapshot: () => Promise<Snapshot>;
}

/** The panels of one tenant. */
export class Panels {
  readonly #parts: PanelsParts;

  /** Looks at nothing yet. */
  constructor(parts: PanelsParts) {
    this.#parts = parts;
  }

  /** All panels that are offered. Starts nothing. Throws HostError `ERR_STORE`. */
  async list(): Promise<readonly SnapshotEntry[]> {
    return (await this.#parts.snapshot()).panels;
  }

  /**
   * Renders a panel by its id. Throws as `tenant.call` does, and GuestError `ERR_RESULT_INVALID` for what is no view: markup,
   * unknown members, more than may be, or an action that is no command of the plugin.
   */
  async render(id: string, input: unknown = {}, options: RenderOptions = {}): Promise<RenderedPanel> {
    const { width, ...callOptions } = options;
    const panel = await this.#find(id);
    const { plugin, capability, unit } = panel;
    // The cast holds: its surface's schema has read the answer.
    const view = await this.#parts.calls.run(panel, input, unit, callOptions) as View;
    const stray = actionsOf(view).find(({ action }) => commandOf(panel, action) === undefined);
    if (stray !== undefined) {
      throw new GuestError(
        "ERR_RESULT_INVALID",
        `Cannot show panel "${capability.fullId}": its action "${stray.action}" is no command of plugin "${plugin.name}"`,
        { details: { capability: capability.fullId, action: stray.action } },
      );
    }
    return {
      view,
      text: renderText(view, { plugin: plugin.name, ...(width === undefined ? {} : { width }) }),
    };
  }

  /**
   * Does what a panel offers: calls the command of that name of the panel's own plugin, with what its form was filled in with.
   * Throws as `tenant.call` does.
   */
  async submit(
    id: string,
    action: string,
    values: Readonly<Record<string, FormValue>> = {},
    options: CallOptions = {},
  ): Promise<unknown> {
    const panel = await this.#find(id);
    const command = commandOf(panel, action);
    if (command === undefined) {
      const { name, capabilities } = panel.plugin;
      const available = capabilities.filter(isCommand).map((each) => each.name);
      throw new CapabilityError(
        "ERR_CAPABILITY_UNKNOWN",
        `Cannot find action "${action}" of plugin "${name}": ${
          available.length === 0 ? "it has no commands" : `its commands are ${available.join(", ")}`
        }`,
        { details: { name: action, available } },
      );
    }
    const { calls } = this.#parts;
    const callable = await calls.find(command.fullId);
    const argv = Object.entries(values).map(([name, value]) => `${name}=${String(value)}`);
    const input = { args: argv.map(quoteArgument).join(" "), argv, values };
    return await calls.run(callable, input, callable.unit, options);
  }

  async #find(id: string): Promise<Callable> {
    const callable = await this.#parts.calls.find(id);
    const { surface, fullId } = callable.capability;
    if (surface === panels.name) return callable;
    throw new CapabilityError(
      "ERR_CAPABILITY_UNKNOWN",
      `Cannot find panel "${id}": "${fullId}" is on surface "${surface}"`,
      { details: { name: id, surface } },
    );
  }
}

function commandOf({ plugin }: Callable, name: string): Capability | undefined {
  return plugin.capabilities.find((each) => isCommand(each) && each.name === name);
}

function isCommand({ surface }: Capability): boolean {
  return surface === commands.name;
}

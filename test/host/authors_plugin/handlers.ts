/** One handler of each kind; the import is of types alone, so nothing of it is left when this is bundled. */
import type {
  Activate,
  CommandHandler,
  GuardrailHandler,
  HookHandler,
  InterceptorHandler,
  PanelHandler,
  ProviderHandler,
  Stop,
  ToolFailure,
  ToolHandler,
  Verdict,
  ViewNode,
} from "../../../src/plugin_types.ts";

interface Value {
  readonly value: number;
}

export const double: ToolHandler<Value, Value> = ({ value }) => ({ value: value * 2 });

export const fail: ToolHandler = () => {
  const failure: ToolFailure = { isError: true, content: { why: "on purpose" } };
  return failure;
};

export const words: CommandHandler<string> = ({ args, argv, values }) =>
  values === undefined ? `${args}: ${argv.length}` : Object.keys(values).join();

export const everything: PanelHandler = () => {
  const nodes: readonly ViewNode[] = [
    { type: "text", text: "words", style: "heading" },
    { type: "list", items: ["one", { type: "text", text: "two", style: "muted" }], ordered: true },
    { type: "table", columns: ["a", { title: "b", align: "right" }], rows: [["x", 1], [true, null]] },
    { type: "card", title: "card", nodes: [], actions: [{ action: "words", label: "Count" }] },
    {
      type: "form",
      title: "form",
      action: "words",
      label: "Send",
      fields: [
        { name: "text", label: "Text", kind: "text", value: "x", required: true },
        { name: "number", kind: "number", value: 1 },
        { name: "boolean", kind: "boolean", value: false },
        { name: "choice", kind: "choice", choices: ["x", "y"], value: "y" },
      ],
    },
    { type: "progress", label: "load", done: 1, total: 2 },
    { type: "notification", level: "success", text: "done" },
  ];
  return nodes;
};

export const hook: HookHandler = ({ name, input }) => {
  const { value } = input as Value;
  const verdict: Verdict<Value> = { decision: "replace", value: { value: value + 1 }, reason: name };
  return verdict;
};

export const guardrail: GuardrailHandler = ({ name, target, input }) =>
  (input as Partial<Value>).value === 13 ? { decision: "block", reason: `${name} of ${target}` } : undefined;

export const interceptor: InterceptorHandler = ({ phase, output }) =>
  phase === "after" && output !== undefined && (output as Partial<Value>).value === 12
    ? { decision: "replace", value: { value: 100 } }
    : { decision: "continue" };

export const provider: ProviderHandler<{ readonly to: number }, { readonly count: number } | string> =
  async function* ({ to }, { signal }) {
    const left: AbortSignal | undefined = signal;
    for (let count = 1; count <= to && left?.aborted !== true; count++) yield { count };
    yield "done";
  };

export const activate: Activate = ({ register, plugin }) => {
  const handler: ToolHandler<{ readonly name: string }> = ({ name }) => `${plugin} greets ${name}`;
  register("tools", "registered", handler);
};

export const stop: Stop = () => {};

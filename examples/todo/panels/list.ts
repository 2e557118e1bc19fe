import type { PanelHandler } from "sallyport/plugin";
import { itemsOf } from "../items.ts";

/** What is to be done, with what can be done about it. */
export const list: PanelHandler = async (_input, { storage }) => {
  const items = await itemsOf(storage);
  return [
    items.length === 0 ? { type: "notification", level: "success", text: "Nothing to do." } : {
      type: "card",
      title: "To do",
      nodes: [{ type: "list", ordered: true, items }],
      actions: [{ action: "done", label: "Done with the first" }],
    },
    { type: "form", action: "add", label: "Add", fields: [{ name: "what", required: true }] },
  ];
};

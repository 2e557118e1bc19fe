import type { PanelHandler } from "sallyport/plugin";
import { visitorsIn } from "../book.ts";

/** The book, and a form to sign it. */
export const book: PanelHandler = async (_input, { storage }) => {
  const visitors = await visitorsIn(storage);
  return [
    { type: "table", columns: ["Visitor"], rows: visitors.map((name) => [name]) },
    { type: "form", action: "sign", label: "Sign", fields: [{ name: "name", required: true }] },
  ];
};

/** Short forms that the tests of this folder share. */
import {
  check,
  type Decision,
  grantOf,
  type KindName,
  type KindRequest,
  layerOf,
  type PathContext,
  type Requirement,
} from "../../permissions/mod.ts";

/** A plugin's places. */
export const PLACES: PathContext = {
  cwd: "/plugins/notes",
  bundle: "/plugins/notes",
  data: "/home/u/.sallyport/data/local/1",
  project: "/work/p",
  home: "/home/u",
  which: (name) => name === "tool" || name === "git" ? `/usr/bin/${name}` : undefined,
};

/** The decision of one policy layer. */
export function decide(
  kind: KindName,
  request: KindRequest,
  value: string | null,
  extra: Omit<Partial<Requirement>, "kind" | "value"> = {},
): Decision {
  return check(grantOf(layerOf("policy", { [kind]: request }, PLACES)), { kind, value, ...extra }, PLACES);
}

/** Whether one policy layer grants the value. */
export function grants(kind: KindName, request: KindRequest, value: string | null): boolean {
  return decide(kind, request, value).state === "granted";
}

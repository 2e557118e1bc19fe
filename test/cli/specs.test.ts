/** Every second command line of test/specs, from the first one; see `specs.ts`. */
import { describe } from "vitest";
import { runSpecs } from "./specs.ts";

describe("specs", async () => await runSpecs(0));

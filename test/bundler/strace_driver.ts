/** Bundles one plugin and ends; run under strace by outside.test.ts. */
import { planConfinement } from "../../runtime/mod.ts";
import { Bundler } from "../../src/bundler/mod.ts";
import { PluginSource } from "../../src/source.ts";

const bundler = new Bundler({ plan: planConfinement("best") });
const source = PluginSource.open(process.argv[2]!);
for (const path of process.argv.slice(3)) {
  try {
    const { inputs } = await bundler.bundle({ source, target: { path, export: "run" }, tenant: "t" });
    console.log(JSON.stringify({ path, inputs }));
  } catch (error) {
    console.log(JSON.stringify({ path, message: (error as Error).message }));
  }
}
await bundler.close();

/** Prints the plain closing line that a reader of the log, or a program, counts by. */
import type { Reporter, TestModule } from "vitest/node";

/** Counts tests and says so in the last line. */
export default class SummaryReporter implements Reporter {
  /** Called by vitest when all is run. */
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state] += 1;
      if (module.errors().length > 0) count.failed += 1;
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : "";
    console.log(`\n${count.passed} passed, ${count.failed} failed${skipped}`);
  }
}

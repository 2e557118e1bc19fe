import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/offline.ts"],
    pool: "forks",
    // Two workers of the product and two forks fill a small machine; more only makes deadlines late.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Real processes are killed and raced here; on a machine of somebody else's, one more try tells a late clock from a mistake.
    retry: process.env.CI === "true" ? 1 : 0,
    reporters: ["default", "./tools/summary_reporter.ts"],
  },
});

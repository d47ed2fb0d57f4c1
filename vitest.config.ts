import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/count-reporter.ts"],
    // A line for each file is enough.
    slowTestThreshold: 60_000,
    // Tests wait for servers and pages as often as they compute.
    maxWorkers: availableParallelism() + 1,
    projects: [
      {
        test: {
          name: "node",
          include: ["test/{unit,property,conformance,golden,regret,simulation,browser,packaging}/**/*.test.ts"],
          // Files share a process: no test leaves anything behind for another file.
          isolate: false,
          // What tests start says what went wrong, and nothing else.
          env: { WRANGLER_LOG: "warn" },
          // A test that hangs ends; a busy machine is no reason to fail.
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      "./test/worker/vitest.config.ts",
    ],
  },
});

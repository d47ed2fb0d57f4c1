import { existsSync } from "node:fs";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/count-reporter.ts"],
    projects: [
      {
        test: {
          name: "node",
          include: ["test/{unit,property,conformance,golden,regret,simulation,browser,packaging}/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      ...(existsSync("test/worker/vitest.config.ts") ? ["./test/worker/vitest.config.ts"] : []),
    ],
  },
});

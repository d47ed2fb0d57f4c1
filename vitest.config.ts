import { statfsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import type {} from "./test/support/chosen-seed.ts";

/** The files that take longest, the longest first. Vitest starts large files first while it has no times of an earlier run, and these are small. */
const LONGEST = [
  "packaging/frameworks",
  "browser/newcomer",
  "packaging/commands",
  "simulation/crash-sweep",
  "browser/site",
  "packaging/packaging",
  "simulation/launch/launch",
  "packaging/bin",
  "unit/research/stale-rows",
  "unit/project/core",
].map((name) => `/test/${name}.test.ts`);

/** Starts the files first that wait for browsers, servers and packages, so that none of them is left over at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.findIndex((name) => moduleId.endsWith(name));
      if (place >= 0) return place;
      return LONGEST.length + Number(!/\/test\/(browser|packaging|simulation)\//.test(moduleId));
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

/** Statistics over many seeds and simulated worlds, limits of memory, further frameworks, and recipes. `npm run test:all` runs them. */
const LONG = [
  "test/{regret,unit/experiments}/**/*.test.ts",
  ...["unit/comparison/arm-comparison", "unit/evaluation/list-evaluation", "unit/model/delay/forgotten-impressions"],
  ...["unit/model/linear/bernoulli-world", "unit/model/pending/retained-memory", "unit/pages/bands", "property/worker/body-heap"],
  ...["unit/research/stale-rows", "unit/worker/long-rollback", "unit/cli/logs/log-memory", "unit/pages/estimates"],
  ...["golden/fields", "unit/worker/default-merge", "unit/trials/crossing", "unit/model/delay/own-laws-memory"],
  ...["property/altered-archive", "property/crafted-snapshots", "packaging/other-frameworks"],
  ...["packaging/page-tools", "packaging/recipes"],
].map((name) => (name.endsWith(".ts") ? name : `test/${name}.test.ts`));

/** Learners wait until the disk has each of their commits. Their folders are in memory, if there is room for those of a run. */
function useMemory(folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize > 8 * 2 ** 30) process.env.TMPDIR ??= folder;
}
if (process.platform === "linux") useMemory("/dev/shm");

/** `npm run test:random` sets another. */
const propertySeed = Number(process.env.PROPERTY_SEED ?? 1);

const inNode = {
  // Files share a process: no test leaves anything behind for another file.
  isolate: false,
  // What tests start says what went wrong, and nothing else.
  env: { WRANGLER_LOG: "warn" },
  // A test that hangs ends; a busy machine is no reason to fail.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  setupFiles: ["test/support/chosen-seed.ts", "test/support/same-bytes.ts"],
  provide: { propertySeed },
};

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/count-reporter.ts"],
    // A line for each file is enough.
    slowTestThreshold: 60_000,
    // Tests wait for servers and pages as often as they compute.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { ...inNode, name: "node", include: ["test/{unit,property,conformance,golden}/**/*.test.ts"], exclude: LONG } },
      { test: { ...inNode, name: "long", include: LONG, globalSetup: "test/packaging/setup.ts" } },
      // Limits of processor time. They hold on a quiet machine, so no other run includes them: `npm run test:speed`.
      { test: { ...inNode, name: "speed", include: ["test/speed/**/*.test.ts"], maxWorkers: 1 } },
      "./test/worker/vitest.config.ts",
      {
        test: {
          ...inNode,
          name: "system",
          include: ["test/{simulation,browser,packaging}/**/*.test.ts"],
          exclude: LONG,
          globalSetup: "test/packaging/setup.ts",
        },
      },
    ],
  },
});

import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { comparisons, drawingOf, find, withNumbers } from "../../../experiments/choosing.ts";
import { claimsTable } from "../../../experiments/claims.ts";
import { goalsTable, rhythmTable } from "../../../experiments/goals.ts";
import type { Result } from "../../../experiments/results.ts";
import { shopComparisons, shopIntervals, shopRatios, shopTable, shopTraffic } from "../../../experiments/shop/tables.ts";
import { signalsComparisons, signalsTable } from "../../../experiments/signals/tables.ts";

const results: Result[] = JSON.parse(await readFile("experiments/results.json", "utf8"));

it.each([claimsTable, goalsTable, rhythmTable, shopTable, shopRatios, shopTraffic, shopIntervals, signalsTable])(
  "the table %o of docs/research.md is that of experiments/results.json",
  async (table) => {
    expect(await readFile("docs/research.md", "utf8")).toContain(table(results));
  },
);

it("the guide's tables are those of experiments/results.json", async () => {
  const guide = await readFile("docs/choosing.md", "utf8");
  expect(withNumbers(guide, results)).toBe(guide);
});

it.each(Object.entries({ ...comparisons, ...shopComparisons(results), ...signalsComparisons(results) }))(
  "the figure %s is that of experiments/results.json",
  async (name, comparison) => {
    expect(await readFile(`docs/figures/${name}.svg`, "utf8")).toBe(await drawingOf(comparison, results));
  },
);

it("what the guide says in words is what its numbers say", () => {
  /** The algorithm's means, over the settings of a comparison. */
  const means = (name: string, algorithm: string): number[] => {
    const comparison = comparisons[name];
    return Object.keys(comparison.settings).map((setting) => find(comparison, setting, algorithm, results).mean);
  };
  /** Expects the algorithms to have less than all others in these settings of a comparison. */
  const least = (name: string, algorithms: readonly string[], settings: number[]) => {
    for (const other of Object.keys(comparisons[name].algorithms).filter((each) => !algorithms.includes(each))) {
      for (const algorithm of algorithms) {
        for (const i of settings) expect(means(name, algorithm)[i], `${name}: ${algorithm}, ${other}`).toBeLessThan(means(name, other)[i]);
      }
    }
  };
  least("linear", ["delay-lin-ts", "delay-lin-ucb"], [0, 1, 2]);
  least("heavy-tail", ["delay-lin-ts", "delay-lin-ucb"], [0]);
  least("kernel", ["delay-aware GP-UCB"], [0, 1, 2]);
  least("best", ["GP-UCB-SDF"], [0, 1]);
  for (const i of [0, 1, 2]) expect(means("linear", "OTFLinUCB printed")[i]).toBeGreaterThan(means("linear", "uniform")[i]);
  const [five, ten, twenty, forty] = means("window", "GP-UCB-SDF");
  expect(Math.max(twenty, forty)).toBeLessThan(Math.min(five, ten));
});

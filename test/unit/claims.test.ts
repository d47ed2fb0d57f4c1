import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { comparisons, drawingOf, withNumbers } from "../../experiments/choosing.ts";
import { claimsTable } from "../../experiments/claims.ts";
import type { Result } from "../../experiments/results.ts";

const results: Result[] = JSON.parse(await readFile("experiments/results.json", "utf8"));

it("the README's table of claims is that of experiments/results.json", async () => {
  expect(await readFile("README.md", "utf8")).toContain(claimsTable(results));
});

it("the guide's tables are those of experiments/results.json", async () => {
  const guide = await readFile("docs/choosing.md", "utf8");
  expect(withNumbers(guide, results)).toBe(guide);
});

it.each(Object.entries(comparisons))("the guide's figure %s is that of experiments/results.json", async (name, comparison) => {
  expect(await readFile(`docs/figures/${name}.svg`, "utf8")).toBe(await drawingOf(comparison, results));
});

it("what the guide says in words is what its numbers say", () => {
  /** Of each algorithm, over the settings of a comparison. */
  const means = (name: string, algorithm: string): number[] => {
    const { experiment, metric, settings } = comparisons[name];
    return Object.keys(settings).map((setting) => {
      const found = results.filter((each) => each.experiment === experiment && each.metric === metric && each.setting === setting);
      return found.find((each) => each.algorithm === algorithm)?.mean as number;
    });
  };
  const least = (name: string, algorithm: string, settings: number[]) => {
    for (const other of Object.keys(comparisons[name].algorithms).filter((each) => each !== algorithm)) {
      for (const i of settings) expect(means(name, algorithm)[i], `${name}: ${algorithm}, ${other}`).toBeLessThan(means(name, other)[i]);
    }
  };
  least("linear", "OTFLinTS narrowed", [0, 1, 2]);
  least("heavy-tail", "OTFLinTS narrowed", [0]);
  least("kernel", "GP-BUCB", [1, 2]);
  least("best", "GP-UCB-SDF", [0, 1]);
  for (const i of [0, 1, 2]) expect(means("linear", "OTFLinUCB printed")[i]).toBeGreaterThan(means("linear", "uniform")[i]);
  const [five, ten, twenty, forty] = means("window", "GP-UCB-SDF");
  expect(Math.max(twenty, forty)).toBeLessThan(Math.min(five, ten));
});

import { expect, it } from "vitest";
import { estimates, restrictions } from "../../../experiments/signals/restrictions.ts";

const LOGS = 10;
/** Lists of a log, so many that most logs hold enough rewards for each figure below. */
const LISTS = 900;

const ofLists = ["logged", "item-position", "position-based"];
/** A pin takes the first place of a third of the lists. Many logs of this size are then too small for an estimate of it. */
const figuresIn = (setting: string): string[] =>
  ["filters", "bounds of families"].includes(setting) ? [...ofLists, "first place, IPS"] : ofLists;

const meanOf = (values: readonly number[]): number => values.reduce((sum, each) => sum + each, 0) / values.length;

it.each(restrictions.settings)("estimates of lists under %s are right on average, and their intervals hold the truth", async (setting) => {
  const found = new Map<string, number[]>();
  for (let log = 0; log < LOGS; log++) {
    // Not the seeds that are reported.
    for (const { metric, values } of await estimates(setting, 5000 + log, LISTS)) {
      found.set(metric, [...(found.get(metric) ?? []), values[0]]);
    }
  }
  for (const figure of figuresIn(setting)) {
    const ratios = found.get(`${figure} over truth`) ?? [];
    expect(ratios.length, `${figure}: logs that state it`).toBeGreaterThanOrEqual(0.7 * LOGS);
    expect(meanOf(found.get(`${figure} covers (%)`) as number[]), figure).toBeGreaterThanOrEqual(66);
    const mean = meanOf(ratios);
    const error = Math.sqrt(ratios.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (ratios.length - 1) / ratios.length);
    expect(Math.abs(mean - 1), figure).toBeLessThan(4 * error);
  }
});

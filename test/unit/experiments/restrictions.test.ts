import { expect, it } from "vitest";
import type { Task } from "../../../experiments/experiment.ts";
import { restrictions } from "../../../experiments/signals/restrictions.ts";

it.each(restrictions.settings)("estimates of lists under %s are right on average, and their intervals hold the truth", async (setting) => {
  const values = new Map<string, number[]>();
  for (let run = 0; run < 12; run++) {
    // Not the seeds that are reported.
    for (const { metric, values: own } of await restrictions.run({ setting, algorithm: "delay-lin-ts", run: 5000 + run } as Task)) {
      values.set(metric, [...(values.get(metric) ?? []), own[0]]);
    }
  }
  for (const [metric, own] of values) {
    const mean = own.reduce((sum, each) => sum + each, 0) / own.length;
    if (metric.includes("covers")) expect(mean, metric).toBeGreaterThanOrEqual(66);
    const error = Math.sqrt(own.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (own.length - 1) / own.length);
    if (metric.includes("over truth")) expect(Math.abs(mean - 1), metric).toBeLessThan(4 * error);
  }
});

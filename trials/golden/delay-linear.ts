// Golden cases of the delay-aware linear policies: their predictions after a history of impressions and conversions.
import { delayLinTs, delayLinUcb, type PolicyDescriptor } from "afterclick";
import type { AppendedImpression } from "afterclick/research";
import { type Case, close, type Json, labelled, started } from "./case.ts";

const TOLERANCE = 1e-9;

export function delayLinearCases(file: Json): Case[] {
  return labelled(file.delay_linear, async (one) => {
    for (const policy of [delayLinUcb, delayLinTs]) await play(policy(one.options), one);
  });
}

async function play(policy: PolicyDescriptor, { window, points, steps }: Json): Promise<void> {
  const running = await started(policy, window);
  const shown: AppendedImpression[] = [];
  for (const { show, round, now, convert, reward, delay, expect } of steps) {
    if (show) shown.push(running.append({ features: show, round, now }));
    if (convert !== undefined) running.observe({ impression: shown[convert], reward, ...(delay && { delay: { after: delay } }) });
    if (!expect) continue;
    const { mean, variance } = running.predict(points);
    close(`mean after ${shown.length}`, mean, expect.mean, TOLERANCE, TOLERANCE);
    close(`variance after ${shown.length}`, variance, expect.variance, TOLERANCE, TOLERANCE);
  }
}

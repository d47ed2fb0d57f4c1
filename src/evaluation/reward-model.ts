import type { Core } from "../core/core.ts";
import { type Points, rowOf } from "../encoding/points.ts";
import { Ridge } from "../model/linear/ridge.ts";
import type { Range } from "../values/argument.ts";
import { type LoggedDecision, pointsOf } from "./log/log.ts";

/** An observed reward, divided by the probability that it is observed. */
export interface SeenReward {
  readonly decision: LoggedDecision;
  readonly reward: number;
}

/**
 * Expected reward of each candidate: a ridge regression on the features, clamped to the range of rewards, or, without features, the
 * mean. Doubly robust estimates correct its errors. The better the model, the narrower their intervals.
 */
export function rewardModel(core: Core, seen: readonly SeenReward[], { min, max }: Range): (decision: LoggedDecision) => Float64Array {
  const within = (value: number): number => Math.min(Math.max(value, min), max);
  const [first] = seen;
  const d = first ? dimensionOf(first.decision) : 0;
  if (d === 0) {
    const mean = seen.reduce((sum, { reward }) => sum + reward, 0) / Math.max(seen.length, 1);
    return ({ count }) => new Float64Array(count).fill(within(mean));
  }
  const ridge = new Ridge(core, { dimension: d, ridge: 1 });
  for (const { decision, reward } of seen) {
    const { index } = decision;
    const features = rowOf(pointsOf(decision) as Points, index, d).slice();
    ridge.append(features);
    if (reward !== 0) ridge.reward({ features }, reward, 0);
  }
  return (decision) => {
    const points = pointsOf(decision) as Points;
    return ridge.means(points instanceof Float64Array ? { points } : { points: points.matrix() }).map(within);
  };
}

/** Features of a candidate. 0 if candidates have none. */
function dimensionOf(decision: LoggedDecision): number {
  const points = pointsOf(decision);
  return points instanceof Float64Array ? points.length / decision.count : (points?.dimension ?? 0);
}

import type { Core } from "../core/core.ts";
import { areEncoded, type Points, rowOf } from "../encoding/points.ts";
import { Ridge } from "../model/linear/ridge.ts";
import type { Range } from "../values/argument.ts";
import { type LoggedDecision, pointsOf } from "./log/log.ts";

/** An observed reward, divided by the probability that it is observed. */
export interface SeenReward {
  readonly decision: LoggedDecision;
  readonly reward: number;
}

/** Expected rewards of some candidates of a decision, by their indices. */
export type RewardModel = (decision: LoggedDecision, candidates: readonly number[]) => Float64Array;

/**
 * Expected reward of each candidate: a ridge regression on the features, clamped to the range of rewards, or, without features, the
 * mean. Doubly robust estimates correct its errors. The better the model, the narrower their intervals.
 */
export function rewardModel(core: Core, seen: Iterable<SeenReward>, { min, max }: Range): RewardModel {
  const within = (value: number): number => Math.min(Math.max(value, min), max);
  let ridge: Ridge | undefined;
  let [sum, size] = [0, 0];
  for (const { decision, reward } of seen) {
    const d = size === 0 ? dimensionOf(decision) : (ridge?.dimension ?? 0);
    [sum, size] = [sum + reward, size + 1];
    if (d === 0) continue;
    ridge ??= new Ridge(core, { dimension: d, ridge: 1 });
    const features = rowOf(pointsOf(decision) as Points, decision.index, d).slice();
    ridge.append(features);
    if (reward !== 0) ridge.reward({ features }, reward, 0);
  }
  if (!ridge) {
    const mean = within(sum / Math.max(size, 1));
    return (_, candidates) => new Float64Array(candidates.length).fill(mean);
  }
  const learnt = ridge;
  return (decision, candidates) => {
    const points = pointsOf(decision) as Points;
    return learnt.means({ points: rowsOf(points, candidates, learnt.dimension) }).map(within);
  };
}

function rowsOf(points: Points, candidates: readonly number[], dimension: number): Float64Array {
  if (areEncoded(points)) return points.rows(candidates);
  const rows = new Float64Array(candidates.length * dimension);
  candidates.forEach((candidate, i) => void rows.set(rowOf(points, candidate, dimension), i * dimension));
  return rows;
}

/** Features of a candidate. 0 if candidates have none. */
function dimensionOf(decision: LoggedDecision): number {
  const points = pointsOf(decision);
  return points instanceof Float64Array ? points.length / decision.count : (points?.dimension ?? 0);
}

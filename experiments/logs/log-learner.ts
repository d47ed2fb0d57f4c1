import type { Recommender } from "afterclick";
import type { Points } from "afterclick/research";
import { vectorAt } from "afterclick/research";
import type { Shown } from "./bandit-log.ts";

/** A policy that learns from the rows of a log, and chooses among their candidates. */
export interface LogLearner {
  /** Probability of each candidate. It changes nothing. */
  chances(shown: Shown): ArrayLike<number>;
  learn(shown: Shown): void;
}

/** Samples from which a sampling policy chooses, as in the worker. */
const DRAWS = 100;

/** A recommender of the SDK. Its rows have features. */
export function recommending(recommender: Recommender): LogLearner {
  const { policy } = recommender;
  return {
    chances: ({ id: decision, points, shownAt: now }) =>
      policy.chances({ points, round: policy.impressions + 1, now, draws: DRAWS, decision }),
    learn({ id: impressionId, index, count, points, shownAt: now, clicked }) {
      recommender.register({ impressionId, features: vectorAt(points as Points, index, count), now });
      if (clicked) recommender.convert({ impressionId, reward: 1, at: now });
    },
  };
}

/** Shows the item with the most clicks so far, or one of those with as many. */
export function mostClicked(items: number): LogLearner {
  const clicks = new Int32Array(items);
  return {
    chances() {
      const most = Math.max(...clicks);
      const level = clicks.filter((each) => each === most).length;
      return Float64Array.from(clicks, (each) => (each === most ? 1 / level : 0));
    },
    learn({ index, clicked }) {
      clicks[index] += Number(clicked);
    },
  };
}

/** A policy that learns nothing. */
const fixed = (chances: LogLearner["chances"]): LogLearner => ({ chances, learn() {} });

/** Shows each item with the same probability. */
export const uniformly: LogLearner = fixed(({ count }) => new Float64Array(count).fill(1 / count));

/** The policy of the log itself. A log states the probability of the shown item alone, so the others are given equal ones. */
export const asLogged: LogLearner = fixed(({ count, index, probability }) =>
  Float64Array.from({ length: count }, (_, i) => (i === index ? probability : (1 - probability) / (count - 1))),
);

/** Shows each item as often as another log does at the same position. */
export function inShares(log: readonly Shown[]): LogLearner {
  const shares = new Map<number, Float64Array>();
  for (const { position } of log) {
    if (shares.has(position)) continue;
    const own = log.filter((each) => each.position === position);
    const share = new Float64Array(own[0].count);
    for (const { index } of own) share[index] += 1 / own.length;
    shares.set(position, share);
  }
  return fixed(({ position }) => shares.get(position) as Float64Array);
}

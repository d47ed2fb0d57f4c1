// The shapes that every model with named features returns.

import type { Policy } from "../policy/policy.ts";

/** A shown action, which is an impression of its own. */
export interface RecommendedAction {
  readonly impressionId: string;
  readonly id: string;
  /** The number by which it was ranked. It is no reward, and may be outside their range. */
  readonly score: number;
  /** The expected reward, inside the range of rewards. */
  readonly mean: number;
  /** The bonus: a multiplier times the posterior standard deviation. */
  readonly width: number;
  /** Probability of this action at this place, over all random draws of the decision. Absent if the policy does not know it. */
  readonly probability?: number;
}

/** What to show. */
export interface Recommendation {
  /** Id of the policy. */
  readonly policy: string;
  /** Until when a conversion counts, in ms since 1970. Infinity without a window in ms. */
  readonly windowEndsAt: number;
  /** Best first, at least one. */
  readonly actions: readonly [RecommendedAction, ...RecommendedAction[]];
}

type Scores = Pick<RecommendedAction, "score" | "mean" | "width" | "probability">;

/** The scores of a shown action as answers state them: with the expected reward inside the range of rewards. */
export function statedScores(policy: Policy, { score, mean, width, probability = policy.deterministic ? 1 : undefined }: Scores): Scores {
  return { score, mean: policy.stated(mean), width, ...(probability !== undefined && { probability }) };
}

/** The error of a request without an action that can be shown. @param isKnown whether there are actions that are not available. */
export function nothingOffered(isKnown: boolean): RangeError {
  return new RangeError(`actions: expected at least one, as ${isKnown ? "none is available" : "there is no catalogue"}`);
}

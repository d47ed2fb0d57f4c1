// The shapes that every model with named features returns.

import type { Choice } from "../policy/chooser.ts";
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
  /** Best first. */
  readonly actions: readonly RecommendedAction[];
}

/** A choice as an answer states it. @param policy absent if none decided. */
export function shownAction(choice: Choice, policy: Policy | undefined, impressionId: string, id: string): RecommendedAction {
  const { score, mean, width, probability = policy?.deterministic ? 1 : undefined } = choice;
  return { impressionId, id, score, mean: policy ? policy.stated(mean) : mean, width, ...(probability !== undefined && { probability }) };
}

/** The error of a request without an action that can be shown. @param isKnown whether there are actions that are not available. */
export function nothingOffered(isKnown: boolean): RangeError {
  return new RangeError(`actions: expected at least one, as ${isKnown ? "none is available" : "there is no catalogue"}`);
}

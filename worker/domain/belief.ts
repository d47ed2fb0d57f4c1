import { type Choice, type Policy, UnsupportedError } from "afterclick";
import type { Belief } from "../protocol/answers.ts";
import type { Offer } from "./offer.ts";

type Scores = Pick<Choice, "score" | "mean" | "width" | "probability">;

/** The scores of a shown action as answers state them: with the expected reward inside the range of rewards. Rows keep the posterior's mean. */
export function statedScores(policy: Policy, { score, mean, width, probability }: Scores): Scores {
  return { score, mean: policy.stated(mean), width, ...(probability !== undefined && { probability }) };
}

/** Belief of the policy about each action. Null for a policy without a posterior, or with a domain of its own. */
export function beliefsOf(policy: Policy, { actions, points }: Offer): readonly (Belief | null)[] {
  const { dimension: d, hasDomain } = policy;
  if (d === 0 || hasDomain || !points) return actions.map(() => null);
  const vectors = actions.map((_, i) => points.subarray(i * d, (i + 1) * d));
  try {
    const factors = policy.hasFactors ? policy.factors(vectors) : undefined;
    return policy.interval(vectors).map((belief, i) => (factors ? { ...belief, factors: factors[i] } : belief));
  } catch (error) {
    if (error instanceof UnsupportedError) return actions.map(() => null);
    throw error;
  }
}

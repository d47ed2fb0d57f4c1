import { type Policy, UnsupportedError } from "afterclick";
import { type Factor, tooFew, vectorAt } from "afterclick/research";
import type { Belief } from "../../protocol/answers.ts";
import type { Offer } from "./offer.ts";

type Interval = Pick<Factor, "mean" | "average" | "low" | "high">;

/**
 * Belief of the policy about each action in a context, and what the action's impressions have brought. Null for a policy without a
 * posterior, or with a domain of its own.
 */
export function beliefsOf(policy: Policy, { actions, points }: Offer): readonly (Belief | null)[] {
  const { dimension: d, hasDomain } = policy;
  if (d === 0 || hasDomain || !points) return actions.map(() => null);
  const vectors = actions.map((_, i) => vectorAt(points, i, actions.length));
  try {
    if (!policy.hasIntervals) {
      return Array.from(policy.predict(vectors).mean, (mean) => ({ mean: policy.stated(mean), average: null, low: null, high: null }));
    }
    const factors = policy.hasFactors ? policy.factors(vectors) : undefined;
    return policy.interval(vectors).map((belief, i) => (factors ? withFactors(belief, factors[i]) : stated(belief)));
  } catch (error) {
    if (error instanceof UnsupportedError) return actions.map(() => null);
    throw error;
  }
}

/** A belief with its factors. */
function withFactors(belief: Interval, factors: readonly Factor[]): Belief {
  const { missing, goal } = factors.find((each) => each.missing !== undefined) ?? {};
  return {
    ...stated(belief),
    ...(missing !== undefined && tooFew(missing, `amounts of ${goal}`)),
    factors: factors.map(({ missing: _, ...factor }) => ({ ...factor, ...stated(factor) })),
  };
}

/** An average before the first impression, and ends that too few amounts leave open, are null. */
function stated({ mean, average, low, high }: Interval): Pick<Belief, "mean" | "average" | "low" | "high"> {
  const [own, least, most] = [average, low, high].map((each) => (Number.isFinite(each) ? each : null));
  return { mean, average: own, low: least, high: most };
}

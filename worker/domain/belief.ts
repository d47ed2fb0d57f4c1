import { type Policy, UnsupportedError } from "afterclick";
import type { Belief } from "../protocol/answers.ts";
import type { Offer } from "./decision.ts";

/** Belief of the policy about each action. Null for a policy without a posterior, or with a domain of its own. */
export function beliefsOf(policy: Policy, { actions, points }: Offer): readonly (Belief | null)[] {
  const { dimension: d, hasDomain } = policy;
  if (d === 0 || hasDomain || !points) return actions.map(() => null);
  try {
    return policy.interval(actions.map((_, i) => points.subarray(i * d, (i + 1) * d)));
  } catch (error) {
    if (error instanceof UnsupportedError) return actions.map(() => null);
    throw error;
  }
}

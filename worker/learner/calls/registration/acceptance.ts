import type { Policies } from "../../../domain/model/policies.ts";
import { Problem } from "../../../protocol/problem.ts";
import type { Model } from "../../model/model-holder.ts";

// Rules for impressions that are registered, whoever has shown them.

/** @throws {Problem} 503 in a shard that would refuse all impressions, because its coordinator has not granted it a part of the limits yet. */
export function checkGranted({ state: { allowance } }: Model): void {
  if (allowance.open === 0 && allowance.bytes === 0)
    throw new Problem(503, "the shard has no part of the model's limits yet; send the same again in a moment");
}

/** The earliest time shown that is still taken. */
export function oldestOpen({ timing, state }: Model, now: number): number {
  return Math.max(now - timing.windowMs - timing.graceMs, state.watermark, state.horizon);
}

/** @throws {TypeError | RangeError} if a policy does not accept the features. */
export function countable(policies: Policies, features: Float64Array): Float64Array {
  for (const { policy } of policies) if (policy.dimension > 0) policy.features(features);
  return features;
}

/** Whether the policies accept features. A refused impression must not make its batch fail again and again. */
export function isCountable(policies: Policies, features: Float64Array): boolean {
  try {
    countable(policies, features);
    return true;
  } catch {
    return false;
  }
}

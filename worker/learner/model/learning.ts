import type { Policy } from "afterclick";
import { observeAll, type RewardChange } from "../../domain/conversion/reward.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import { type AppendedImpression, type ImpressionRow, type Marks, placeOf } from "../../domain/impression/impression.ts";
import type { Policies } from "../../domain/model/policies.ts";

// What policies learn of the rows of a model.

/** Appends an impression to the policies, in the next round. */
export function appendTo(policies: Policies, impression: Pick<ImpressionRow, "id" | "action" | "features" | "decision">): Marks {
  const { id, action, features } = impression;
  return appendNext(policies, { action, features, place: placeOf(impression), now: shownAtOf(id) });
}

/** Appends an impression by its action, features and place, in the next round. */
export function appendNext(
  policies: Policies,
  shown: { readonly action: string; readonly features: Float64Array; readonly place: number; readonly now: number },
): Marks {
  return append(policies, { ...shown, round: policies[0].policy.impressions + 1 });
}

/** Appends an impression of a round. Returns its places in the policies. */
export function append(policies: Policies, shown: Omit<AppendedImpression, "slots"> & { readonly place: number }): Marks {
  const { action, features, place, round, now } = shown;
  const slots = policies.map((recommender) => {
    const { policy } = recommender;
    return policy.append({ ...fitting(policy, features), action, round, now, weight: recommender.weightAt(place) }).slot;
  });
  return { slots, round };
}

/** Lets the policies observe a change. Returns false if one refuses it: others may have learnt it by then. */
export function tryObserve(policies: Policies, { impression: { slots, ...shown }, ...change }: RewardChange): boolean {
  try {
    const impressions = slots.map((slot) => ({ ...shown, slot }));
    observeAll(policies, impressions, change);
    return true;
  } catch (error) {
    console.error(JSON.stringify({ skipped: error instanceof Error ? error.message : String(error) }));
    return false;
  }
}

/** A policy of dimension 0 takes no features. */
function fitting(policy: Policy, features: Float64Array): { readonly features?: Float64Array } {
  return policy.dimension > 0 ? { features } : {};
}

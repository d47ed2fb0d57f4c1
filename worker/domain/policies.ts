import { policies as factories, Recommender } from "afterclick";

/** The running policies of a model: the served one first, then its shadows. */
export type Policies = readonly Recommender[];

/** Restores the policies of a snapshot. `parts` holds one snapshot of the SDK per policy. */
export function restorePolicies(parts: readonly Uint8Array[]): Promise<Policies> {
  return Promise.all(parts.map((bytes) => Recommender.restore(bytes, { policies: factories })));
}

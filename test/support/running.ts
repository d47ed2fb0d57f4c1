import { type Policy, type PolicyDescriptor, Recommender, type Window } from "afterclick";

/** A running policy, without the ledger of its recommender. */
export async function running(descriptor: PolicyDescriptor, window: Window = "none"): Promise<Policy> {
  return (await Recommender.create({ policy: descriptor, window })).policy;
}

import type { Policy } from "afterclick";
import type { Assignment } from "../../protocol/figures.ts";
import type { ModelConfig } from "../model/model.ts";

/** The decision of a list. */
export interface ListDecision {
  /** Id of the list's first impression. */
  readonly first: string;
  readonly arm: Assignment;
  /** Number of candidates. */
  readonly candidates: number;
}

/**
 * Whether a list was ranked uniformly at random: by the holdout, by `minimumShare`, or by the policy `uniform`.
 * @param policy any policy with the model's seed. What it has learnt does not matter.
 * @param config in force when the decision was made.
 */
export function isRandomList(
  policy: Pick<Policy, "ranksAtRandom">,
  config: Pick<ModelConfig, "policy" | "minimumShare">,
  { first, arm, candidates }: ListDecision,
): boolean {
  if (arm !== "policy") return arm === "holdout";
  const { minimumShare } = config;
  return config.policy === "uniform" || policy.ranksAtRandom({ round: 1, decision: first, minimumShare }, candidates);
}

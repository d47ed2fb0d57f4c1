// Tells policies what no event says: the meaning of features, and the earlier sales of a shop.

import { tellPrior as tell } from "afterclick/research";
import type { Action } from "../../protocol/schema.ts";
import { featurizer, type ModelConfig, regroup } from "./model.ts";
import type { Policies } from "./policies.ts";

/**
 * Tells policies what their features mean under a configuration, whose vocabulary a catalogue may have extended, and its prior. Call it
 * whenever the configuration or the catalogue changes, between the same events of the log.
 */
export function inform(policies: Policies, config: ModelConfig, catalogue: readonly Action[]): void {
  regroup(policies, config);
  tellPrior(policies, config, catalogue);
}

/** Tells policies the prior of a configuration. It replaces an earlier one. */
export function tellPrior(policies: Policies, config: ModelConfig, catalogue: readonly Action[]): void {
  if (!config.prior) return;
  const features = featurizer(config);
  for (const { policy } of policies) tell(policy, config.prior.sales, catalogue, features);
}

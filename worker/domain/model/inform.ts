// What policies are told beside the events that they learn: the meaning of features, and what a shop knew before.

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

/**
 * Tells policies the prior of a configuration. It replaces an earlier one.
 * A policy that looks at features takes the products of the catalogue, as they are in no context; another one takes all by their ids.
 */
export function tellPrior(policies: Policies, config: ModelConfig, catalogue: readonly Action[]): void {
  if (!config.prior) return;
  const { sales } = config.prior;
  const actions = new Map(catalogue.map((action) => [action.id, action]));
  const { vector } = featurizer(config);
  for (const { policy } of policies) {
    if (!policy.takesPrior) continue;
    const known = policy.dimension > 0 ? sales.filter(({ action }) => actions.has(action)) : sales;
    const products = known.map(({ action: id, ...counts }) => {
      if (policy.dimension === 0) return { id, ...counts };
      const own = vector(undefined, actions.get(id) as Action);
      // Without an encoder, the numbers of the context come first.
      const features = new Float64Array(policy.dimension);
      features.set(own, policy.dimension - own.length);
      return { id, features, ...counts };
    });
    policy.prior(products);
  }
}

// What a model's shop knew before the model had learnt anything, as policies take it.

import type { Action } from "../../protocol/schema.ts";
import { featurizer, type ModelConfig } from "./model.ts";
import type { Policies } from "./policies.ts";

/**
 * Tells policies the prior of a configuration. It replaces an earlier one, so call it whenever the configuration or the catalogue changes.
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

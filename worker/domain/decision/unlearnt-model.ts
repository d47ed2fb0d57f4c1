import { tellPrior } from "../model/inform.ts";
import { featurizer, isEncodable, type ModelConfig, renewed, startModel } from "../model/model.ts";
import type { Served } from "./served.ts";

/**
 * What serves a model whose state this version of the worker cannot read: the catalogue by the sales of the model's prior, or in its order. A policy that chooses in its own
 * domain begins anew instead. Nothing is left to chance, so each choice has the probability 1.
 */
export async function unlearnt(stored: ModelConfig): Promise<Omit<Served, "catalogue" | "version">> {
  const config = { ...(isEncodable(stored) ? stored : renewed(stored)), shadows: [], holdout: 0, minimumShare: 0 };
  const ownDomain = (config.options as { readonly domain?: object | null }).domain ?? null;
  const shown = config.prior ? { policy: "bestsellers", options: { random: 0 } } : { policy: "uniform", options: {} };
  const policies = await startModel(ownDomain ? config : { ...config, ...shown });
  tellPrior(policies, config, []);
  return { config, featurize: featurizer(config), policies, unlearnt: true };
}

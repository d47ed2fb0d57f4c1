import type { Recommender } from "afterclick";
import { withVocabulary } from "../../worker/domain/encoding.ts";
import { configureModel, featurizer, startModel } from "../../worker/domain/model.ts";
import type { Learner } from "./learner.ts";
import type { Featurize } from "./play.ts";
import type { Shop } from "./shop.ts";

/** The model that a worker makes of `PUT /v1/models/shop { "window": ... }`, and its features. */
export interface DefaultModel {
  readonly recommender: Recommender;
  readonly featurize: Featurize;
}

/** Configures the worker's default model for a shop. The ranges of numeric features are the only thing that is declared. */
export async function defaultModel(shop: Shop, seed: number): Promise<DefaultModel> {
  const { products, numeric, dimension, windowMs } = shop;
  const window = { ms: windowMs };
  if (dimension !== undefined) {
    const config = await configureModel({ window, seed, options: { dimension } });
    const [recommender] = await startModel(config);
    return { recommender, featurize: ({ points }) => points as Float64Array };
  }
  const { encoder } = await configureModel({ window, seed });
  const config = withVocabulary(await configureModel({ window, seed, encoder: { ...encoder, numeric } }), products);
  const [recommender] = await startModel(config);
  const { matrix } = featurizer(config);
  return { recommender, featurize: ({ context }) => matrix(context, products) };
}

/** A recommender of the SDK as a learner. */
export function learnerOf(recommender: Recommender): Learner {
  return {
    choose: (points, now, round) => recommender.policy.choose({ points, now, round })[0].index,
    show: (impressionId, { features, now }) => recommender.register({ impressionId, features, now }),
    convert: (impressionId, at) => void recommender.convert({ impressionId, reward: 1, at }),
  };
}

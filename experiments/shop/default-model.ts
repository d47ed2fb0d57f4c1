import type { Recommender } from "afterclick";
import { withVocabulary } from "../../worker/domain/encoding.ts";
import { configureModel, featurizer, type ModelConfig, startModel } from "../../worker/domain/model.ts";
import type { Learner } from "./learner.ts";
import type { Featurize } from "./play.ts";
import type { Shop } from "./shop.ts";

/** The model that a worker makes of `PUT /v1/models/shop { "window": ... }`, and its features. */
export interface DefaultModel {
  readonly recommender: Recommender;
  readonly featurize: Featurize;
}

/** Options of a model, beside those that a shop sets. */
export type ModelOptions = Omit<Parameters<typeof configureModel>[0], "window" | "seed" | "encoder">;

/**
 * Configures the worker's model for a shop, the default one without `rest`. The ranges of numeric features are the only thing that is
 * declared.
 */
export async function defaultModel(shop: Shop, seed: number, rest: ModelOptions = {}): Promise<DefaultModel> {
  const { products, numeric, dimension, windowMs } = shop;
  const body = { ...rest, window: { ms: windowMs }, seed };
  if (dimension !== undefined) {
    const config = await configureModel({ ...body, options: { ...rest.options, dimension } });
    return started(config, ({ points }) => points as Float64Array);
  }
  const { encoder } = await configureModel(body);
  const config = withVocabulary(await configureModel({ ...body, encoder: { ...encoder, numeric } }), products);
  const { matrix } = featurizer(config);
  return started(config, ({ context }) => matrix(context, products));
}

async function started(config: ModelConfig, featurize: Featurize): Promise<DefaultModel> {
  const [recommender] = await startModel(config);
  return { recommender, featurize };
}

/** A recommender of the SDK as a learner. */
export function learnerOf(recommender: Recommender): Learner {
  return {
    choose: (points, now, round) => recommender.policy.choose({ points, now, round })[0].index,
    show: (impressionId, { features, now }) => recommender.register({ impressionId, features, now }),
    convert: (impressionId, at) => void recommender.convert({ impressionId, reward: 1, at }),
  };
}

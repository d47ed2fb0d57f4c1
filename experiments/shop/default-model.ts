import type { Recommender } from "afterclick";
import { withVocabulary } from "../../worker/domain/encoding.ts";
import { configureModel, featurizer, startModel } from "../../worker/domain/model.ts";
import type { Learner } from "./learner.ts";
import type { Featurize } from "./play.ts";
import type { Shop } from "./shop.ts";

type ModelBody = Parameters<typeof configureModel>[0];

/** A worker's model, and its features. */
export interface DefaultModel {
  readonly recommender: Recommender;
  readonly featurize: Featurize;
}

/**
 * The body of the PUT that makes the default model of a shop. `{ "window": ... }` is enough where features are names. A shop whose
 * features are numbers states their dimension. A shop with numeric features states their ranges, and with them the whole encoder: one
 * that is given in part would have no interactions.
 */
export async function bodyFor({ windowMs, dimension, numeric }: Shop): Promise<ModelBody> {
  const window = { ms: windowMs };
  if (dimension !== undefined) return { window, options: { dimension } };
  if (!numeric) return { window };
  const { encoder } = await configureModel({ window });
  const { dimension: components, interactions } = encoder as NonNullable<typeof encoder>;
  return { window, encoder: { dimension: components, interactions, numeric } };
}

/** @param options of the policy, beside its defaults. */
export async function defaultModel(shop: Shop, seed: number, options: object = {}): Promise<DefaultModel> {
  const { products } = shop;
  const body = await bodyFor(shop);
  const configured = await configureModel({ ...body, seed, options: { ...body.options, ...options } });
  const config = configured.encoder ? withVocabulary(configured, products) : configured;
  const [recommender] = await startModel(config);
  if (!config.encoder) return { recommender, featurize: ({ points }) => points as Float64Array };
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

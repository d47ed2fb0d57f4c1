import type { Recommender } from "afterclick";
import { withVocabulary } from "../../worker/domain/model/encoding.ts";
import { configureModel, featurizer, type ModelConfig, startModel } from "../../worker/domain/model/model.ts";
import type { Learner } from "./learner.ts";
import type { Featurize } from "./play.ts";
import type { Shop } from "./shop.ts";

type ModelBody = Parameters<typeof configureModel>[0];

/** The goal of a shop whose rewards are amounts. */
const PURCHASE = "purchase";

/** A worker's model, and its features. */
export interface DefaultModel {
  readonly recommender: Recommender;
  readonly featurize: Featurize;
}

/** The part of a shop that its model is made of. */
export type Assortment = Pick<Shop, "windowMs" | "products" | "dimension" | "numeric" | "meanOrder">;

/**
 * The body of the PUT that makes the default model of a shop: its window, and the ranges of its numeric features if it has any. A shop whose
 * features are numbers states their dimension instead, and one whose rewards are amounts states that.
 */
export function bodyFor({ windowMs, dimension, numeric, meanOrder }: Omit<Assortment, "products">): ModelBody {
  const body: ModelBody = { window: { ms: windowMs } };
  if (dimension !== undefined) body.options = { dimension };
  else if (numeric) body.encoder = { numeric };
  if (meanOrder !== undefined) body.goals = { [PURCHASE]: { weight: 1, value: { currency: "EUR" } } };
  return body;
}

/** Options of a model, beside those that a shop sets. */
export type ModelOptions = Omit<ModelBody, "window" | "seed">;

/** Starts the model of a shop: the default one without `rest`. */
export async function defaultModel(shop: Assortment, seed: number, rest: ModelOptions = {}): Promise<DefaultModel> {
  const { products } = shop;
  const body = bodyFor(shop);
  const encoder = body.encoder || rest.encoder ? { ...body.encoder, ...rest.encoder } : undefined;
  const configured = await configureModel({ ...rest, ...body, seed, encoder, options: { ...body.options, ...rest.options } });
  const config = configured.encoder ? withVocabulary(configured, products) : configured;
  if (!config.encoder) return started(config, ({ points }) => points as Float64Array);
  const { points } = featurizer(config);
  return started(config, ({ context }) => points(context, products));
}

async function started(config: ModelConfig, featurize: Featurize): Promise<DefaultModel> {
  const [recommender] = await startModel(config);
  return { recommender, featurize };
}

/** A recommender of the SDK as a learner. */
export function learnerOf(recommender: Recommender, { meanOrder }: Pick<Shop, "meanOrder"> = {}): Learner {
  const goal = meanOrder === undefined ? undefined : PURCHASE;
  return {
    choose: (points, now, round) => recommender.policy.choose({ points, now, round })[0].index,
    show: (impressionId, { features, now }) => recommender.register({ impressionId, features, now }),
    // Amounts of an impression add up: a refund is a negative one.
    convert: (impressionId, at, reward = 1, previous = 0) =>
      void recommender.convert({ impressionId, goal, reward: reward - previous, at }),
  };
}

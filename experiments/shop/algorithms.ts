import { otfLinTs, Recommender } from "afterclick";
import { type Stream, stream } from "../../simulation/stream.ts";
import { betaSampling } from "./beta-sampling.ts";
import { type DefaultModel, defaultModel, learnerOf } from "./default-model.ts";
import type { Learner } from "./learner.ts";
import { type Featurize, type Feedback, type Played, play } from "./play.ts";
import type { Shop } from "./shop.ts";
import { squareCb } from "./square-cb.ts";

interface Algorithm {
  readonly feedback: Feedback;
  /** Options of the default model's policy that differ from the defaults. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** `dimension`: that of the default model's features. */
  learner(model: DefaultModel, shop: Shop, random: Stream): Learner | Promise<Learner>;
}

const byDefault: Algorithm["learner"] = ({ recommender }) => learnerOf(recommender);

/** The worker's default before it corrected for delays: a quarter of the norm as deviation, for a constant width. */
async function linTs({ recommender }: DefaultModel, shop: Shop, random: Stream): Promise<Learner> {
  const { dimension } = recommender.policy;
  const policy = otfLinTs({ dimension, width: "theory", exploration: 0.25, widthCap: 1 });
  return learnerOf(await Recommender.create({ policy, window: { ms: shop.windowMs }, seed: random.below(2 ** 31) }));
}

const uniform: Algorithm["learner"] = (_, { products }, random) => ({
  choose: () => random.below(products.length),
  show() {},
  convert() {},
});

export const DEFAULT = "default";
/**
 * The default without knowledge of delays. Its search for changes of rates takes a late conversion for one, and without that search it
 * misses real ones: a comparison is with the better of the two.
 */
export const AS_ZERO = ["default, pending as zero, forgetting changes", "default, pending as zero, forgetting null"];
/** Algorithms that wait for windows: the default itself, and those of others. */
export const WAITING = ["default, waiting", "LinTS, waiting", "SquareCB, waiting", "Beta, waiting"];

/** Side by side on the same visitors. The default is the worker's, and so are the features of all algorithms that use any. */
export const algorithms: Readonly<Record<string, Algorithm>> = {
  [DEFAULT]: { feedback: "delivered", learner: byDefault },
  [AS_ZERO[0]]: { feedback: "as zero", learner: byDefault },
  [AS_ZERO[1]]: { feedback: "as zero", options: { forgetting: null }, learner: byDefault },
  [WAITING[0]]: { feedback: "waiting", learner: byDefault },
  "default, no delay": { feedback: "no delay", learner: byDefault },
  "LinTS, waiting": { feedback: "waiting", learner: linTs },
  "SquareCB, waiting": { feedback: "waiting", learner: (_, { products }, random) => squareCb(products.length, random) },
  "Beta, waiting": { feedback: "waiting", learner: (_, { products }, random) => betaSampling(products.length, random) },
  uniform: { feedback: "no delay", learner: uniform },
};

const featureless: Featurize = () => new Float64Array(0);

/** Plays an algorithm in a shop. `run` seeds its own random draws. */
export async function playIn(shop: Shop, name: string, run: number): Promise<Played> {
  const { feedback, options, learner } = algorithms[name];
  const model = await defaultModel(shop, run, { options });
  const playing = await learner(model, shop, stream("shop", name, run));
  const blind = name === "uniform" || name === "Beta, waiting";
  return play(playing, shop, blind ? featureless : model.featurize, feedback);
}

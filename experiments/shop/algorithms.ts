import { otfLinTs, Recommender } from "afterclick";
import { type Stream, stream } from "../../src/simulation/stream.ts";
import { bestsellers } from "./bestsellers.ts";
import { betaSampling } from "./beta-sampling.ts";
import { type DefaultModel, defaultModel, learnerOf } from "./default-model.ts";
import { knowingDelays } from "./known-delays.ts";
import type { Learner } from "./learner.ts";
import { type Featurize, type Feedback, type Played, play } from "./play.ts";
import type { Shop } from "./shop.ts";
import { squareCb } from "./square-cb.ts";

interface Algorithm {
  readonly feedback: Feedback;
  /** Options of the default model's policy that differ from the defaults. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Whether it sees no features. */
  readonly isBlind?: boolean;
  learner(model: DefaultModel, shop: Shop, random: Stream): Learner | Promise<Learner>;
}

const byDefault: Algorithm["learner"] = ({ recommender }) => learnerOf(recommender);

/** The worker's default before it corrected for delays: a quarter of the norm as deviation, for a constant width. */
export function linTs({ recommender }: DefaultModel, windowMs: number, seed: number): Promise<Recommender> {
  const { dimension } = recommender.policy;
  const policy = otfLinTs({ dimension, width: "theory", exploration: 0.25, widthCap: 1 });
  return Recommender.create({ policy, window: { ms: windowMs }, seed });
}

const byLinTs: Algorithm["learner"] = async (model, { windowMs }, random) => learnerOf(await linTs(model, windowMs, random.below(2 ** 31)));

const uniform: Algorithm["learner"] = (_, { products }, random) => ({
  choose: () => random.below(products.length),
  show() {},
  convert() {},
});

export const DEFAULT = "default";

const CHANGES = "default, pending as zero, forgetting changes";
/** The default without delays and without its search for changes. */
export const NULL = "default, pending as zero, forgetting null";
/** Half of the exploration of the default. */
const LESS = 0.11;
const NULL_LESS = `${NULL}, exploration ${LESS}`;

/** Algorithms of others that take a pending impression for a failure. */
const OTHERS_AS_ZERO = {
  linTs: "LinTS, pending as zero",
  squareCb: "SquareCB, pending as zero",
  squareCbGreedy: "SquareCB, pending as zero, gamma 10,000",
  beta: "Beta, pending as zero",
};

/**
 * Algorithms without knowledge of delays: the default, and those of others. The default's search for changes of rates takes a late conversion
 * for one, and without that search it misses real ones: a comparison is with the better of its settings.
 */
export const AS_ZERO = [CHANGES, NULL, NULL_LESS, ...Object.values(OTHERS_AS_ZERO)];

const WAITS = "default, waiting";
const WAITS_NULL = `${WAITS}, forgetting null`;
const WAITS_LESS = `${WAITS}, exploration ${LESS}`;
/** Algorithms that wait for windows: the default itself, and those of others. */
export const WAITING = [
  ...[WAITS, WAITS_NULL, WAITS_LESS],
  ...["LinTS, waiting", "SquareCB, waiting", "SquareCB, waiting, gamma 10,000", "Beta, waiting"],
];

/** The default, which knows the delays from the start: an oracle. */
export const KNOWN = "default, delays known";

/** Lists that a shop makes without a recommender. */
export const SHOPS_OWN = ["bestsellers", "bestsellers, epsilon 0.05"];

const byBeta: Algorithm["learner"] = (_, { products }, random) => betaSampling(products.length, random);

const squareCbOf =
  (gamma: number): Algorithm["learner"] =>
  (_, { products }, random) =>
    squareCb(products.length, gamma, random);

const bestsellersOf =
  (epsilon: number): Algorithm["learner"] =>
  (_, { products }, random) =>
    bestsellers(products.length, epsilon, random);

/** Side by side on the same visitors. The default is the worker's, and so are the features of all algorithms that use any. */
export const algorithms: Readonly<Record<string, Algorithm>> = {
  [DEFAULT]: { feedback: "delivered", learner: byDefault },
  [CHANGES]: { feedback: "as zero", learner: byDefault },
  [NULL]: { feedback: "as zero", options: { forgetting: null }, learner: byDefault },
  [NULL_LESS]: { feedback: "as zero", options: { forgetting: null, exploration: LESS }, learner: byDefault },
  [WAITS]: { feedback: "waiting", learner: byDefault },
  [WAITS_NULL]: { feedback: "waiting", options: { forgetting: null }, learner: byDefault },
  [WAITS_LESS]: { feedback: "waiting", options: { exploration: LESS }, learner: byDefault },
  [KNOWN]: {
    feedback: "delivered",
    learner: ({ recommender }, shop, random) => knowingDelays(recommender, shop, random),
  },
  "default, no delay": { feedback: "no delay", learner: byDefault },
  "LinTS, waiting": { feedback: "waiting", learner: byLinTs },
  "SquareCB, waiting": { feedback: "waiting", learner: squareCbOf(1000) },
  "SquareCB, waiting, gamma 10,000": { feedback: "waiting", learner: squareCbOf(10_000) },
  "Beta, waiting": { feedback: "waiting", isBlind: true, learner: byBeta },
  [OTHERS_AS_ZERO.linTs]: { feedback: "as zero", learner: byLinTs },
  [OTHERS_AS_ZERO.squareCb]: { feedback: "as zero", learner: squareCbOf(1000) },
  [OTHERS_AS_ZERO.squareCbGreedy]: { feedback: "as zero", learner: squareCbOf(10_000) },
  [OTHERS_AS_ZERO.beta]: { feedback: "as zero", isBlind: true, learner: byBeta },
  [SHOPS_OWN[0]]: { feedback: "waiting", isBlind: true, learner: bestsellersOf(0) },
  [SHOPS_OWN[1]]: { feedback: "waiting", isBlind: true, learner: bestsellersOf(0.05) },
  uniform: { feedback: "no delay", isBlind: true, learner: uniform },
};

const featureless: Featurize = () => new Float64Array(0);

/** Plays an algorithm in a shop. `run` seeds its own random draws. */
export async function playIn(shop: Shop, name: string, run: number): Promise<Played> {
  const { feedback, options, isBlind, learner } = algorithms[name];
  const model = await defaultModel(shop, run, { options });
  const playing = await learner(model, shop, stream("shop", name, run));
  return play(playing, shop, isBlind ? featureless : model.featurize, feedback);
}

import { bestsellers as bestsellersPolicy, otfLinTs, Recommender } from "afterclick";
import { type Stream, stream } from "../../src/simulation/stream.ts";
import { bestsellers } from "../rivals/bestsellers.ts";
import { betaSampling } from "../rivals/beta-sampling.ts";
import { greedy, regCb } from "../rivals/optimist.ts";
import { squareCb } from "../rivals/square-cb.ts";
import { type DefaultModel, defaultModel, learnerOf, type ModelOptions } from "./default-model.ts";
import { knowingDelays } from "./known-delays.ts";
import type { Learner } from "./learner.ts";
import { type Featurize, type Feedback, type Played, play } from "./play.ts";
import type { Shop } from "./shop.ts";

export interface Algorithm {
  readonly feedback: Feedback;
  /** Options of the default model's policy that differ from the defaults. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Options of its encoder that differ from the defaults. */
  readonly encoder?: ModelOptions["encoder"];
  /** Whether it sees no features. */
  readonly isBlind?: boolean;
  /** Whether it sees no features of visitors. */
  readonly isImpersonal?: boolean;
  learner(model: DefaultModel, shop: Shop, random: Stream): Learner | Promise<Learner>;
}

export const byDefault: Algorithm["learner"] = ({ recommender }, shop) => learnerOf(recommender, shop);

/** The worker's default before it corrected for delays: a quarter of the norm as deviation, for a constant width. */
export function linTs({ recommender }: DefaultModel, windowMs: number, seed: number): Promise<Recommender> {
  const { dimension } = recommender.policy;
  const policy = otfLinTs({ dimension, width: "theory", exploration: 0.25, widthCap: 1 });
  return Recommender.create({ policy, window: { ms: windowMs }, seed });
}

export const byLinTs: Algorithm["learner"] = async (model, { windowMs }, random) =>
  learnerOf(await linTs(model, windowMs, random.below(2 ** 31)));

export const uniform: Algorithm["learner"] = (_, { products }, random) => ({
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
  greedy: "greedy, pending as zero",
  regCb: "RegCB, pending as zero",
  regCbNarrow: "RegCB, pending as zero, slack 0.003",
};

/**
 * Algorithms without knowledge of delays: the default, and those of others. The default's search for changes of rates takes a late conversion
 * for one, and without that search it misses real ones: a comparison is with the better of its settings.
 */
export const AS_ZERO = [CHANGES, NULL, NULL_LESS, ...Object.values(OTHERS_AS_ZERO)];

/** The default without exploration. Draws decide only where nothing is known. */
export const UNEXPLORING = "default, greedy";
const NEARLY_NONE = 1e-6;

export const BETA_LAW = "Beta, delay law";

const WAITS = "default, waiting";
const WAITS_NULL = `${WAITS}, forgetting null`;
const WAITS_LESS = `${WAITS}, exploration ${LESS}`;
/** Algorithms that wait for windows: the default itself, and those of others. */
export const WAITING = [
  ...[WAITS, WAITS_NULL, WAITS_LESS],
  ...["LinTS, waiting", "SquareCB, waiting", "SquareCB, waiting, gamma 10,000", "Beta, waiting"],
  ...["greedy, waiting", "RegCB, waiting", "RegCB, waiting, slack 0.003"],
];

/** The default, which knows the delays from the start: an oracle. */
export const KNOWN = "default, delays known";

/** Lists that a shop makes without a recommender. The last one is of the policy `bestsellers`. */
export const SHOPS_OWN = ["bestsellers", "bestsellers, epsilon 0.05", "sales per view, epsilon 0.05"];

const byBetaLaw: Algorithm["learner"] = (_, { products, meanOrder, windowMs }, random) =>
  betaSampling(products.length, random, { windowMs, isPaid: meanOrder !== undefined });

export const byBeta: Algorithm["learner"] = (_, { products, meanOrder }, random) =>
  betaSampling(products.length, random, { isPaid: meanOrder !== undefined });

/** Tells a learner of amounts in mean orders, so that its options mean the same as where a conversion counts 1. */
function inOrders(learner: Learner, { meanOrder = 1 }: Shop): Learner {
  return {
    ...learner,
    convert: (id, at, reward = 1, previous = 0) => learner.convert(id, at, reward / meanOrder, previous / meanOrder),
  };
}

export const squareCbOf =
  (gamma: number): Algorithm["learner"] =>
  (_, shop, random) =>
    inOrders(squareCb(shop.products.length, gamma, random), shop);

export const greedyOf =
  (epsilon: number): Algorithm["learner"] =>
  (_, shop, random) =>
    inOrders(greedy(shop.products.length, random, epsilon), shop);

export const regCbOf =
  (slack: number): Algorithm["learner"] =>
  (_, shop, random) =>
    inOrders(regCb(shop.products.length, random, slack), shop);

export const bestsellersOf =
  (epsilon: number): Algorithm["learner"] =>
  (_, { products }, random) =>
    bestsellers(products.length, epsilon, random);

const bySalesPerView: Algorithm["learner"] = async (_, { products, windowMs }, random) => {
  const policy = bestsellersPolicy({ by: "rate", random: 0.05 });
  const recommender = await Recommender.create({ policy, window: { ms: windowMs }, seed: random.below(2 ** 31) });
  const candidates = Array.from(products.keys(), (index) => ({ id: String(index) }));
  return {
    choose: (_points, now, round) => recommender.policy.choose({ candidates, now, round })[0].index,
    show: (impressionId, { index, now }) => recommender.register({ impressionId, action: String(index), now }),
    convert: (impressionId, at) => void recommender.convert({ impressionId, reward: 1, at }),
  };
};

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
  [BETA_LAW]: { feedback: "delivered", isBlind: true, learner: byBetaLaw },
  "greedy, waiting": { feedback: "waiting", learner: greedyOf(0) },
  "RegCB, waiting": { feedback: "waiting", learner: regCbOf(0.01) },
  "RegCB, waiting, slack 0.003": { feedback: "waiting", learner: regCbOf(0.003) },
  [OTHERS_AS_ZERO.greedy]: { feedback: "as zero", learner: greedyOf(0) },
  [OTHERS_AS_ZERO.regCb]: { feedback: "as zero", learner: regCbOf(0.01) },
  [OTHERS_AS_ZERO.regCbNarrow]: { feedback: "as zero", learner: regCbOf(0.003) },
  [UNEXPLORING]: { feedback: "delivered", options: { exploration: NEARLY_NONE }, learner: byDefault },
  [SHOPS_OWN[0]]: { feedback: "waiting", isBlind: true, learner: bestsellersOf(0) },
  [SHOPS_OWN[1]]: { feedback: "waiting", isBlind: true, learner: bestsellersOf(0.05) },
  [SHOPS_OWN[2]]: { feedback: "delivered", isBlind: true, learner: bySalesPerView },
  uniform: { feedback: "no delay", isBlind: true, learner: uniform },
};

const featureless: Featurize = () => new Float64Array(0);

/** The default, told of no refund. */
export const gross: Algorithm = {
  feedback: "delivered",
  learner({ recommender }, shop) {
    const learner = learnerOf(recommender, shop);
    return { ...learner, convert: (id, at, reward, previous = 0) => previous === 0 && learner.convert(id, at, reward) };
  },
};

/** Plays one of the algorithms in a shop. `run` seeds its own random draws. */
export const playIn = (shop: Shop, name: string, run: number): Promise<Played> => playBy(algorithms[name], shop, name, run);

/** Plays an algorithm in a shop. `name` and `run` seed its own random draws. */
export async function playBy(algorithm: Algorithm, shop: Shop, name: string, run: number): Promise<Played> {
  const { feedback, options, encoder, isBlind, isImpersonal, learner } = algorithm;
  const seen = isImpersonal ? impersonal(shop) : shop;
  const model = await defaultModel(seen, run, { options, encoder });
  const playing = await learner(model, seen, stream("shop", name, run));
  return play(playing, seen, isBlind ? featureless : model.featurize, feedback);
}

/** The shop without the features of its visitors. */
function impersonal(shop: Shop): Shop {
  const known = new Set(shop.products.flatMap(({ features }) => Object.keys(features ?? {})));
  const numeric = Object.fromEntries(Object.entries(shop.numeric ?? {}).filter(([name]) => known.has(name)));
  return { ...shop, numeric, visit: (round) => ({ ...shop.visit(round), context: undefined }) };
}

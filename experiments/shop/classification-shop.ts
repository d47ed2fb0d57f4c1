import { stream } from "../../src/simulation/stream.ts";
import type { Shop, Timing, Visit } from "./shop.ts";
import { delaysOf } from "./timing.ts";

const FEATURES = 20;
const ARMS = 5;
/** Each class has two centres, so that no linear rule is right. */
const CENTRES = 2;
/** Standard deviation of the centres. The visitors of a centre have a deviation of 1 about it. */
const DISTANCE = 0.9;
const RANGE = { min: -3, max: 3 };
/** One block for each arm: the visitor's features and a constant. */
const BLOCK = FEATURES + 1;

/** Visitors of five classes with twenty numeric features. Only the arm of a visitor's class converts. */
export function classificationShop(
  { horizon, stepMs, disjoint }: { readonly horizon: number; readonly stepMs: number; readonly disjoint: boolean },
  timing: Timing,
  names: readonly (string | number)[],
): Shop {
  const draws = { world: stream(...names, "world"), visitor: stream(...names, "visitor"), delay: stream(...names, "delay") };
  const centres = Array.from({ length: ARMS * CENTRES }, () => Array.from({ length: FEATURES }, () => DISTANCE * draws.world.normal()));
  return {
    horizon,
    stepMs,
    ...timing,
    products: Array.from({ length: ARMS }, (_, arm) => ({ id: `arm-${arm}` })),
    numeric: Object.fromEntries(Array.from({ length: FEATURES }, (_, i) => [`x${i}`, RANGE])),
    dimension: disjoint ? ARMS * BLOCK : undefined,
    visit(): Visit {
      const label = draws.visitor.below(ARMS);
      const features = centres[label + ARMS * draws.visitor.below(CENTRES)].map((each) => each + draws.visitor.normal());
      return {
        context: Object.fromEntries(features.map((each, i) => [`x${i}`, each])),
        points: disjoint ? blocks(features) : undefined,
        rates: Array.from({ length: ARMS }, (_, arm) => Number(arm === label)),
        luck: 0,
        delaysMs: delaysOf(timing, draws.delay),
      };
    },
  };
}

/** A vector per arm in which its own block has the features, inside the unit ball, and the other blocks are 0. */
function blocks(features: readonly number[]): Float64Array {
  const own = [1, ...features.map((each) => Math.min(Math.max(each / RANGE.max, -1), 1))].map((each) => each / Math.sqrt(BLOCK));
  const points = new Float64Array(ARMS * ARMS * BLOCK);
  for (let arm = 0; arm < ARMS; arm++) points.set(own, arm * (ARMS + 1) * BLOCK);
  return points;
}

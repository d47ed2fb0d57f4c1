// Paper: Foster and Rakhlin, Beyond UCB: optimal and efficient contextual bandits with regression oracles, ICML 2020, Algorithm 1.
// The regression is a ridge regression of conversions on features. The learning rate grows as the root of the round, as in Vowpal Wabbit.
import type { Stream } from "../../src/simulation/stream.ts";
import type { Learner } from "../shop/learner.ts";
import { matrixOf, RIDGE } from "./ridge.ts";

/** Impressions between two passes over all coefficients. */
const PASS = 64;

/**
 * Chooses a product with a chance that falls with its distance to the greatest expected rate.
 *
 * `gamma`: the learning rate after one round. Of 10 (Vowpal Wabbit's), 100, 1,000 and 10,000 the last two were best on runs 1,000 and up of
 * the shop suite.
 */
export function squareCb(products: number, gamma: number, random: Stream): Learner {
  let regression: Regression | undefined;
  const features = new Map<string, Float64Array>();
  return {
    choose(given, _, round) {
      const points = matrixOf(given);
      regression ??= new Regression(points.length / products);
      return draw(regression.predict(points), gamma * Math.sqrt(round), random());
    },
    show(id, shown) {
      regression?.append(shown.features);
      features.set(id, shown.features);
    },
    convert(id, _, reward = 1, previous = 0) {
      regression?.reward(features.get(id) as Float64Array, reward - previous);
    },
  };
}

/** Inverse gap weighting: each product but the best has the chance 1 / (K + gamma gap). */
function draw(rates: Float64Array, gamma: number, lot: number): number {
  const best = rates.indexOf(Math.max(...rates));
  let left = lot;
  for (let index = 0; index < rates.length; index++) {
    if (index === best) continue;
    left -= 1 / (rates.length + gamma * (rates[best] - rates[index]));
    if (left < 0) return index;
  }
  return best;
}

/** Ridge regression whose coefficients follow the data by Gauss-Seidel steps. **Cost:** O(d) for each nonzero feature. */
export class Regression {
  readonly #dimension: number;
  /** V with its ridge: d x d. */
  readonly #gram: Float64Array;
  readonly #moment: Float64Array;
  readonly #coefficients: Float64Array;
  #impressions = 0;

  constructor(dimension: number) {
    this.#dimension = dimension;
    this.#gram = new Float64Array(dimension * dimension);
    for (let i = 0; i < dimension; i++) this.#gram[i * dimension + i] = RIDGE;
    this.#moment = new Float64Array(dimension);
    this.#coefficients = new Float64Array(dimension);
  }

  append(features: Float64Array): void {
    const places = nonzero(features);
    for (const i of places) for (const j of places) this.#gram[i * this.#dimension + j] += features[i] * features[j];
    this.#step(places);
    if (++this.#impressions % PASS === 0) this.#step(features.keys());
  }

  /** Adds to the reward of an impression that was appended. */
  reward(features: Float64Array, amount: number): void {
    const places = nonzero(features);
    for (const i of places) this.#moment[i] += amount * features[i];
    this.#step(places);
  }

  #step(places: Iterable<number>): void {
    const [d, gram, coefficients] = [this.#dimension, this.#gram, this.#coefficients];
    for (const i of places) {
      let residual = this.#moment[i];
      for (let j = 0, at = i * d; j < d; j++, at++) residual -= gram[at] * coefficients[j];
      coefficients[i] += residual / gram[i * d + i];
    }
  }

  /** `points`: k x d, row-major. */
  predict(points: Float64Array): Float64Array {
    const d = this.#dimension;
    return Float64Array.from({ length: points.length / d }, (_, row) => {
      let sum = 0;
      for (let i = 0, at = row * d; i < d; i++, at++) sum += points[at] * this.#coefficients[i];
      return sum;
    });
  }
}

function nonzero(features: Float64Array): number[] {
  const places: number[] = [];
  for (let i = 0; i < features.length; i++) if (features[i] !== 0) places.push(i);
  return places;
}

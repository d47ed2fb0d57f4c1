import type { Points } from "afterclick/research";

/** Default ridge of the SDK's linear policies. */
export const RIDGE = 0.1;

/** A matrix of features: products x dimension, row-major. */
export const matrixOf = (points: Points): Float64Array => (points instanceof Float64Array ? points : points.matrix());

/**
 * Ridge regression of rewards on features, with the inverse of its matrix. **Cost:** O(d^2) for an impression, O(d) for a reward, and the
 * square of the number of nonzero features for a deviation.
 */
export class Ridge {
  readonly #dimension: number;
  readonly #inverse: Float64Array;
  readonly #coefficients: Float64Array;

  constructor(dimension: number, ridge = RIDGE) {
    this.#dimension = dimension;
    this.#inverse = new Float64Array(dimension * dimension);
    for (let i = 0; i < dimension; i++) this.#inverse[i * dimension + i] = 1 / ridge;
    this.#coefficients = new Float64Array(dimension);
  }

  /** An impression without a reward (Sherman and Morrison). */
  append(features: Float64Array): void {
    const [d, inverse, coefficients] = [this.#dimension, this.#inverse, this.#coefficients];
    const gain = this.#times(features);
    const scale = 1 + dot(features, gain);
    const error = dot(features, coefficients) / scale;
    for (let i = 0; i < d; i++) {
      if (gain[i] === 0) continue;
      coefficients[i] -= error * gain[i];
      const factor = gain[i] / scale;
      for (let j = 0, at = i * d; j < d; j++, at++) inverse[at] -= factor * gain[j];
    }
  }

  /** Adds to the reward of an impression that was appended. */
  reward(features: Float64Array, amount: number): void {
    const gain = this.#times(features);
    for (let i = 0; i < gain.length; i++) this.#coefficients[i] += amount * gain[i];
  }

  mean(features: Float64Array): number {
    return dot(features, this.#coefficients);
  }

  /** The norm of features in the inverse. */
  deviation(features: Float64Array): number {
    const d = this.#dimension;
    const places = Array.from(features.keys()).filter((i) => features[i] !== 0);
    let sum = 0;
    for (const i of places) for (const j of places) sum += features[i] * features[j] * this.#inverse[i * d + j];
    return Math.sqrt(Math.max(sum, 0));
  }

  #times(features: Float64Array): Float64Array {
    const d = this.#dimension;
    const product = new Float64Array(d);
    for (let i = 0; i < d; i++) {
      if (features[i] === 0) continue;
      for (let j = 0, at = i * d; j < d; j++, at++) product[j] += features[i] * this.#inverse[at];
    }
    return product;
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

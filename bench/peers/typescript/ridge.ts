import type { RidgePosterior } from "../../inputs.ts";
import { rowStart, solve, solveTransposed, update } from "./factor.ts";

/** A ridge posterior in plain TypeScript, with the core's triangular algorithm and a ridge of 1. */
export class Ridge implements RidgePosterior {
  readonly means: Float64Array;
  readonly norms: Float64Array;
  readonly #dimension: number;
  readonly #features: Float64Array;
  readonly #factor: Float64Array;
  readonly #moment: Float64Array;
  readonly #theta: Float64Array;
  readonly #vector: Float64Array;
  readonly #rotations: Float64Array;
  #fresh = true;

  constructor(dimension: number, features: Float64Array, k: number) {
    this.means = new Float64Array(k);
    this.norms = new Float64Array(k);
    this.#dimension = dimension;
    this.#features = features;
    this.#factor = new Float64Array(rowStart(dimension));
    for (let i = 0; i < dimension; i++) this.#factor[rowStart(i) + i] = 1;
    this.#moment = new Float64Array(dimension);
    this.#theta = new Float64Array(dimension);
    this.#vector = new Float64Array(dimension);
    this.#rotations = new Float64Array(2 * dimension);
  }

  append(row: number): void {
    const d = this.#dimension;
    update(this.#factor, d, this.#features.subarray(row * d, (row + 1) * d), this.#rotations);
    this.#fresh = false;
  }

  reward(row: number, reward: number): void {
    const d = this.#dimension;
    for (let j = 0; j < d; j++) this.#moment[j] += reward * this.#features[row * d + j];
    this.#fresh = false;
  }

  score(first: number, count: number): void {
    const d = this.#dimension;
    const vector = this.#vector;
    const theta = this.#estimate();
    for (let c = 0; c < count; c++) {
      const start = (first + c) * d;
      let mean = 0;
      for (let j = 0; j < d; j++) {
        vector[j] = this.#features[start + j];
        mean += theta[j] * vector[j];
      }
      solve(this.#factor, 0, d, vector);
      let square = 0;
      for (let j = 0; j < d; j++) square += vector[j] * vector[j];
      this.means[c] = mean;
      this.norms[c] = Math.sqrt(square);
    }
  }

  /** Draws theta + L^-T z in the place of `normals` z. */
  sample(normals: Float64Array): Float64Array {
    const theta = this.#estimate();
    solveTransposed(this.#factor, this.#dimension, normals);
    for (let j = 0; j < theta.length; j++) normals[j] += theta[j];
    return normals;
  }

  #estimate(): Float64Array {
    const theta = this.#theta;
    if (!this.#fresh) {
      theta.set(this.#moment);
      solve(this.#factor, 0, this.#dimension, theta);
      solveTransposed(this.#factor, this.#dimension, theta);
      this.#fresh = true;
    }
    return theta;
  }
}

import { rowStart, solve } from "./factor.ts";

/** Gaussian-process regression in plain TypeScript. The kernel is a squared exponential of variance 1; every point has its own row. */
export class GaussianProcess {
  size = 0;
  readonly points: Float64Array;
  readonly factor: Float64Array;
  readonly #dimension: number;
  readonly #scale: number;
  readonly #noiseVariance: number;
  readonly #rewards: Float64Array;
  readonly #whitened: Float64Array;
  readonly #column: Float64Array;
  #whitenedRows = 0;

  constructor(options: {
    readonly dimension: number;
    readonly lengthscale: number;
    readonly noiseVariance: number;
    readonly capacity: number;
  }) {
    this.#dimension = options.dimension;
    this.#scale = 1 / options.lengthscale;
    this.#noiseVariance = options.noiseVariance;
    this.points = new Float64Array(options.capacity * options.dimension);
    this.factor = new Float64Array(rowStart(options.capacity));
    this.#rewards = new Float64Array(options.capacity);
    this.#whitened = new Float64Array(options.capacity);
    this.#column = new Float64Array(options.capacity);
  }

  /** Kernel value of row a of `xs` and row b of `ys`. */
  kernel(xs: Float64Array, a: number, ys: Float64Array, b: number): number {
    const d = this.#dimension;
    let square = 0;
    for (let j = 0; j < d; j++) {
      const difference = (xs[a * d + j] - ys[b * d + j]) * this.#scale;
      square += difference * difference;
    }
    return Math.exp(-0.5 * square);
  }

  /** Adds a point with the reward 0. */
  append(x: Float64Array): void {
    const n = this.size++;
    this.points.set(x, n * this.#dimension);
    const row = this.factor.subarray(rowStart(n), rowStart(n + 1));
    for (let i = 0; i < n; i++) row[i] = this.kernel(this.points, i, this.points, n);
    solve(this.factor, 0, n, row);
    let pivot = 1 + this.#noiseVariance;
    for (let j = 0; j < n; j++) pivot -= row[j] * row[j];
    row[n] = Math.sqrt(pivot);
  }

  reward(row: number, reward: number): void {
    this.#rewards[row] = reward;
    this.#whitenedRows = Math.min(this.#whitenedRows, row);
  }

  /** L^-1 rewards. */
  whitened(): Float64Array {
    const z = this.#whitened;
    for (let i = this.#whitenedRows; i < this.size; i++) z[i] = this.#rewards[i];
    solve(this.factor, this.#whitenedRows, this.size, z);
    this.#whitenedRows = this.size;
    return z;
  }

  /** Posterior means, followed by variances, at `xs` (k x d). */
  moments(xs: Float64Array): Float64Array {
    const n = this.size;
    const k = xs.length / this.#dimension;
    const moments = new Float64Array(2 * k);
    const column = this.#column;
    const z = this.whitened();
    for (let c = 0; c < k; c++) {
      for (let i = 0; i < n; i++) column[i] = this.kernel(this.points, i, xs, c);
      solve(this.factor, 0, n, column);
      let mean = 0;
      let variance = 1;
      for (let i = 0; i < n; i++) {
        mean += z[i] * column[i];
        variance -= column[i] * column[i];
      }
      moments[c] = mean;
      moments[k + c] = Math.max(variance, 0);
    }
    return moments;
  }
}

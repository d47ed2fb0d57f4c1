import type { Core, RidgeHandle } from "../core/core.ts";
import type { SnapshotReader, SnapshotWriter } from "../snapshot.ts";
import type { AppendedPoint, Moments, Posterior } from "./posterior.ts";

/**
 * Ridge regression of rewards on features, theta = V^-1 B with V = ridge I + sum x x^T and B = sum reward x.
 *
 * An impression changes V, a conversion changes B: each is a sum, so neither depends on the order of the other.
 * **Source:** Vernade et al. 2020, section 3.
 */
export class Ridge implements Posterior {
  readonly dimension: number;
  readonly #core: Core;
  readonly #handle: RidgeHandle;
  /** Pairs of draws that the core keeps for the present V. */
  #pairs = 0;

  constructor(core: Core, options: { readonly dimension: number; readonly ridge: number }) {
    this.dimension = options.dimension;
    this.#core = core;
    this.#handle = core.ridgeCreate(options.dimension, options.ridge);
  }

  /** Adds the features of one impression to V. **Cost:** O(d^2). */
  append(features: Float64Array): number {
    this.#core.ridgeAppend(this.#handle, features);
    this.#pairs = 0;
    return 0;
  }

  /** Moves B by the difference of the rewards times the features. **Cost:** O(d). */
  reward({ features }: AppendedPoint, reward: number, previous: number): void {
    this.#core.ridgeReward(this.#handle, features, reward - previous);
  }

  /** theta: d. **Cost:** O(d^2), once per change. */
  estimate(): Float64Array {
    return this.#core.ridgeEstimate(this.#handle);
  }

  /** The means <x, theta> and the norms |x| in V^-1, the standard deviations for unit noise. **Cost:** O(k d^2). */
  moments(points: Float64Array): Moments {
    const { mean, width } = this.#core.ridgeScore(this.#handle, points);
    return { mean, deviation: width };
  }

  /** Scores <x, theta + scale L^-T z> of `points` (k x d) with z = `normals` (d) and L L^T = V. **Cost:** O(d^2 + k d). */
  sampleScores(points: Float64Array, normals: Float64Array, scale: number): Float64Array {
    return this.#core.ridgeSampleScores(this.#handle, points, normals, scale);
  }

  /**
   * The same for `samples` parameters, in opposite pairs: samples x k. What does not depend on points, L^-T z, is kept until V
   * changes, so `normals` has to give the same numbers until then, and fewer as the first of many.
   * **Cost:** O(samples k d), and O(samples d^2) once.
   */
  drawScores(points: Float64Array, normals: (count: number) => Float64Array, scale: number, samples: number): Float64Array {
    const pairs = Math.ceil(samples / 2);
    if (this.#pairs < pairs) {
      this.#core.ridgeDraw(this.#handle, normals(pairs * this.dimension));
      this.#pairs = pairs;
    }
    return this.#core.ridgeDrawScores(this.#handle, points, scale, samples);
  }

  /** Rebuilds L from V. **Cost:** O(d^3). */
  refactor(): void {
    this.#core.ridgeRefactor(this.#handle);
    this.#pairs = 0;
  }

  /** Has other sums from now on. **Cost:** O(d^3). */
  replace(gram: Float64Array, moment: Float64Array): void {
    this.#core.ridgeLoad(this.#handle, { gram, moment, factor: new Float64Array(gram.length).fill(1) });
    this.refactor();
  }

  save(writer: SnapshotWriter): void {
    const { gram, moment, factor } = this.#core.ridgeState(this.#handle);
    writer.numbers(gram);
    writer.numbers(moment);
    writer.numbers(factor);
  }

  load(reader: SnapshotReader): void {
    const triangle = (this.dimension * (this.dimension + 1)) / 2;
    const gram = reader.numbers(triangle);
    const moment = reader.numbers(this.dimension);
    this.#core.ridgeLoad(this.#handle, { gram, moment, factor: reader.numbers(triangle) });
    this.#pairs = 0;
  }

  /** The sums alone: V without its ridge (packed lower triangle), then B. */
  statistics(): Float64Array {
    const { gram, moment } = this.#core.ridgeState(this.#handle);
    const sums = new Float64Array(gram.length + moment.length);
    sums.set(gram);
    sums.set(moment, gram.length);
    return sums;
  }
}

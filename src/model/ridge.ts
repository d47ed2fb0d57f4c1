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
  /** The moments that were asked for last. */
  #moments: Moments = { mean: new Float64Array(0), deviation: new Float64Array(0) };
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

  /**
   * The means <x, theta> and the norms |x| in V^-1, the standard deviations for unit noise. They hold until the next call.
   * **Cost:** O(k d^2).
   */
  moments(points: Float64Array): Moments {
    const count = points.length / this.dimension;
    if (this.#moments.mean.length !== count) this.#moments = { mean: new Float64Array(count), deviation: new Float64Array(count) };
    this.#core.ridgeScore(this.#handle, points, this.#moments.mean, this.#moments.deviation);
    return this.#moments;
  }

  deviation(features: Float64Array): number {
    return this.#core.ridgeWidth(this.#handle, features);
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

  save(writer: SnapshotWriter): void {
    const { gram, moment, factor } = this.#core.ridgeState(this.#handle);
    writer.numbers(gram);
    writer.numbers(moment);
    writer.numbers(factor);
  }

  load(reader: SnapshotReader): void {
    const triangle = (this.dimension * (this.dimension + 1)) / 2;
    const gram = reader.view(triangle);
    const moment = reader.view(this.dimension);
    this.#core.ridgeLoad(this.#handle, { gram, moment, factor: reader.view(triangle) });
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

// Solves the mean of corrected sums when somebody reads it, and no sooner.

import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { AppendedPoint } from "../posterior.ts";
import type { MaturedSums, Terms } from "./delay-correction.ts";
import type { Ridge } from "./ridge.ts";

/** A regression to solve, the latent value that it starts from, and the standard deviation of a reward. */
type Regression = Pick<MaturedSums, "gram" | "moment"> & { readonly spread: number; readonly level: number };

/** Growth of impressions from one solution to the next, at intervals above 1. */
const GROWTH = 1 / 64;

/**
 * The coefficients of a mean that comes from other sums than the posterior, which gives the variance.
 *
 * Solving them costs O(d^3). At interval 1 a change makes them stale and the next reader solves them, so they depend on the sums
 * alone. At a greater interval they are solved after that many impressions, and later whenever impressions have grown by a
 * sixty-fourth. In between, impressions and rewards move them as in any ridge regression, in which an impression counts wholly at once.
 */
export class CorrectedMean {
  readonly #posterior: Ridge;
  readonly #solved: Ridge;
  readonly #interval: number;
  readonly #regression: () => Regression;
  /** Impressions at the last solution. */
  #solvedAt = 0;
  #spread: number;
  #level: number;
  /** Theta of the mean, and theta minus that of the posterior: d each. Undefined after a change. */
  #derived: { readonly coefficients: Float64Array; readonly shift: Float64Array } | undefined;
  /** The last shift, whose array is used again. */
  #shift: Float64Array | undefined;
  /** Theta of the mean from a publication, which has no sums to solve. */
  #published: Float64Array | undefined;

  /** `solved`: an empty ridge, which the mean owns. `regression`: of the present sums. `none`: what it says of no impressions. */
  constructor(posterior: Ridge, solved: Ridge, interval: number, regression: () => Regression, none: Pick<Regression, "spread" | "level">) {
    this.#posterior = posterior;
    this.#solved = solved;
    this.#interval = interval;
    this.#regression = regression;
    ({ spread: this.#spread, level: this.#level } = none);
  }

  /** Call it when the posterior has counted an impression. `replaced`: whether all sums were replaced as well. */
  appended({ features, weighted, offsets }: Terms, impressions: number, replaced: boolean): void {
    this.#derived = undefined;
    if (this.#interval === 1) return;
    if (replaced || impressions >= this.#solvedAt + Math.max(this.#interval, this.#solvedAt * GROWTH)) {
      this.#solve();
      this.#solvedAt = impressions;
      return;
    }
    this.#solved.append(weighted);
    if (offsets.length > 0) this.#solved.reward({ features: offsets }, 1, 0);
    if (this.#level !== 0) this.#solved.reward({ features }, 0, this.#level);
  }

  /** Call it when the posterior has replaced a reward. */
  reward(point: AppendedPoint, reward: number, previous: number): void {
    this.#solved.reward(point, reward, previous);
    this.#derived = undefined;
  }

  /** Call it when the sums have changed in another way. */
  changed(): void {
    this.#derived = undefined;
  }

  #solve(): void {
    const { gram, moment, spread, level } = this.#regression();
    this.#solved.replace(gram, moment);
    this.#spread = spread;
    this.#level = level;
  }

  #derive() {
    if (!this.#derived) {
      if (this.#interval === 1 && !this.#published) this.#solve();
      const coefficients = this.#published ?? this.#solved.estimate();
      const shift = this.#posterior.estimate(this.#shift);
      for (let i = 0; i < shift.length; i++) shift[i] = coefficients[i] - shift[i];
      this.#shift = shift;
      this.#derived = { coefficients, shift };
    }
    return this.#derived;
  }

  /** Theta of the mean: d. */
  get coefficients(): Float64Array {
    return this.#derive().coefficients;
  }

  /** Theta of the mean minus that of the posterior: d. Valid until the next change. */
  get shift(): Float64Array {
    return this.#derive().shift;
  }

  /** The mean of a point without features. */
  get level(): number {
    this.#derive();
    return this.#level;
  }

  /** Standard deviation of a reward. The posterior's deviations are in units of it. */
  get spread(): number {
    this.#derive();
    return this.#spread;
  }

  /** Turns scores by the posterior's mean into scores by this mean, in place. **Shapes:** k, of `points` k x d. */
  correct(scores: Float64Array, points: Float64Array): Float64Array {
    const { shift } = this.#derive();
    const d = shift.length;
    for (let row = 0; row < scores.length; row++) {
      let sum = 0;
      for (let i = 0, at = row * d; i < d; i++) if (points[at + i] !== 0) sum += shift[i] * points[at + i];
      scores[row] += this.#level + sum;
    }
    return scores;
  }

  /** Solves the mean by the present sums alone, after this many impressions. */
  refactor(impressions: number): void {
    this.#derived = undefined;
    this.#solve();
    this.#solvedAt = impressions;
  }

  /** Writes nothing at interval 1: the mean then follows from the sums. */
  save(writer: SnapshotWriter): void {
    if (this.#interval === 1) return;
    writer.numbers([this.#solvedAt, this.#spread, this.#level]);
    this.#solved.save(writer);
  }

  load(reader: SnapshotReader): void {
    this.#derived = undefined;
    if (this.#interval === 1) return;
    [this.#solvedAt, this.#spread, this.#level] = reader.numbers(3);
    if (this.#spread < 0) throw malformed();
    this.#solved.load(reader);
  }

  publish(writer: SnapshotWriter): void {
    const { coefficients } = this.#derive();
    writer.numbers([this.#spread, this.#level], coefficients);
  }

  loadPublished(reader: SnapshotReader): void {
    [this.#spread, this.#level] = reader.numbers(2);
    if (this.#spread < 0) throw malformed();
    this.#published = reader.numbers(this.#posterior.dimension);
    this.#derived = undefined;
  }
}

import { malformed, type SnapshotReader, type SnapshotWriter } from "../../snapshot.ts";
import type { AppendedPoint } from "../posterior.ts";
import type { MaturedSums } from "./delay-correction.ts";
import type { Ridge } from "./ridge.ts";
import { triangle } from "./vector.ts";

/** A regression to solve, and the standard deviation of a reward. */
type Regression = Pick<MaturedSums, "gram" | "moment"> & { readonly spread: number };

/**
 * The coefficients of a mean that comes from other sums than the posterior, which gives the variance.
 *
 * Solving them costs O(d^3). At interval 1 a change makes them stale and the next reader solves them, so they depend on the sums
 * alone. At a greater interval they are solved after that many impressions. In between, a reward moves them as in any ridge
 * regression.
 */
export class CorrectedMean {
  readonly #posterior: Ridge;
  readonly #solved: Ridge;
  readonly #interval: number;
  readonly #regression: () => Regression;
  /** Impressions at the last solution. */
  #solvedAt = 0;
  #spread: number;
  /** Coefficients minus those of the posterior: d. Undefined after a change. */
  #shift: Float64Array | undefined;

  /** `solved`: an empty ridge, which the mean owns. `spread`: used until the first solution. */
  constructor(posterior: Ridge, solved: Ridge, interval: number, spread: number, regression: () => Regression) {
    this.#posterior = posterior;
    this.#solved = solved;
    this.#interval = interval;
    this.#spread = spread;
    this.#regression = regression;
  }

  /** Call it when the posterior has counted an impression. `halved`: whether all sums were halved as well. */
  appended(impressions: number, halved: boolean): void {
    this.#shift = undefined;
    if (this.#interval === 1 || !(halved || impressions >= this.#solvedAt + this.#interval)) return;
    this.#solve();
    this.#solvedAt = impressions;
  }

  /** Call it when the posterior has replaced a reward. */
  reward(point: AppendedPoint, reward: number, previous: number): void {
    this.#solved.reward(point, reward, previous);
    this.#shift = undefined;
  }

  #solve(): void {
    const { gram, moment, spread } = this.#regression();
    this.#solved.replace(gram, moment);
    this.#spread = spread;
  }

  #derive(): Float64Array {
    if (!this.#shift) {
      if (this.#interval === 1) this.#solve();
      const plain = this.#posterior.estimate();
      this.#shift = this.#solved.estimate().map((each, i) => each - plain[i]);
    }
    return this.#shift;
  }

  /** Theta of the mean: d. */
  get coefficients(): Float64Array {
    this.#derive();
    return this.#solved.estimate();
  }

  /** Standard deviation of a reward. The posterior's deviations are in units of it. */
  get spread(): number {
    this.#derive();
    return this.#spread;
  }

  /** Turns scores by the posterior's mean into scores by this mean, in place. **Shapes:** k, of `points` k x d. */
  correct(scores: Float64Array, points: Float64Array): Float64Array {
    const shift = this.#derive();
    const d = shift.length;
    for (let row = 0; row < scores.length; row++) {
      let sum = 0;
      for (let i = 0, at = row * d; i < d; i++) sum += shift[i] * points[at + i];
      scores[row] += sum;
    }
    return scores;
  }

  refactor(): void {
    this.#solved.refactor();
    this.#shift = undefined;
  }

  /** Writes nothing at interval 1: the mean then follows from the sums. */
  save(writer: SnapshotWriter): void {
    if (this.#interval === 1) return;
    writer.numbers([this.#solvedAt, this.#spread], this.#solved.statistics());
  }

  load(reader: SnapshotReader): void {
    this.#shift = undefined;
    if (this.#interval === 1) return;
    [this.#solvedAt, this.#spread] = reader.numbers(2);
    if (this.#spread < 0) throw malformed();
    const end = triangle(this.#posterior.dimension);
    const sums = reader.numbers(end + this.#posterior.dimension);
    this.#solved.replace(sums.subarray(0, end), sums.subarray(end));
  }
}

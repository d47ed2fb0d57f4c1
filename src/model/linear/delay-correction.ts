import type { SnapshotReader, SnapshotWriter } from "../../snapshot.ts";
import type { DelayCurve } from "../delay/delays.ts";
import { UnmaturedSums } from "../delay/unmatured-sums.ts";
import type { Moment, Window } from "../delay/window.ts";
import type { AppendedImpression, ReportedDelay } from "../posterior.ts";
import { addSquare, triangle } from "./vector.ts";

/** Contribution of one impression to the sums. */
export interface Terms {
  /** The features times the weight of the impression. */
  readonly features: Float64Array;
  /** The vector whose square V adds up: the features times the root of the weight. */
  readonly weighted: Float64Array;
  /** Vector that is added to the moment as far as the impression has matured: d, or empty. */
  readonly offsets: Float64Array;
}

/** Sums in which an impression weighs w: the share F(s) that has matured at its age s, times its weight after forgetting. */
export interface MaturedSums {
  /** sum w x x^T with x as weighted: packed lower triangle of d x d. */
  readonly gram: Float64Array;
  /** sum reward x: d. Rewards arrive as they mature, so they need no F(s). */
  readonly moment: Float64Array;
  /** sum w x, each times its weight in V: d. */
  readonly level: Float64Array;
  /** sum w offsets: d, or empty. */
  readonly offsets: Float64Array;
  /** sum w. */
  readonly count: number;
  /** Sum of rewards, and of their squares. */
  readonly rewards: number;
  readonly squares: number;
}

/**
 * Corrects the sums of a ridge regression for conversions that have not come yet.
 *
 * At age s an impression has brought the share F(s) of its conversions. F is the distribution of delays, estimated from the
 * conversions so far. With V_F = sum F(s) x x^T and B = sum reward x, the coefficients V_F^-1 B are the regression of rewards on
 * F(s) x in which an impression weighs 1 / F(s). The correction subtracts the unmatured part of V: sum (1 - F(s)) x x^T.
 *
 * Cohorts of age keep its sums (see `UnmaturedSums`), so memory is bounded: O(d^2) for each of at most five cohorts in a window.
 */
export class DelayCorrection {
  readonly #dimension: number;
  readonly #unmatured: UnmaturedSums;
  /** Sums over all impressions, matured or not: their number, then their features (d), then their offsets (d, or none). */
  #totals: Float64Array;
  /** Sum of rewards, and of their squares. */
  rewards = 0;
  squares = 0;

  /** `offsets`: how many each impression has. */
  constructor(window: Window, dimension: number, offsets: number) {
    this.#dimension = dimension;
    this.#totals = new Float64Array(1 + dimension + offsets);
    this.#unmatured = new UnmaturedSums(window, triangle(dimension) + this.#totals.length);
  }

  add({ features, weighted, offsets }: Terms, moment: Moment): void {
    const own = new Float64Array(this.#totals.length);
    own[0] = 1;
    own.set(features, 1);
    own.set(offsets, 1 + features.length);
    const sums = this.#unmatured.add(moment);
    if (sums) addSquare(sums, weighted);
    const start = triangle(this.#dimension);
    for (let i = 0; i < own.length; i++) {
      this.#totals[i] += own[i];
      if (sums) sums[start + i] += own[i];
    }
  }

  /** Replaces the reward `previous` of an impression that weighs `weight`. */
  observe(impression: AppendedImpression, weight: number, reward: number, previous?: number, delay?: ReportedDelay): void {
    const before = previous ?? 0;
    this.rewards += weight * (reward - before);
    this.squares += weight * (reward * reward - before * before);
    this.#unmatured.observe(impression, previous, delay);
  }

  /** The matured sums. `statistics`: V without its ridge, then B, over all impressions. **Cost:** O(cohorts d^2). */
  corrected(statistics: Float64Array): MaturedSums {
    const end = triangle(this.#dimension);
    const missing = this.#unmatured.missing();
    const rest = this.#totals.map((each, i) => each - missing[end + i]);
    return {
      gram: statistics.subarray(0, end).map((each, i) => each - missing[i]),
      moment: statistics.subarray(end),
      level: rest.subarray(1, 1 + this.#dimension),
      offsets: rest.subarray(1 + this.#dimension),
      count: Math.max(rest[0], 0),
      rewards: this.rewards,
      squares: this.squares,
    };
  }

  /** Standard error of the matured share of impressions, relative to that share. */
  maturityError(): number {
    return this.#unmatured.maturityError(this.#totals[0]);
  }

  /** The distribution of delays so far. */
  curve(): DelayCurve {
    return this.#unmatured.curve();
  }

  /** Sum of the offsets of all impressions, matured or not: d, or empty. */
  get offsets(): Float64Array {
    return this.#totals.subarray(1 + this.#dimension);
  }

  halve(): void {
    this.#unmatured.halve();
    this.#totals = this.#totals.map((each) => each / 2);
    this.rewards /= 2;
    this.squares /= 2;
  }

  /** Writes all but the two sums of rewards, which `MaturingRidge` saves. */
  save(writer: SnapshotWriter): void {
    writer.numbers(this.#totals);
    this.#unmatured.save(writer);
  }

  load(reader: SnapshotReader): void {
    this.#totals = reader.numbers(this.#totals.length);
    this.#unmatured.load(reader);
  }
}

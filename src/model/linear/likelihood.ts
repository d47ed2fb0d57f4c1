import type { Core } from "../../core/core.ts";
import type { SnapshotReader, SnapshotWriter } from "../../values/snapshot.ts";
import { placesOf } from "../exact-sums.ts";
import type { Moments } from "../posterior.ts";
import type { MaturedSums, Terms } from "./delay-correction.ts";
import { logistic } from "./logistic.ts";
import { product } from "./vector.ts";

/** How the expected reward follows from the latent value <x, theta>, and what an impression adds to the regression for theta. */
export interface Likelihood {
  /** Variance of a reward before there are any rewards. */
  readonly rewardVariance: number;
  /** Variance of the regression's noise. Absent: it is estimated. */
  readonly noiseVariance?: number;
  /** Offsets that an impression has: d or 0. */
  readonly offsets: number;
  /** Contribution of an impression. `impressions`: how many came before it. `estimate` computes the present mean. */
  terms(features: Float64Array, impressions: number, estimate: () => LatentMean): Terms;
  /** The reward as it counts. Absent: as it is. */
  counted?(reward: number): number;
  /** The sums from which the ridge is chosen. Absent: as they are. */
  centred?(sums: MaturedSums): MaturedSums;
  /** The latent value of an impression without features. Absent: 0. */
  level?(sums: MaturedSums): number;
  /** The right-hand side of the regression: d. */
  moment(sums: MaturedSums): Float64Array;
  /** Standard deviation of a reward, in units of the latent value. */
  spread(sums: MaturedSums): number;
  /** Mean and deviation of the expected reward. May overwrite the means of `latent`. */
  moments(latent: Moments): Moments;
  /** The expected reward at the latent mean, and how much higher it is one deviation up. May overwrite the means of `latent`. */
  upper(latent: Moments): { readonly mean: Float64Array; readonly width: Float64Array };
  /** Turns latent values into expected rewards, in place. Absent: they are the same. */
  toRewards?(latent: Float64Array): Float64Array;
  /** Absent for a likelihood without state. */
  save?(writer: SnapshotWriter): void;
  load?(reader: SnapshotReader): void;
}

/** The latent value is level + <x, theta>. */
export interface LatentMean {
  readonly level: number;
  /** theta: d. */
  readonly coefficients: Float64Array;
}

/** Weight of the prior variance of a reward, in impressions. */
export const GUESSED = 10;
const NO_OFFSETS = /* @__PURE__ */ new Float64Array(0);

/** Sum of squared differences of the rewards from their mean. */
export function deviations({ count, rewards, squares }: MaturedSums): number {
  return count > 0 ? Math.max(squares - (rewards * rewards) / count, 0) : 0;
}

/** Standard deviation of a reward. `guessed`: the squared differences that the prior adds, of `GUESSED` rewards. */
export function spreadOf(sums: MaturedSums, guessed: number): number {
  return Math.sqrt((deviations(sums) + guessed) / (sums.count + GUESSED));
}

/** The parts of a likelihood whose latent value is the expected reward itself. */
export const untransformed: Pick<Likelihood, "offsets" | "terms" | "moments" | "upper"> = {
  offsets: 0,
  terms: (features) => ({ count: 1, features, weighted: features, offsets: NO_OFFSETS, places: placesOf(features) }),
  moments: (latent) => latent,
  upper: ({ mean, deviation }) => ({ mean, width: deviation }),
};

/** The expected reward is the latent value. */
export function gaussianLikelihood(rewardVariance: number): Likelihood {
  return {
    ...untransformed,
    rewardVariance,
    moment: ({ moment }) => moment,
    spread: (sums) => spreadOf(sums, GUESSED * rewardVariance),
  };
}

/** Bound on the log-odds of an expansion, at a rate of one in a million. Within it nearly certain impressions still count. */
const FARTHEST = 13.8;
/** The prior of the mean rate: half a reward of ten impressions. */
const GUESSED_REWARD = 0.5;
const GUESSED_IMPRESSIONS = 10;
/** How much better than the mean an unknown action may be, in log-odds. */
const OPTIMISM = 0.5;
/** Log-odds as close as this to the level have its slope. */
const CLOSE = 1e-6;
/** Growth of impressions from one anchor to the next. */
const ANCHORED = 1.05;

/**
 * Rewards are between 0 and 1, and the latent value is the log-odds of the expected reward.
 *
 * The log-likelihood of an impression is expanded to second order once, when it is shown, about the log-odds e = level + <x, anchor>.
 * With p = logistic(e), its derivative at log-odds z is y + (w e - p) - w z, where y is the reward and w the information. Each
 * impression is then one step of a regression, and sums are enough: V adds w x x^T, the moment (w e - p) x. The anchor is an estimate
 * of theta, renewed whenever impressions have grown by a twentieth.
 *
 * Deviation: w is the greater of p (1 - p) and the slope of the rate between the level and e. Where p is nearly 0 or 1, p (1 - p) is
 * so small that a few surprises would throw the estimate to the other end.
 *
 * The level is that of the mean rate so far. It is derived from the sums, so a rate far from 1/2 needs no feature of its own.
 * **Source:** the extended Kalman filter for logistic regression, as in Spiegelhalter and Lauritzen 1990.
 */
export class BernoulliLikelihood implements Likelihood {
  /** The information of an impression is already in units of the noise. */
  readonly rewardVariance = 1;
  readonly noiseVariance = 1;
  readonly offsets: number;
  readonly #core: Core;
  #anchor: LatentMean;
  /** Impressions at which the anchor is renewed. */
  #due = 0;

  constructor(core: Core, dimension: number) {
    this.offsets = dimension;
    this.#core = core;
    this.#anchor = { level: 0, coefficients: new Float64Array(dimension) };
  }

  terms(features: Float64Array, impressions: number, estimate: () => LatentMean): Terms {
    if (impressions >= this.#due) {
      const { level, coefficients } = estimate();
      this.#anchor = { level, coefficients: coefficients.slice() };
      this.#due = Math.ceil((impressions + 1) * ANCHORED);
    }
    const { level, coefficients } = this.#anchor;
    // An expansion farther out would lead to a step that goes farther still.
    const e = Math.min(Math.max(level + product(features, coefficients), -FARTHEST), FARTHEST);
    const p = logistic(this.#core, e);
    const information = Math.max(p * (1 - p), this.#slope(e, p, level));
    const [root, offset] = [Math.sqrt(information), information * e - p];
    return {
      count: 1,
      features: features.map((each) => information * each),
      weighted: features.map((each) => root * each),
      offsets: features.map((each) => offset * each),
      places: placesOf(features),
    };
  }

  /** Conversions of several goals count as one at most. */
  counted(reward: number): number {
    return Math.min(Math.max(reward, 0), 1);
  }

  /** Slope of the rate from the level to e. */
  #slope(e: number, p: number, level: number): number {
    return Math.abs(e - level) < CLOSE ? 0 : (p - logistic(this.#core, level)) / (e - level);
  }

  level({ count, rewards }: MaturedSums): number {
    const rate = (Math.max(rewards, 0) + GUESSED_REWARD) / (Math.max(count, rewards) + GUESSED_IMPRESSIONS);
    return this.#core.log(rate / (1 - rate)) + OPTIMISM;
  }

  moment(sums: MaturedSums): Float64Array {
    const level = this.level(sums);
    return sums.moment.map((each, i) => each + (sums.offsets[i] - level * sums.level[i]));
  }

  spread(): number {
    return 1;
  }

  moments({ mean, deviation }: Moments): Moments {
    this.toRewards(mean);
    return { mean, deviation: deviation.map((each, i) => each * (mean[i] * (1 - mean[i]))) };
  }

  upper({ mean, deviation }: Moments) {
    const highest = this.toRewards(mean.map((each, i) => each + deviation[i]));
    this.toRewards(mean);
    return { mean, width: highest.map((each, i) => each - mean[i]) };
  }

  toRewards(logOdds: Float64Array): Float64Array {
    for (let i = 0; i < logOdds.length; i++) logOdds[i] = logistic(this.#core, logOdds[i]);
    return logOdds;
  }

  save(writer: SnapshotWriter): void {
    writer.numbers([this.#due, this.#anchor.level], this.#anchor.coefficients);
  }

  load(reader: SnapshotReader): void {
    const [due, level] = reader.numbers(2);
    this.#due = due;
    this.#anchor = { level, coefficients: reader.numbers(this.offsets) };
  }
}

import type { Core } from "../../core/core.ts";
import type { SnapshotReader, SnapshotWriter } from "../../snapshot.ts";
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
  /** Contribution of an impression. `impressions`: how many came before it. `estimate` computes the present theta (d). */
  terms(features: Float64Array, impressions: number, estimate: () => Float64Array): Terms;
  /** The right-hand side of the regression: d. */
  moment(sums: MaturedSums): Float64Array;
  /** Standard deviation of a reward, in units of the latent value. */
  spread(sums: MaturedSums): number;
  /** Mean and deviation of the expected reward. May overwrite the means of `latent`. */
  moments(latent: Moments): Moments;
  /** The expected reward at the latent mean, and how much higher it is one deviation up. May overwrite the means of `latent`. */
  upper(latent: Moments): { readonly mean: Float64Array; readonly width: Float64Array };
  /** Absent for a likelihood without state. */
  save?(writer: SnapshotWriter): void;
  load?(reader: SnapshotReader): void;
}

/** Weight of the prior variance of a reward, in impressions. */
const GUESSED = 10;
const NO_OFFSETS = /* @__PURE__ */ new Float64Array(0);

/** The expected reward is the latent value. */
export function gaussianLikelihood(rewardVariance: number): Likelihood {
  return {
    rewardVariance,
    offsets: 0,
    terms: (features) => ({ features, weighted: features, offsets: NO_OFFSETS }),
    moment: ({ moment }) => moment,
    spread({ count, rewards, squares }) {
      const deviations = count > 0 ? Math.max(squares - (rewards * rewards) / count, 0) : 0;
      return Math.sqrt((deviations + GUESSED * rewardVariance) / (count + GUESSED));
    },
    moments: (latent) => latent,
    upper: ({ mean, deviation }) => ({ mean, width: deviation }),
  };
}

/** Bound on the log-odds of an expansion, at a rate of one in a million. Within it nearly certain impressions still count. */
const FARTHEST = 13.8;
/** Rewards in the prior of the mean rate, which is 1/2: it has twice as many impressions. */
const GUESSED_REWARD = 0.5;
/** Growth of impressions from one anchor to the next. */
const ANCHORED = 1.05;

/**
 * Rewards are 0 or 1, and the latent value is the log-odds of a 1.
 *
 * The log-likelihood of an impression is expanded to second order once, when it is shown, about the log-odds e = <x, anchor>. With
 * p = logistic(e), its information is w = p (1 - p), and its derivative at log-odds z is y + (w e - p) - w z, where y is 1 for a
 * conversion. Each impression is then one Newton step of a regression, and sums are enough: V adds w x x^T, the moment
 * (w e - p) x. The anchor is an estimate of theta, renewed whenever impressions have grown by a twentieth.
 * **Source:** the extended Kalman filter for logistic regression, as in Spiegelhalter and Lauritzen 1990.
 */
export class BernoulliLikelihood implements Likelihood {
  /** The information of an impression is already in units of the noise. */
  readonly rewardVariance = 1;
  readonly noiseVariance = 1;
  readonly offsets: number;
  readonly #core: Core;
  readonly #ridge: number;
  #anchor: Float64Array;
  /** Impressions at which the anchor is renewed. */
  #due = 0;

  constructor(core: Core, dimension: number, ridge: number) {
    this.offsets = dimension;
    this.#core = core;
    this.#ridge = ridge;
    this.#anchor = new Float64Array(dimension);
  }

  terms(features: Float64Array, impressions: number, estimate: () => Float64Array): Terms {
    if (impressions >= this.#due) {
      this.#anchor = estimate();
      this.#due = Math.ceil((impressions + 1) * ANCHORED);
    }
    // An expansion farther out would lead to a step that goes farther still.
    const e = Math.min(Math.max(product(features, this.#anchor), -FARTHEST), FARTHEST);
    const p = logistic(this.#core, e);
    const information = p * (1 - p);
    const [root, offset] = [Math.sqrt(information), information * e - p];
    return { features, weighted: features.map((each) => root * each), offsets: features.map((each) => offset * each) };
  }

  /** Includes a prior under which the mean impression has the log-odds of the mean rate. */
  moment({ moment, offsets, level, count, rewards }: MaturedSums): Float64Array {
    const rate = (Math.max(rewards, 0) + GUESSED_REWARD) / (Math.max(count, rewards) + 2 * GUESSED_REWARD);
    const square = product(level, level);
    const usual = square > 0 ? (this.#core.log(rate / (1 - rate)) * count) / square : 0;
    const prior = this.#ridge * usual;
    return moment.map((each, i) => each + (offsets[i] + prior * level[i]));
  }

  spread(): number {
    return 1;
  }

  moments({ mean, deviation }: Moments): Moments {
    this.#toRates(mean);
    return { mean, deviation: deviation.map((each, i) => each * (mean[i] * (1 - mean[i]))) };
  }

  upper({ mean, deviation }: Moments) {
    const highest = this.#toRates(mean.map((each, i) => each + deviation[i]));
    this.#toRates(mean);
    return { mean, width: highest.map((each, i) => each - mean[i]) };
  }

  /** In place. */
  #toRates(logOdds: Float64Array): Float64Array {
    for (let i = 0; i < logOdds.length; i++) logOdds[i] = logistic(this.#core, logOdds[i]);
    return logOdds;
  }

  save(writer: SnapshotWriter): void {
    writer.numbers([this.#due], this.#anchor);
  }

  load(reader: SnapshotReader): void {
    [this.#due] = reader.numbers(1);
    this.#anchor = reader.numbers(this.#anchor.length);
  }
}

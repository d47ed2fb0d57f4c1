// Chooses how strongly the differences between actions are shrunk, by the data themselves.

import type { Core } from "../../core/core.ts";
import type { MaturedSums } from "./delay-correction.ts";
import type { Likelihood } from "./likelihood.ts";
import { product } from "./vector.ts";

interface Shrinkage {
  readonly shrinkage: "evidence" | "fixed";
  /** Ridge of the level, and the least ridge of the rest. */
  readonly ridge: number;
  readonly likelihood: Likelihood;
  /** Impressions after which all sums are halved. */
  readonly halfLife: number;
}

/** Growth of impressions from one choice of the ridge to the next. */
const GROWTH = 1.2;
/** Steps of the fixed-point iteration from the last choice, and from the start at most. */
const STEPS = 3;
const MOST_STEPS = 16;
/** A step that changes the ridge by less than this share is the last one. */
const CLOSE = 0.001;
/** The ridge is at most this share of the mean information about a coefficient: few data cannot support a greater one. */
const MOST_SHARE = 0.3;
/** Weights of the prior variances: of the coefficients in degrees of freedom, of the noise in impressions. */
const GUESSED_FREEDOM = 0.03;
const GUESSED = 10;

/**
 * The ridge of the mean. It shrinks the differences between actions, and leaves alone the level that actions have in common.
 *
 * With "fixed" it stays the least ridge. With "evidence" the data choose it, again whenever impressions have grown by a fifth, and
 * at the latest after a fifth of a half-life.
 */
export class ChosenRidge {
  readonly #core: Core;
  readonly #settings: Shrinkage;
  value: number;
  /** Impressions at the next choice. */
  due = 2;

  constructor(core: Core, settings: Shrinkage) {
    this.#core = core;
    this.#settings = settings;
    this.value = settings.ridge;
  }

  get least(): number {
    return this.#settings.ridge;
  }

  /** Most of the impressions have been forgotten, but for `kept`: the choice of the ridge is due as if there had never been more. */
  hasten(impressions: number, kept: number): void {
    this.due = Math.min(this.due, Math.ceil(impressions + (GROWTH - 1) * kept));
  }

  /** Chooses the ridge again if that is due. */
  choose(impressions: number, matured: () => MaturedSums): void {
    const { shrinkage } = this.#settings;
    if (shrinkage === "fixed" || impressions < this.due) return;
    this.value = evidenceRidge(this.#core, matured(), this.#settings, this.value, STEPS);
    this.#postpone(impressions);
  }

  #postpone(impressions: number): void {
    const { halfLife } = this.#settings;
    this.due = Math.max(2, Math.ceil(Math.min(impressions * GROWTH, impressions + (GROWTH - 1) * halfLife)));
  }

  /** Chooses the ridge by these sums alone, whatever it was. **Cost:** O(d^3). */
  refactor(impressions: number, matured: MaturedSums): void {
    this.#postpone(impressions);
    if (this.#settings.shrinkage === "evidence") {
      this.value = evidenceRidge(this.#core, matured, this.#settings, this.least, MOST_STEPS);
    }
  }

  /** V of the mean without the least ridge: packed lower triangle. */
  shrunk(sums: MaturedSums): Float64Array {
    return shrunk(withoutLevel(sums, this.#settings.likelihood), this.value - this.least);
  }
}

/** The sums, without a direction of the level if the likelihood knows the level itself. */
function withoutLevel(sums: MaturedSums, likelihood: Likelihood): MaturedSums {
  return likelihood.level ? { ...sums, level: new Float64Array(sums.level.length) } : sums;
}

/** gram + extra (I - e e^T), e the direction of the level: a ridge of `extra` for what differs from the level. */
function shrunk({ gram, level }: MaturedSums, extra: number): Float64Array {
  const sum = gram.slice();
  // Without a level there is nothing to leave alone.
  const square = product(level, level) || 1;
  for (let i = 0, at = 0; i < level.length; i++) {
    const own = (extra * level[i]) / square;
    for (let j = 0; j <= i; j++, at++) sum[at] -= own * level[j];
    sum[at - 1] += extra;
  }
  return sum;
}

/**
 * The ridge under which the data are most likely: the variance of the noise over that of the coefficients, both estimated.
 *
 * **Cost:** O(d^3).
 * **Source:** MacKay 1992, Bayesian interpolation, the fixed point of the evidence. A weak guess keeps it finite without data.
 */
function evidenceRidge(core: Core, sums: MaturedSums, settings: Shrinkage, from: number, steps: number): number {
  const { ridge: leastRidge, likelihood } = settings;
  const { rewardVariance, noiseVariance } = likelihood;
  const { gram, moment, level, count, squares } = withoutLevel(sums, likelihood);
  const d = moment.length;
  const length = Math.sqrt(product(level, level));
  if (length === 0 && !likelihood.level) return from;
  const e = level.map((each) => each / (length || 1));
  const both = new Float64Array(2 * d);
  both.set(moment);
  both.set(e, d);
  let information = 0;
  for (let i = 0, at = 0; i < d; at += ++i + 1) information += gram[at];
  const most = Math.max(leastRidge, (MOST_SHARE * information) / d);
  let ridge = from;
  for (let step = 0; step < steps; step++) {
    const { solved, trace } = core.shrunkSolve(shrunk({ ...sums, level }, ridge - leastRidge), leastRidge, both, 2);
    const mean = solved.subarray(0, d);
    const onLevel = product(e, mean);
    const rest = Math.max(product(mean, mean) - onLevel * onLevel, 0);
    // The shrunk coefficients that the data determine.
    const freedom = Math.max(d - (likelihood.level ? 0 : 1) - ridge * (trace - product(e, solved.subarray(d))), 0);
    const residual = Math.max(squares - product(mean, moment) - ridge * rest - leastRidge * onLevel * onLevel, 0);
    const noise = noiseVariance ?? (residual + GUESSED * rewardVariance) / (Math.max(count - freedom, 0) + GUESSED);
    const proposed = ((freedom + GUESSED_FREEDOM) * noise) / (rest + GUESSED_FREEDOM * rewardVariance);
    const before = ridge;
    ridge = Math.min(Math.max(proposed, leastRidge), most);
    if (steps > STEPS && Math.abs(ridge - before) <= CLOSE * before) break;
  }
  return ridge;
}

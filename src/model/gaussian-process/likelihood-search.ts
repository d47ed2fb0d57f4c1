// Chooses the kernel under which the rewards are most likely, with as few factors as possible.

import type { Core } from "../../core/core.ts";
import { compassSearch } from "./compass-search.ts";

/** A log likelihood, and the number of rewards it covers. */
interface Known {
  readonly likelihood: number;
  readonly rewards: number;
}

/** Where a variance is searched: the greatest factor, and the powers of 8 that are tried at once. */
interface Range {
  readonly most: number;
  readonly grid: readonly number[];
}
const VARIANCE: Range = { most: 64, grid: [-1, 0, 1] };
/** Rewards without noise, and rewards that are all noise, are both common. */
const RATIO: Range = { most: 4096, grid: [-2, -1, 0, 1, 2] };

/** A step of 0.02 changes a lengthscale by 2 %, well inside its posterior spread. */
const LEAST_STEP = 0.02;
/** Relative tolerance for rounding in two sums of logarithms. */
const SLACK = 1e-9;

/**
 * Searches for the kernel of greatest marginal likelihood, and does so again while rewards come in. It skips kernels that cannot win.
 *
 * The density of a reward given the others is at most that of the noise at its centre, 1 / sqrt(2 pi noiseVariance). A log
 * likelihood from an earlier search, plus the logarithm of this density for each reward added since, is hence an upper bound.
 * The bounds hold while rewards are only added: `change` and `reset` drop them.
 */
export class LikelihoodSearch {
  readonly #core: Core;
  readonly #range: Range;
  /** Log density of the noise at its centre. */
  readonly #most: number;
  /** By logarithms of scale and variance: the results of this search, and those of the one before. */
  #known = new Map<string, Known>();
  #before = new Map<string, Known>();
  #rewards = 0;
  /** Slot of the newest reward, if it is a zero that no search has counted; otherwise -1. */
  #newest = -1;

  /** `fitsNoise`: whether the likelihood is one whose noise has been fitted. The variance is then one in units of the noise. */
  constructor(core: Core, noiseVariance: number, fitsNoise: boolean) {
    this.#core = core;
    this.#range = fitsNoise ? RATIO : VARIANCE;
    this.#most = -0.5 * core.log(2 * Math.PI * noiseVariance);
  }

  /** Rewards so far, zeros included. */
  get rewards(): number {
    return this.#rewards;
  }

  /** Counts `count` new rewards of 0 at a slot. */
  count(slot: number, count: number): void {
    this.#rewards += count;
    this.#newest = slot;
  }

  /** A reward of `previous` changed. If it is the newest zero, the new reward counts as added, and the bounds still hold. */
  change(slot: number, previous: number): void {
    if (slot !== this.#newest || previous !== 0) this.reset(this.#rewards);
    this.#newest = -1;
  }

  /** Drops all bounds. There are `rewards` rewards now. */
  reset(rewards = this.#rewards): void {
    this.#rewards = rewards;
    this.#known.clear();
    this.#before.clear();
  }

  /**
   * The scale of the lengthscales, within a factor of 64 of 1, and of the variance that maximise a log likelihood. `likelihood` is
   * called with both. The results of the search before the last one are dropped.
   */
  maximum(start: readonly number[], likelihood: (scale: number, variance: number) => number): readonly number[] {
    const core = this.#core;
    this.#before = this.#known;
    this.#known = new Map();
    this.#newest = -1;
    const logs = compassSearch(core, {
      start: start.map((each) => core.log(each)),
      grid: [[-2, -1, 0, 1, 2].map((each) => each * core.log(4)), this.#range.grid.map((each) => each * core.log(8))],
      bounds: [core.log(64), core.log(this.#range.most)],
      leastStep: LEAST_STEP,
      afterStep: "first",
      value: (point, toBeat) => this.#exceeding(toBeat, point.join(), () => likelihood(core.exp(point[0]), core.exp(point[1]))),
    });
    return logs.map((each) => core.exp(each));
  }

  /** The log likelihood of the kernel named `key`, or -Infinity if its bound is below `toBeat`. */
  #exceeding(toBeat: number, key: string, likelihood: () => number): number {
    const known = this.#known.get(key) ?? this.#before.get(key);
    if (known) {
      if (known.rewards === this.#rewards) return known.likelihood;
      const bound = known.likelihood + (this.#rewards - known.rewards) * this.#most;
      this.#known.set(key, known);
      if (bound + SLACK * (Math.abs(bound) + this.#rewards) < toBeat) return Number.NEGATIVE_INFINITY;
    }
    const found = likelihood();
    this.#known.set(key, { likelihood: found, rewards: this.#rewards });
    return found;
  }
}

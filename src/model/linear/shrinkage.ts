// Chooses how strongly coefficients are shrunk, block by block, by the data themselves.

import type { Core } from "../../core/core.ts";
import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { MaturedSums } from "./delay-correction.ts";
import type { Likelihood } from "./likelihood.ts";
import { product } from "./vector.ts";

/** Sums from which ridges are chosen. */
export interface RidgeSums extends MaturedSums {
  /** The ridge of interactions without any data, if a prior tells how great the mean rate is. */
  readonly taste?: number;
}

interface Shrinkage {
  /** Features (d). */
  readonly dimension: number;
  readonly shrinkage: "evidence" | "fixed";
  /** Ridge of the level, and the least ridge of the rest. */
  readonly ridge: number;
  readonly likelihood: Likelihood;
  /** Impressions after which all sums are halved. */
  readonly halfLife: number;
  /** See `MaturingRidgeSettings.blocks`. Empty: all features are of block 1. */
  readonly blocks: readonly number[];
}

/** Growth of impressions from one choice of the ridges to the next. */
const GROWTH = 1.2;
/** Steps of the fixed-point iteration from the last choice, and from the start at most. */
const STEPS = 3;
const MOST_STEPS = 16;
/** A step that changes each ridge by less than this share is the last one. */
const CLOSE = 0.001;
/** Blocks: the level, effects of actions, interactions from here on, and those with components of their own from there on. */
const [LEVEL, MAIN, INTERACTIONS, APART] = [0, 1, 3, 4];
/**
 * A ridge is at most this many times the mean information about a coefficient of its block, by block. Few data cannot support a greater one
 * for main effects. Block 3 shares its components, so what is useless hides what is useful there. Later blocks may come to nothing.
 */
const MOST = [0, 0.3, 0.3, 10, 1000];
/** Weights of the prior variances: of the coefficients in degrees of freedom, of the noise in impressions. */
const GUESSED_FREEDOM = 0.03;
const GUESSED = 10;
/** The prior variance of an interaction, in that of a main effect. Tastes are small, and a greater guess would hide that some are nothing. */
const GUESSED_INTERACTION = 0.001;

/**
 * The ridges of the blocks of features. They shrink what differs from the level that actions have in common, and leave that alone. So a
 * product that was shown rarely is believed to sell as products do.
 *
 * With "fixed" they stay the least ridge. With "evidence" the data choose them, again whenever impressions have grown by a fifth, and at
 * the latest after a fifth of a half-life.
 */
export class ChosenRidges {
  readonly #core: Core;
  readonly #settings: Shrinkage;
  #blocks: Uint8Array;
  /** Ridge of each block. */
  #values: Float64Array;
  /** The last result of `shrunk`, reused because it is long. */
  #sum: Float64Array | undefined;
  /** Impressions at the next choice. */
  due = 2;

  constructor(core: Core, settings: Shrinkage) {
    this.#core = core;
    this.#settings = settings;
    this.#blocks = Uint8Array.from(settings.blocks);
    this.#values = this.#least();
  }

  get least(): number {
    return this.#settings.ridge;
  }

  #least(): Float64Array {
    return new Float64Array(this.#blocks.reduce((most, block) => Math.max(most, block + 1), 2)).fill(this.#settings.ridge);
  }

  /** Replaces the blocks. Those that stay keep their ridges. Returns whether they differ. */
  regroup(blocks: readonly number[]): boolean {
    if (blocks.length === this.#blocks.length && blocks.every((block, i) => block === this.#blocks[i])) return false;
    const before = this.#values;
    this.#blocks = Uint8Array.from(blocks);
    this.#values = this.#least();
    this.#values.set(before.subarray(0, this.#values.length));
    return true;
  }

  /** Most of the impressions have been forgotten, but for `kept`: the choice of the ridges is due as if there had never been more. */
  hasten(impressions: number, kept: number): void {
    this.due = Math.min(this.due, Math.ceil(impressions + (GROWTH - 1) * kept));
  }

  /** Chooses the ridges again if that is due. Returns whether it was. */
  choose(impressions: number, matured: () => RidgeSums): boolean {
    if (this.#settings.shrinkage === "fixed" || impressions < this.due) return false;
    this.#values = this.#evidence(matured(), this.#values, STEPS);
    this.#postpone(impressions);
    return true;
  }

  #postpone(impressions: number): void {
    const { halfLife } = this.#settings;
    this.due = Math.max(2, Math.ceil(Math.min(impressions * GROWTH, impressions + (GROWTH - 1) * halfLife)));
  }

  /** Chooses the ridges by these sums alone, whatever they were. **Cost:** O(d^3). */
  refactor(impressions: number, matured: RidgeSums): void {
    this.#postpone(impressions);
    if (this.#settings.shrinkage === "evidence") this.#values = this.#evidence(matured, this.#least(), MOST_STEPS);
  }

  /**
   * The direction of the level. Undefined: a feature of block 0 is the level, or the likelihood knows it.
   *
   * Without blocks it is that of the average features. With blocks it is that of the coefficients of block 1 with which all features come
   * nearest to 1, so that the level is what products have in common, however often each was shown. **Cost:** O(d^3) with blocks.
   */
  level({ gram, level }: Pick<MaturedSums, "gram" | "level">): Float64Array | undefined {
    if (this.#blocks.includes(LEVEL) || this.#settings.likelihood.level) return undefined;
    const direction = this.#blocks.length > 0 ? this.#nearest(gram, level) : level;
    const length = Math.sqrt(product(direction, direction));
    return length > 0 ? direction.map((each) => each / length) : undefined;
  }

  /** The direction has features of one block, because the features of another have another ridge. */
  #nearest(gram: Float64Array, level: Float64Array): Float64Array {
    const own = gram.slice();
    for (let i = 0, at = 0; i < level.length; i++) {
      for (let j = 0; j <= i; j++, at++) if (this.#blocks[i] !== MAIN || this.#blocks[j] !== MAIN) own[at] = 0;
    }
    const target = level.map((each, i) => (this.#blocks[i] === MAIN ? each : 0));
    return this.#core.shrunkSolve(own, this.#settings.ridge, target, 1).solved;
  }

  /** V of the mean without the least ridge: packed lower triangle. Valid until the next call. */
  shrunk({ gram }: Pick<MaturedSums, "gram">, level: Float64Array | undefined): Float64Array {
    return this.#shrunk(gram, this.#values, level);
  }

  /** gram + R - least I, with the ridges on the diagonal of R. Valid until the next call. In the direction of the level R is the least ridge. */
  #shrunk(gram: Float64Array, values: Float64Array, level: Float64Array | undefined): Float64Array {
    const { ridge: least, dimension: d } = this.#settings;
    this.#sum ??= new Float64Array(gram.length);
    const sum = this.#sum;
    sum.set(gram);
    for (let i = 0, at = 0; i < d; i++) {
      const extra = values[this.#blockOf(i)] - least;
      const own = level ? extra * level[i] : 0;
      if (level) for (let j = 0; j <= i; j++) sum[at + j] -= own * level[j];
      at += i + 1;
      sum[at - 1] += extra;
    }
    return sum;
  }

  #blockOf(feature: number): number {
    return this.#blocks.length > 0 ? this.#blocks[feature] : MAIN;
  }

  /**
   * The ridge of each feature in the variance: d. Main effects keep the least one, because what is uncertain is to be explored. So does block 3,
   * where useful interactions may hide among useless ones, except for the ridge `taste` that a prior supports. Later blocks are learnt from
   * whichever visitors come, so the variance has their ridges. Undefined: all have the least one.
   */
  variance(taste: number): Float64Array | undefined {
    if (this.#blocks.length === 0) return undefined;
    const { ridge } = this.#settings;
    return Float64Array.from(this.#blocks, (block) => {
      if (block < INTERACTIONS) return ridge;
      return block < APART ? Math.max(ridge, Math.min(taste, this.#values[block])) : this.#values[block];
    });
  }

  /** Log determinant of R. */
  logDeterminant(level: Float64Array | undefined): number {
    const logs = this.#values.map((each) => this.#core.log(each));
    let sum = level ? this.#core.log(this.#settings.ridge) - logs[MAIN] : 0;
    for (let i = 0; i < this.#settings.dimension; i++) sum += logs[this.#blockOf(i)];
    return sum;
  }

  /**
   * The ridges under which the data are most likely: the variance of the noise over that of a block's coefficients, both estimated.
   *
   * **Cost:** O(d^3).
   * **Source:** MacKay 1992, Bayesian interpolation, the fixed point of the evidence. A weak guess keeps it finite without data.
   */
  #evidence(sums: RidgeSums, from: Float64Array, steps: number): Float64Array {
    const level = this.level(sums);
    // Without features that were shown there is no evidence.
    if (!level && !this.#blocks.includes(LEVEL) && !this.#settings.likelihood.level) return from;
    const most = this.#most(sums);
    let ridges = from;
    for (let step = 0; step < steps; step++) {
      const before = ridges;
      ridges = this.#proposed(sums, before, level).map((each, block) => Math.min(Math.max(each, this.#settings.ridge), most[block]));
      if (steps > STEPS && ridges.every((each, block) => Math.abs(each - before[block]) <= CLOSE * before[block])) break;
    }
    return ridges;
  }

  /** The greatest ridge of each block. */
  #most({ gram, taste = 0 }: RidgeSums): Float64Array {
    const [sizes, information] = [this.#values.slice().fill(0), this.#values.slice().fill(0)];
    for (let i = 0, at = 0; at < gram.length; at += ++i + 1) {
      sizes[this.#blockOf(i)]++;
      information[this.#blockOf(i)] += gram[at];
    }
    return information.map((each, block) => {
      if (block === LEVEL) return this.#settings.ridge;
      const times = MOST[Math.min(block, MOST.length - 1)];
      const supported = (times * each) / Math.max(sizes[block], 1);
      return Math.max(this.#settings.ridge, supported, block < INTERACTIONS ? 0 : taste);
    });
  }

  /** One step of the fixed point. */
  #proposed(sums: RidgeSums, ridges: Float64Array, level: Float64Array | undefined): Float64Array {
    const { dimension: d, ridge: least, likelihood } = this.#settings;
    const { rewardVariance, noiseVariance } = likelihood;
    const { gram, moment, count, squares, taste } = sums;
    const both = new Float64Array(level ? 2 * d : d);
    both.set(moment);
    if (level) both.set(level, d);
    const { solved, variances } = this.#core.shrunkSolve(this.#shrunk(gram, ridges, level), least, both, level ? 2 : 1);
    const mean = solved.subarray(0, d);
    // Of each block: the sum of the squared coefficients, and how many of them the data determine.
    const [squared, determined] = [ridges.slice().fill(0), ridges.slice().fill(0)];
    for (let i = 0; i < d; i++) {
      const block = this.#blockOf(i);
      squared[block] += mean[i] * mean[i];
      determined[block] += 1 - ridges[block] * variances[i];
    }
    let penalty = 0;
    if (level) {
      const own = product(level, mean);
      squared[MAIN] = Math.max(squared[MAIN] - own * own, 0);
      determined[MAIN] -= 1 - ridges[MAIN] * product(level, solved.subarray(d));
      penalty = least * own * own;
    }
    const freedoms = determined.map((each, block) => (block === LEVEL ? 0 : Math.max(each, 0)));
    penalty += product(ridges, squared);
    const freedom = freedoms.reduce((sum, each) => sum + each, 0);
    const residual = Math.max(squares - product(mean, moment) - penalty, 0);
    const noise = noiseVariance ?? (residual + GUESSED * rewardVariance) / (Math.max(count - freedom, 0) + GUESSED);
    return freedoms.map((each, block) => {
      const interaction = taste ? noise / taste : GUESSED_INTERACTION * rewardVariance;
      const guess = block < INTERACTIONS ? rewardVariance : interaction;
      return ((each + GUESSED_FREEDOM) * noise) / (squared[block] + GUESSED_FREEDOM * guess);
    });
  }

  save(writer: SnapshotWriter): void {
    writer.numbers([this.due], this.#values, this.#blocks);
  }

  load(reader: SnapshotReader): void {
    const { dimension, ridge } = this.#settings;
    const [[due], values, blocks] = [reader.numbers(1), reader.numbers(), reader.numbers()];
    const fits = blocks.every((each) => Number.isInteger(each) && each >= 0 && each < values.length);
    if (!fits || values.length < 2 || values.length > 256 || (blocks.length > 0 && blocks.length !== dimension)) throw malformed();
    if (!values.every((each) => each >= ridge && each < Number.POSITIVE_INFINITY)) throw malformed();
    this.due = due;
    this.#values = values;
    this.#blocks = Uint8Array.from(blocks);
  }
}

import { solved } from "./dense.ts";
import { grouped, intervalOf, PlainDelays, type Shown } from "./plain-delays.ts";

export interface PlainRidgeOptions {
  readonly dimension: number;
  readonly ridge?: number;
  readonly rewardVariance?: number;
  readonly shrinkage?: "evidence" | "fixed";
  readonly halfLife?: number;
  readonly rewards?: "linear" | "bernoulli";
  /** Blocks of the features. None: all are of block 1, and the average features are the level. */
  readonly blocks?: readonly number[];
  /** The window in rounds or ms, or none. */
  readonly window: { readonly rounds: number } | { readonly ms: number } | "none";
}

/** What products sold before: k vectors, sales and views. */
export interface PlainPrior {
  readonly points: readonly (readonly number[])[];
  readonly sales: readonly number[];
  readonly views: readonly number[];
}

interface Impression extends Shown {
  readonly x: readonly number[];
  /** Weight, information of the log-odds, features as they count in the covariance, and offset of the log-odds. */
  weight: number;
  readonly information: number;
  readonly weighted: readonly number[];
  readonly offset: number;
  reward: number;
}

/** Sums in which each impression counts by its matured share. */
export interface PlainSums {
  readonly gram: number[][];
  readonly moment: number[];
  /** Direction that is not shrunk. Zero for log-odds, which start from a level of their own, and if a feature is the constant. */
  readonly level: number[];
  readonly start: number;
  readonly count: number;
  readonly squares: number;
}

export const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, each, i) => sum + each * b[i], 0);
const times = (a: readonly (readonly number[])[], x: readonly number[]): number[] => a.map((row) => dot(row, x));
const axis = (d: number, i: number): number[] => Array.from({ length: d }, (_, j) => Number(i === j));
const square = (d: number, of: (i: number, j: number) => number): number[][] =>
  Array.from({ length: d }, (_, i) => Array.from({ length: d }, (_, j) => of(i, j)));
const solve = (a: readonly (readonly number[])[], b: readonly number[]): number[] => solved(Float64Array.from(a.flat()), b);

/** The inverse of a matrix that needs no pivoting. */
function inverse(a: readonly (readonly number[])[]): number[][] {
  const rows = a.map((row, i) => [...row, ...axis(a.length, i)]);
  for (const [i, pivot] of rows.entries()) {
    const own = pivot[i];
    for (let j = 0; j < pivot.length; j++) pivot[j] /= own;
    for (const row of rows) {
      const factor = row === pivot ? 0 : row[i];
      for (let j = 0; factor !== 0 && j < row.length; j++) row[j] -= factor * pivot[j];
    }
  }
  return rows.map((row) => row.slice(a.length));
}

/** Coefficients of actions with which all features come nearest to 1. */
function nearest(gram: readonly (readonly number[])[], level: readonly number[], { blocks, least }: PlainShrinkage): number[] {
  const own = (i: number): number => Number(blocks[i] === 1);
  const matrix = square(level.length, (i, j) => own(i) * own(j) * gram[i][j] + least * Number(i === j));
  return times(
    inverse(matrix),
    level.map((each, i) => own(i) * each),
  );
}

const logistic = (x: number): number => 1 / (1 + Math.exp(-x));

/**
 * A prior in units of conversions. A product with s sales where e were expected counts as w conversions with 1 / w = 1 / e + 0.09, of the
 * relative rate r = (s + 1) / (e + 1), or of log(r). `relative`: the coefficients of these.
 */
function conversions({ points, sales, views }: PlainPrior, isLog: boolean) {
  const [sold, viewed] = [sales, views].map((each) => each.reduce((sum, one) => sum + one));
  const products = points.map((x, p) => {
    const expected = (sold * views[p]) / viewed;
    const rate = (sales[p] + 1) / (expected + 1);
    return { x, weight: expected > 0 ? 1 / (1 / expected + 0.09) : 0, y: isLog ? Math.log(rate) : rate };
  });
  const total = (of: (each: (typeof products)[number]) => number) => products.reduce((sum, each) => sum + each.weight * of(each), 0);
  const d = points[0].length;
  const gram = square(d, (i, j) => total(({ x }) => x[i] * x[j]));
  const moment = axis(d, 0).map((_, i) => total(({ x, y }) => y * x[i]));
  const least = 0.001 * Math.max(...gram.map((row, i) => row[i]));
  const relative = times(inverse(square(d, (i, j) => gram[i][j] + (i === j ? least : 0))), moment);
  return { gram, moment, relative, squares: total(({ y }) => y * y) };
}

/** Blocks of the features, the ridge of each block, and the ridge of what is not shrunk. */
export interface PlainShrinkage {
  readonly blocks: readonly number[];
  readonly ridges: readonly number[];
  readonly least: number;
}

/** gram + least I + D - D e e^T, where D has what the ridges exceed the least one by, and e is the direction of the level. */
export function penalised({ gram, level }: PlainSums, { blocks, ridges, least }: PlainShrinkage): number[][] {
  const more = blocks.map((block) => ridges[block] - least);
  const e = unit(level);
  return square(level.length, (i, j) => gram[i][j] + (i === j ? least + more[i] : 0) - more[i] * e[i] * e[j]);
}

const unit = (x: readonly number[]): number[] => x.map((each) => each / (Math.sqrt(dot(x, x)) || 1));

/** The greatest ridge of a block, in the mean information about its coefficients: 0 for the constant, 3 and from 4 on for interactions. */
const most = (block: number): number => [0, 0.3, 0.3, 10][block] ?? 1000;

/**
 * MacKay's fixed point: ridge = noise variance / parameter variance, with the noise variance from the squared errors of the fit, and the
 * parameter variance of each block from its own coefficients.
 */
export function plainEvidence(
  sums: PlainSums,
  { blocks, ridges: from, least, rewardVariance, noise }: PlainShrinkage & { readonly rewardVariance: number; readonly noise: number },
  { taste = 0, steps = 3 }: { readonly taste?: number; readonly steps?: number } = {},
): number[] {
  const { gram, moment, level, count, squares } = sums;
  const e = unit(level);
  const places = from.map((_, block) => [...blocks.keys()].filter((i) => blocks[i] === block));
  let ridges = [...from];
  for (let step = 0; step < steps; step++) {
    const before = ridges;
    const covariance = inverse(penalised(sums, { blocks, ridges, least }));
    const mean = times(covariance, moment);
    const rest = mean.map((each, i) => each - dot(e, mean) * e[i]);
    // The share of each coefficient that the data determine. Of the level it counts for nothing.
    const freedoms = places.map((own, block) => {
      if (block === 0) return 0;
      const all = own.reduce((sum, i) => sum + 1 - ridges[block] * covariance[i][i], 0);
      return dot(level, level) === 0 || block !== 1 ? all : all - (1 - ridges[block] * dot(e, times(covariance, e)));
    });
    const errors = squares - 2 * dot(mean, moment) + dot(mean, times(gram, mean));
    const left = Math.max(count - freedoms.reduce((sum, each) => sum + each, 0), 0);
    const variance = Number.isNaN(noise) ? (errors + 10 * rewardVariance) / (left + 10) : noise;
    ridges = places.map((own, block) => {
      const size = own.reduce((sum, i) => sum + rest[i] * rest[i], 0);
      const interaction = taste > 0 ? variance / taste : 0.001 * rewardVariance;
      const guess = block < 3 ? rewardVariance : interaction;
      const proposed = ((freedoms[block] + 0.03) * variance) / (size + 0.03 * guess);
      const limit = (most(block) * own.reduce((sum, i) => sum + gram[i][i], 0)) / Math.max(own.length, 1);
      return Math.max(least, Math.min(proposed, Math.max(limit, block < 3 ? 0 : taste)));
    });
    // Steps from the last choice are always as many.
    if (steps > 3 && ridges.every((each, block) => Math.abs(each - before[block]) <= 0.001 * before[block])) break;
  }
  return ridges;
}

/** The delay-aware linear model from a list of all impressions. It caches nothing, and sums and solves everything anew. */
export class PlainRidge {
  readonly options: Required<PlainRidgeOptions>;
  readonly delays: PlainDelays;
  readonly impressions: Impression[] = [];
  readonly #coarse = new Map<Impression, boolean>();
  #now = 0;
  /** Ridge of each block. */
  ridges: readonly number[];
  #due = 2;
  #anchor: { readonly theta: readonly number[]; readonly start: number };
  #anchorDue = 0;
  #prior: ReturnType<typeof conversions> | undefined;
  /** Impressions for each conversion of the prior, as of the last choice of ridges. */
  #scale = 0;

  constructor(options: PlainRidgeOptions) {
    const shrinkage = options.rewards === "bernoulli" ? "fixed" : "evidence";
    this.options = { ridge: 0.1, rewardVariance: 0.25, shrinkage, halfLife: Number.MAX_VALUE, rewards: "linear", blocks: [], ...options };
    this.ridges = Array(Math.max(1, ...this.options.blocks) + 1).fill(this.options.ridge);
    this.#anchor = { theta: Array(options.dimension).fill(0), start: 0 };
    const { window } = options;
    if (window === "none") this.delays = new PlainDelays({ resolution: 1, unit: 1, span: Number.MAX_VALUE });
    else if ("ms" in window) this.delays = new PlainDelays({ resolution: window.ms / 16384, unit: window.ms / 64, span: window.ms });
    else this.delays = new PlainDelays({ resolution: 1, unit: Math.max(1, Math.floor(window.rounds / 64)), span: window.rounds });
  }

  get #shrinkage(): PlainShrinkage {
    const { blocks, dimension, ridge } = this.options;
    return { blocks: blocks.length > 0 ? blocks : Array(dimension).fill(1), ridges: this.ridges, least: ridge };
  }

  get #bernoulli(): boolean {
    return this.options.rewards === "bernoulli";
  }

  append(x: readonly number[], time: number): Impression {
    const n = this.impressions.length;
    if (this.#bernoulli && n >= this.#anchorDue) {
      this.#anchor = { theta: this.parameter(), start: this.sums().start };
      this.#anchorDue = Math.ceil((n + 1) * 1.05);
    }
    const e = Math.min(Math.max(this.#anchor.start + dot(x, this.#anchor.theta), -13.8), 13.8);
    const { start } = this.#anchor;
    const slope = Math.abs(e - start) < 1e-6 ? 0 : (logistic(e) - logistic(start)) / (e - start);
    const information = Math.max(logistic(e) * (1 - logistic(e)), slope);
    const root = this.#bernoulli ? Math.sqrt(information) : 1;
    const [weighted, offset] = [x.map((each) => root * each), information * e - logistic(e)];
    this.#pass(time);
    const impression = Object.assign(this.delays.show(time), { x, weight: 1, information, weighted, offset, reward: 0 });
    this.impressions.push(impression);
    this.#now = Math.max(this.#now, time);
    const { shrinkage, halfLife } = this.options;
    if (shrinkage === "evidence" && n + 1 >= this.#due) this.#choose();
    if ((n + 1) % halfLife === 0) for (const each of this.impressions) each.weight /= 2;
    return impression;
  }

  #choose(steps?: number): void {
    const { rewardVariance, halfLife } = this.options;
    const n = this.impressions.length;
    const guess = this.#bernoulli ? { rewardVariance: 1, noise: 1 } : { rewardVariance, noise: Number.NaN };
    const sums = this.sums();
    // Where the level is yet to be found, no evidence comes before the first impression.
    const starts = n > 0 || this.#bernoulli || this.options.blocks.includes(0);
    if (starts) this.ridges = plainEvidence(sums, { ...this.#shrinkage, ...guess }, { taste: 16 * this.#scaled().scale, steps });
    this.#due = Math.max(2, Math.ceil(Math.min(n * 1.2, n + (1.2 - 1) * halfLife)));
    this.#scale = this.#scaled().scale;
  }

  /** Replaces what products sold before. The ridges are chosen anew. */
  prior(prior: PlainPrior): void {
    this.#prior = conversions(prior, this.#bernoulli);
    this.ridges = this.ridges.map(() => this.options.ridge);
    if (this.options.shrinkage === "evidence") this.#choose(16);
    this.#scale = this.#scaled().scale;
  }

  /** Impressions for each conversion of the prior, and the common rate: that with which the shown products bring the rewards that came. */
  #scaled(): { readonly scale: number; readonly rate: number } {
    if (!this.#prior || this.#bernoulli) return { scale: this.#prior ? 1 : 0, rate: 1 };
    const { level, rewards } = this.#own();
    const rate = (Math.max(rewards, 0) + Math.sqrt(this.options.rewardVariance)) / (Math.max(dot(this.#prior.relative, level), 0) + 1);
    return { scale: this.spread() ** 2 / rate ** 2, rate };
  }

  /** Cohorts of sums pass the span by the same rule as those of delays. */
  #pass(time: number): void {
    const unit = 16 * this.delays.unit;
    for (const each of this.impressions) {
      const [start, length] = this.#cohort(each);
      if ((Math.floor(time / unit) - start - length) * unit > this.delays.span) this.#coarse.set(each, true);
    }
  }

  #cohort({ time }: Impression): readonly [number, number] {
    const unit = 16 * this.delays.unit;
    return intervalOf(Math.floor(time / unit), Math.floor(this.#now / unit), 1);
  }

  observe(impression: Impression, reward: number, delay?: number): void {
    impression.delay ??= delay ?? Math.max(this.#now - impression.time, 0);
    impression.reward = reward;
  }

  /** Matured share of each impression: the mean in its cohort of sums, by what the impressions still weigh. */
  shares(): number[] {
    const matured = this.delays.matured(this.#now);
    const place = new Map(this.impressions.map((each, i) => [each, i]));
    const cohorts = grouped(this.impressions, (each) => (this.#coarse.has(each) ? "passed" : this.#cohort(each).join()));
    const shares = this.impressions.map(() => 1);
    for (const [key, members] of cohorts) {
      if (key === "passed") continue;
      const places = members.map((each) => place.get(each) as number);
      const weight = (i: number): number => this.impressions[i].weight;
      const mean = places.reduce((sum, i) => sum + weight(i) * matured[i], 0) / places.reduce((sum, i) => sum + weight(i), 0);
      for (const i of places) shares[i] = mean;
    }
    return shares;
  }

  /** The sums with those of the prior. */
  sums(): PlainSums {
    const { blocks } = this.options;
    const own = this.#own();
    const { scale, rate } = this.#scaled();
    const { gram, moment, squares } = this.#prior ?? { gram: [], moment: [], squares: 0 };
    const all = {
      ...own,
      gram: own.gram.map((row, i) => row.map((each, j) => each + (scale && scale * gram[i][j]))),
      moment: own.moment.map((each, i) => each + (scale && scale * rate * moment[i])),
      squares: own.squares + scale * rate ** 2 * squares,
    };
    if (blocks.length === 0 || this.#bernoulli) return all;
    return { ...all, level: blocks.includes(0) ? own.level.map(() => 0) : nearest(all.gram, own.level, this.#shrinkage) };
  }

  #own(): PlainSums & { readonly rewards: number } {
    const { dimension: d } = this.options;
    const shares = this.shares();
    const total = (of: (each: Impression) => number): number => this.impressions.reduce((sum, each) => sum + each.weight * of(each), 0);
    const matured = (of: (each: Impression) => number): number =>
      this.impressions.reduce((sum, each, i) => sum + each.weight * shares[i] * of(each), 0);
    const count = matured(() => 1);
    let moment = axis(d, 0).map((_, i) => total(({ reward, x }) => reward * x[i]));
    let level = axis(d, 0).map((_, i) => matured(({ x }) => x[i]));
    let start = 0;
    const rewards = total(({ reward }) => reward);
    if (this.#bernoulli) {
      const rate = (Math.max(rewards, 0) + 0.5) / (Math.max(count, rewards) + 10);
      start = Math.log(rate / (1 - rate)) + 0.5;
      moment = moment.map((each, i) => each + matured(({ offset, information, x }) => (offset - start * information) * x[i]));
      level = axis(d, 0).map(() => 0);
    }
    const gram = square(d, (i, j) => matured(({ weighted }) => weighted[i] * weighted[j]));
    return { gram, moment, level, start, count, rewards, squares: total(({ reward }) => reward * reward) };
  }

  /** Inverse of the matrix of the mean's parameter. */
  inverse(): number[][] {
    return inverse(penalised(this.sums(), this.#shrinkage));
  }

  /** The mean's parameter. */
  parameter(): number[] {
    const sums = this.sums();
    return solve(penalised(sums, this.#shrinkage), sums.moment);
  }

  /** Standard deviation of a reward. */
  spread(): number {
    if (this.#bernoulli) return 1;
    const { count, squares, rewards } = this.#own();
    const errors = count > 0 ? Math.max(squares - (rewards * rewards) / count, 0) : 0;
    return Math.sqrt((errors + 10 * this.options.rewardVariance) / (count + 10));
  }

  /**
   * The ridge of each feature in V: the chosen one for interactions with components of their own, what a prior supports for shared ones, and
   * the least one for all others.
   */
  #explored(): number[] {
    const { blocks, ridges, least } = this.#shrinkage;
    const shared = (ridge: number): number => Math.max(least, Math.min(16 * this.#scale, ridge));
    return blocks.map((block) => (block < 3 ? least : block < 4 ? shared(ridges[block]) : ridges[block]));
  }

  /** V, over all impressions, matured or not. */
  information(): number[][] {
    const [ridges, shown] = [this.#explored(), this.#shown()];
    return shown.map((row, i) => row.map((each, j) => each + this.#scale * (this.#prior?.gram[i][j] ?? 0) + (i === j ? ridges[i] : 0)));
  }

  #shown(): number[][] {
    const of = (i: number, j: number): number =>
      this.impressions.reduce((sum, { weight, weighted }) => sum + weight * weighted[i] * weighted[j], 0);
    return square(this.options.dimension, of);
  }

  /** Number of features that impressions have had: each counts by its share of V without a prior's impressions. */
  features(): number {
    const [ridges, shown] = [this.#explored(), this.#shown()];
    return ridges.reduce((sum, ridge, i) => sum + shown[i][i] / (shown[i][i] + ridge), 0);
  }

  /** Mean and standard deviation of a linear function of x. */
  latent(x: readonly number[]): { mean: number; deviation: number } {
    return {
      mean: this.sums().start + dot(x, this.parameter()),
      deviation: this.spread() * Math.sqrt(dot(x, solve(this.information(), x))),
    };
  }
}

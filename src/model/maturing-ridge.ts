import type { Core } from "../core/core.ts";
import { malformed, type SnapshotReader, type SnapshotWriter } from "../snapshot.ts";
import type { ParsedMaturingRidge } from "./maturing-ridge-settings.ts";
import type { AppendedImpression, Moments, ReportedDelay } from "./posterior.ts";
import type { SampleRequest, Scores } from "./ranking.ts";
import { Ridge } from "./ridge.ts";
import { evidenceRidge, type MaturedSums, type Shrinkage, shrunk } from "./shrinkage.ts";
import { UnmaturedSums } from "./unmatured-sums.ts";
import type { Moment, Window } from "./window.ts";

type MaturingRidgeOptions = Omit<ParsedMaturingRidge, "exploration">;

/** By this factor impressions grow from one choice of the ridge to the next. */
const REFIT = 1.2;
/** Impressions that the guess of the variance of a reward counts for. */
const GUESSED = 10;

/** Features for which the mean is taken anew with every impression; with twice as many, with every second one. */
const FRESH = 128;

/**
 * Ridge regression in which an impression of age s counts for F(s) in the mean, and wholly in the variance.
 *
 * F is the distribution of delays, learnt from the conversions so far. Of what will convert, the share F(s) has done so: with
 * V_F = sum F(s) x x^T and B as ever, V_F^-1 B is the regression of rewards on F(s) x in which an impression weighs 1 / F(s).
 * Impressions are remembered by cohorts of age, each with its own sums (see unmatured-sums), so memory is bounded: O(d^2) for each of at
 * most five in a window. The mean is shrunk by a ridge of its own (see shrinkage).
 */
export class MaturingRidge {
  /** In which what is pending counts as a zero, of all impressions. */
  readonly #posterior: Ridge;
  readonly #unmatured: UnmaturedSums;
  readonly #core: Core;
  readonly #window: Window;
  readonly #options: MaturingRidgeOptions;
  readonly #triangle: number;
  /** Sum of features; sum and sum of squares of rewards. */
  #level: Float64Array;
  #rewards = 0;
  #squares = 0;
  #impressions = 0;
  #ridge: number;
  /** Impressions at which the ridge is next chosen, and at which the mean was last taken anew. */
  #due = 2;
  #taken = 0;
  /** How many impressions that mean serves; while it is one, the mean is a function of the sums. */
  readonly #serves: number;
  /** The regression of the mean, and its gram matrix. */
  readonly #mean: Ridge;
  #gram: Float64Array;
  #spread: number;
  /** What the mean's parameter has over that of the posterior in which what is pending counts as a zero: d. */
  #shift: Float64Array | undefined;

  constructor(core: Core, window: Window, options: MaturingRidgeOptions) {
    const { dimension: d, ridge } = options;
    this.#core = core;
    this.#window = window;
    this.#options = options;
    this.#triangle = (d * (d + 1)) / 2;
    this.#level = new Float64Array(d);
    this.#ridge = ridge;
    this.#serves = options.shrinkage === "evidence" ? Math.ceil(d / FRESH) : 1;
    this.#gram = new Float64Array(this.#triangle);
    this.#spread = Math.sqrt(options.rewardVariance);
    this.#posterior = new Ridge(core, { dimension: d, ridge });
    this.#mean = new Ridge(core, { dimension: d, ridge });
    this.#unmatured = new UnmaturedSums(window, this.#triangle + d + 1);
  }

  #time(moment: Moment): number {
    return typeof this.#window === "object" && "ms" in this.#window ? (moment.now ?? 0) : moment.round;
  }

  append(features: Float64Array, moment: Moment): number {
    this.#posterior.append(features);
    const sums = this.#unmatured.add(this.#time(moment));
    if (sums) {
      addSquare(sums, features);
      for (let i = 0; i < features.length; i++) sums[this.#triangle + i] += features[i];
      sums[sums.length - 1]++;
    }
    for (let i = 0; i < features.length; i++) this.#level[i] += features[i];
    this.#impressions++;
    if (this.#options.shrinkage === "evidence" && this.#impressions >= this.#due) {
      this.#ridge = evidenceRidge(this.#core, this.#matured(), this.#shrinkage, this.#ridge);
      this.#due = Math.ceil(this.#impressions * REFIT);
    }
    if (this.#serves > 1 && this.#impressions >= this.#taken + this.#serves) this.#take();
    this.#shift = undefined;
    return 0;
  }

  get #shrinkage(): Shrinkage {
    const { ridge, rewardVariance } = this.#options;
    return { leastRidge: ridge, rewardVariance };
  }

  observe(impression: AppendedImpression, reward: number, previous: number | undefined, delay?: ReportedDelay): void {
    this.#posterior.reward(impression, reward, previous ?? 0);
    this.#mean.reward(impression, reward, previous ?? 0);
    this.#rewards += reward - (previous ?? 0);
    this.#squares += reward * reward - (previous ?? 0) * (previous ?? 0);
    const time = this.#time(impression);
    if (delay?.before !== undefined) this.#unmatured.convert(time, delay.before, -1);
    const after = delay ? delay.after : previous === undefined ? Math.max(this.#unmatured.now - time, 0) : undefined;
    if (after !== undefined) this.#unmatured.convert(time, after);
    this.#shift = undefined;
  }

  /** The sums in which every impression counts for as much as has matured of it. **Cost:** O(cohorts d^2). */
  #matured(): MaturedSums {
    const sums = this.#posterior.statistics();
    const gram = sums.subarray(0, this.#triangle);
    const missing = this.#unmatured.missing();
    for (let i = 0; i < gram.length; i++) gram[i] -= missing[i];
    const level = this.#level.map((each, i) => each - missing[this.#triangle + i]);
    const count = Math.max(this.#impressions - missing[missing.length - 1], 0);
    return { gram, moment: sums.subarray(this.#triangle), level, count, squares: this.#squares };
  }

  /** Takes the mean anew: what has matured by now, and the ridge. */
  #take(): void {
    const sums = this.#matured();
    const { ridge, rewardVariance } = this.#options;
    this.#gram = shrunk(sums, this.#ridge - ridge);
    this.#mean.replace(this.#gram, sums.moment);
    this.#taken = this.#impressions;
    const squares = sums.count > 0 ? Math.max(this.#squares - (this.#rewards * this.#rewards) / sums.count, 0) : 0;
    this.#spread = Math.sqrt((squares + GUESSED * rewardVariance) / (sums.count + GUESSED));
  }

  /** Once per change. */
  #derive(): Float64Array {
    if (!this.#shift) {
      if (this.#serves === 1) this.#take();
      const plain = this.#posterior.estimate();
      this.#shift = this.#mean.estimate().map((each, i) => each - plain[i]);
    }
    return this.#shift;
  }

  /** Standard deviation of a reward: what a multiplier of the deviations is to be multiplied with. */
  get spread(): number {
    this.#derive();
    return this.#spread;
  }

  /** Adds to each score what the mean has over that of the posterior below: a score to each row of `points`, k or more times. */
  #corrected(scores: Float64Array, points: Float64Array): Float64Array {
    const shift = this.#derive();
    const d = shift.length;
    const count = points.length / d;
    for (let row = 0; row < count; row++) {
      let sum = 0;
      for (let i = 0, at = row * d; i < d; i++) sum += shift[i] * points[at + i];
      for (let at = row; at < scores.length; at += count) scores[at] += sum;
    }
    return scores;
  }

  /** Scores by samples about its mean, see `Ridge.drawScores` and `Ridge.sampleScores`. */
  sampleScores(request: SampleRequest, scale: number): Scores {
    const { points, draws, normals } = request;
    if (draws > 0) {
      this.#derive();
      return this.#posterior.drawScores(request, scale, this.#mean.estimate());
    }
    return { score: this.#corrected(this.#posterior.sampleScores(points, normals(this.#options.dimension), scale), points) };
  }

  moments(points: Float64Array): Moments {
    const { mean, deviation } = this.#posterior.moments(points);
    return { mean: this.#corrected(mean, points), deviation };
  }

  predict(points: Float64Array): Moments {
    const { mean, deviation } = this.moments(points);
    return { mean, deviation: deviation.map((each) => each * this.spread) };
  }

  /** Those of the posterior below: V without its ridge, then B. */
  statistics(): Float64Array {
    return this.#posterior.statistics();
  }

  refactor(): void {
    this.#posterior.refactor();
    this.#mean.refactor();
    this.#shift = undefined;
  }

  inspect() {
    return [this.#ridge, this.spread];
  }
  save(writer: SnapshotWriter): void {
    this.#posterior.save(writer);
    writer.numbers([this.#rewards, this.#squares, this.#impressions, this.#ridge, this.#due]);
    writer.numbers(this.#level);
    this.#unmatured.save(writer);
    // Otherwise it follows from the sums.
    if (this.#serves === 1) return;
    writer.numbers([this.#taken, this.#spread]);
    writer.numbers(this.#gram);
  }

  load(reader: SnapshotReader): void {
    this.#posterior.load(reader);
    [this.#rewards, this.#squares, this.#impressions, this.#ridge, this.#due] = reader.numbers(5);
    if (this.#ridge < this.#options.ridge) throw malformed();
    this.#level = reader.numbers(this.#options.dimension);
    this.#unmatured.load(reader);
    this.#shift = undefined;
    if (this.#serves === 1) return;
    [this.#taken, this.#spread] = reader.numbers(2);
    this.#gram = reader.numbers(this.#triangle);
    this.#mean.replace(this.#gram, this.#posterior.statistics().subarray(this.#triangle));
  }
}

/** Adds x x^T to a packed lower triangle. */
function addSquare(packed: Float64Array, x: Float64Array): void {
  for (let i = 0, at = 0; i < x.length; i++) {
    const own = x[i];
    if (own === 0) {
      at += i + 1;
      continue;
    }
    for (let j = 0; j <= i; j++, at++) packed[at] += own * x[j];
  }
}

// Ridge regression: exact sums V and B here, their factor in the core. It knows no delay.

import type { Core } from "../../core/core.ts";
import type { CoreCandidates, DrawStage } from "../../core/core-draws.ts";
import type { RidgeHandle } from "../../core/ridge-handle.ts";
import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { CandidateRows, Ranked, SampleRequest } from "../candidates.ts";
import { checkSums, ExactSums, PLAIN } from "../exact-sums.ts";
import type { AppendedPoint, Moments, Posterior } from "../posterior.ts";
import { taken } from "../ranking.ts";
import { product, triangle } from "./vector.ts";

/** Numbers of a ridge regression in a snapshot: two packed triangles and a vector. */
export const ridgeNumbers = ({ dimension: d }: { readonly dimension: number }): number => d * (d + 2);

/**
 * Ridge regression of rewards on features, theta = V^-1 B with V = P + sum x x^T and B = sum reward x. The prior's precision P is ridge I,
 * unless `setPrior` replaces it.
 *
 * An impression changes V, and a conversion changes B. Both are sums, so neither depends on the order of the other. They are exact for
 * features and rewards that are multiples of 2^-12, as `ExactSums`.
 * **Source:** Vernade et al. 2020, section 3.
 */
export class Ridge implements Posterior {
  readonly dimension: number;
  readonly #core: Core;
  readonly #handle: RidgeHandle;
  /** Diagonal of P, without the impressions of a prior: d. */
  #ridges: Float64Array;
  /** Moments of the last call. Calls with as many points reuse the arrays. */
  #moments: Moments = { mean: new Float64Array(0), deviation: new Float64Array(0) };
  /** Pairs of draws that the core holds for the present V. */
  #pairs = 0;
  /** The pairs, scale, room and centre of the core's rows. Undefined after a change. */
  #rows: { readonly pairs: number; readonly scale: number; readonly extra: number; readonly centre: Float64Array | undefined } | undefined;
  /** Whether the sums come from others. They are then rounded as doubles are. */
  readonly #derived: boolean;
  /** No sum of the core is greater in size. */
  #bound = 0;
  /** V and B, once they exceed what doubles add up exactly. The core has the doubles nearest to them. */
  #sums: ExactSums | undefined;

  constructor(core: Core, options: { readonly dimension: number; readonly ridge: number; readonly derived?: boolean }) {
    this.dimension = options.dimension;
    this.#core = core;
    this.#ridges = new Float64Array(options.dimension).fill(options.ridge);
    this.#derived = options.derived ?? false;
    this.#handle = core.ridgeCreate(options.dimension, options.ridge);
  }

  /** Adds the features of one impression to V. **Cost:** the square of its nonzero features, and O(d^2) once L is read. */
  append(features: Float64Array): number {
    if (!this.#derived) this.#grow(product(features, features));
    this.#core.ridgeAppend(this.#handle, features);
    this.redraw();
    if (!this.#sums) return 0;
    this.#sums.addSquare(features);
    this.#core.ridgeSums(this.#handle).gram.set(this.#sums.values.subarray(0, triangle(this.dimension)));
    return 0;
  }

  /** Undoes `append`. **Cost:** O(d^3). */
  remove(features: Float64Array): void {
    const sums = this.#exact();
    sums.addSquare(features, -1);
    this.#replace(sums);
  }

  /** Makes room for an addition of this size at most. */
  #grow(size: number): void {
    this.#bound += size;
    if (this.#bound > PLAIN) this.#sums ??= new ExactSums(this.statistics());
  }

  /** Adds (reward - previous) x to B. **Cost:** O(d). */
  reward({ features }: Pick<AppendedPoint, "features">, reward: number, previous: number): void {
    const change = reward - previous;
    if (!this.#derived) this.#grow(Math.abs(change) * Math.sqrt(product(features, features)));
    this.#core.ridgeReward(this.#handle, features, change);
    this.#rows = undefined;
    if (!this.#sums) return;
    const end = triangle(this.dimension);
    this.#sums.addMultiple(end, features, change);
    this.#core.ridgeSums(this.#handle).moment.set(this.#sums.values.subarray(end));
  }

  /** theta: d, in `into`. **Cost:** O(d^2), once per change. */
  estimate(into?: Float64Array): Float64Array {
    return this.#core.ridgeEstimate(this.#handle, into);
  }

  /**
   * The means <x, theta>, and the norms |x| in V^-1, which are the standard deviations for unit noise. Valid until the next call.
   * **Cost:** O(k d^2).
   */
  moments(points: Float64Array): Moments {
    const count = points.length / this.dimension;
    if (this.#moments.mean.length !== count) this.#moments = { mean: new Float64Array(count), deviation: new Float64Array(count) };
    this.#core.ridgeScore(this.#handle, points, this.#moments.mean, this.#moments.deviation);
    return this.#moments;
  }

  /** The means alone: k. For features they have the bits of `moments`. **Cost:** O(k d), or the terms of encoded actions. */
  means(candidates: Pick<CandidateRows, "points" | "encoded">): Float64Array {
    const { encoded } = candidates;
    return encoded ? this.#core.draws.products(encoded, this.estimate()) : this.#core.ridgeMeans(this.#handle, candidates.points);
  }

  deviation(features: Float64Array): number {
    return this.#core.ridgeWidth(this.#handle, features);
  }

  /** Scores <x, theta + scale L^-T z> of k candidates with z = `normals` (d) and L L^T = V. **Cost:** O(d^2), and that of `means`. */
  sampleScores(candidates: CandidateRows, normals: Float64Array, scale: number): Float64Array {
    const { encoded } = candidates;
    if (encoded) return this.#core.draws.products(encoded, this.sample(normals, scale));
    return this.#core.ridgeSampleScores(this.#handle, candidates.points, normals, scale);
  }

  /** The sample theta + scale L^-T z for z = `normals`: d. **Cost:** O(d^2). */
  sample(normals: Float64Array, scale: number): Float64Array {
    return this.#core.ridgeSample(this.#handle, normals, scale);
  }

  /**
   * A stage of `drawnList` that samples the same about theta, or about `centre` (d), with `level` added. Draws come in opposite pairs.
   *
   * The draws L^-T z are kept until V changes. Until then, requests must give the same normals, and fewer normals must be the first of more.
   * **Cost:** O(draws d^2) once per V, and O(draws d) once per centre and scale.
   * @throws {NumericalError} code `not-finite` for coefficients beyond 2^60.
   */
  stage(
    { draws, encoded }: Pick<SampleRequest, "draws" | "encoded">,
    normals: SampleRequest["normals"],
    scale: number,
    level = 0,
    centre?: Float64Array,
  ): DrawStage {
    const pairs = Math.ceil(draws / 2);
    if (this.#pairs < pairs) {
      this.#core.draws.draw(this.#handle, normals(pairs * this.dimension));
      this.#pairs = pairs;
      this.#rows = undefined;
    }
    const extra = encoded?.catalogue?.tableRows ?? 0;
    const rows = this.#rows;
    if (!rows || rows.pairs !== pairs || rows.scale !== scale || rows.centre !== centre || rows.extra < extra) {
      this.#core.draws.rows(this.#handle, pairs, scale, extra, centre);
      this.#rows = { pairs, scale, extra, centre };
    }
    return { handle: this.#handle, level, weight: 1, parent: -1, isProbability: false };
  }

  /** Draws anew for the next request, although V is the same. */
  redraw(): void {
    this.#pairs = 0;
    this.#rows = undefined;
  }

  /** Number of features that impressions have had: each counts by its share of V that is not the prior's. **Cost:** O(d). */
  features(): number {
    const { gram } = this.#core.ridgeSums(this.#handle);
    let sum = 0;
    for (let i = 0, at = 0; i < this.dimension; at += ++i + 1) sum += gram[at] / (gram[at] + this.#ridges[i]);
    return sum;
  }

  /**
   * Replaces P by a diagonal of `ridges` (d), plus `scale` times `gram` (packed). No ridge may be below that of the start. Call `refactor` or
   * `load` afterwards.
   */
  setPrior(ridges: Float64Array, scale = 0, gram?: Float64Array): void {
    this.#ridges = ridges;
    const precision = gram?.map((each) => scale * each) ?? new Float64Array(triangle(ridges.length));
    for (let i = 0; i < ridges.length; i++) precision[triangle(i + 1) - 1] += ridges[i];
    this.#core.ridgeSetPrior(this.#handle, precision);
  }

  /** Rebuilds L from V. **Cost:** O(d^3). */
  refactor(): void {
    this.#core.ridgeRefactor(this.#handle);
    this.redraw();
  }

  /** Replaces the sums: V without its prior (packed lower triangle), and B. **Cost:** O(d^3). */
  replace(gram: Float64Array, moment: Float64Array): void {
    this.#core.ridgeLoad(this.#handle, { gram, moment });
    this.#sums = undefined;
    this.refactor();
  }

  #replace(sums: ExactSums): void {
    const end = triangle(this.dimension);
    this.replace(sums.values.subarray(0, end), sums.values.subarray(end));
    this.#bindTo(sums);
  }

  #bindTo(sums: ExactSums): void {
    this.#bound = sums.bound;
    this.#sums = sums.bound > PLAIN ? sums : undefined;
  }

  #exact(): ExactSums {
    return this.#sums ?? new ExactSums(this.statistics());
  }

  /** Adds the sums of another regression with the same dimension and ridge. **Cost:** O(d^3). */
  merge(other: Ridge): void {
    const sums = this.#exact();
    sums.addAll(other.#exact());
    this.#replace(sums);
  }

  save(writer: SnapshotWriter): void {
    const { gram, moment, factor } = this.#core.ridgeState(this.#handle);
    const rests = this.#sums?.rests() ?? [];
    // The rests follow B.
    writer.numbers(gram, rests.length > 0 ? [...moment, ...rests] : moment, factor);
  }

  load(reader: SnapshotReader): void {
    const [gram, vector] = [reader.view(triangle(this.dimension)), reader.view()];
    const moment = vector.subarray(0, this.dimension);
    const factor = reader.view(triangle(this.dimension));
    checkSums(factor);
    this.#core.ridgeLoad(this.#handle, { gram, moment, factor });
    this.redraw();
    if (this.#derived) {
      if (vector.length !== moment.length) throw malformed();
      return;
    }
    const all = new Float64Array(gram.length + vector.length);
    all.set(gram);
    all.set(vector, gram.length);
    this.#bindTo(ExactSums.load({ numbers: () => all }, gram.length + this.dimension));
  }

  /** log det V. **Cost:** O(d). */
  logDeterminant(): number {
    const { factor } = this.#core.ridgeState(this.#handle);
    const diagonal = Float64Array.from({ length: this.dimension }, (_, i) => factor[triangle(i + 1) - 1]);
    return diagonal.reduce((sum, each) => sum + 2 * this.#core.log(each), 0);
  }

  /** Writes what means, deviations and samples need: B and the factor of V. */
  publish(writer: SnapshotWriter): void {
    const { moment, factor } = this.#core.ridgeState(this.#handle);
    writer.numbers(moment, factor);
  }

  /** Takes what `publish` wrote. V itself stays zero, so nothing can be appended. */
  loadPublished(reader: SnapshotReader): void {
    const moment = reader.view(this.dimension);
    const factor = reader.view(triangle(this.dimension));
    this.#core.ridgeLoad(this.#handle, { gram: new Float64Array(factor.length), moment, factor });
    this.redraw();
  }

  /** As `statistics`, as views that are valid until the next call. */
  get sums(): { readonly gram: Float64Array; readonly moment: Float64Array } {
    return this.#core.ridgeSums(this.#handle);
  }

  /** The sums alone: V without its prior (packed lower triangle), then B. */
  statistics(): Float64Array {
    const { gram, moment } = this.sums;
    const sums = new Float64Array(gram.length + moment.length);
    sums.set(gram);
    sums.set(moment, gram.length);
    return sums;
  }
}

/** The candidates of a request as the core takes them. */
export function coreCandidates(request: CandidateRows): CoreCandidates {
  return request.encoded ?? { count: request.count, points: request.points };
}

/**
 * Ranks by one of `draws` samples of stages, each after the one before it. The decision takes one of them at random, and the probability of a
 * candidate at a place is the share of the samples that rank it there. Scores are in single precision.
 * **Cost:** O(draws) for each nonzero feature, or term of encoded actions, and each stage.
 * @throws {NumericalError} code `not-finite` for features or weights beyond 2^24.
 */
export function drawnList(core: Core, stages: readonly DrawStage[], request: SampleRequest): Ranked {
  const { draws, families, boosts } = request;
  const candidates = coreCandidates(request);
  const places = Math.min(request.limit, request.count);
  const lists = core.draws.lists(stages, candidates, draws, places, families?.bounds, boosts);
  const sample = taken(request);
  return {
    list: Array.from({ length: places }, (_, place) => lists[sample * places + place]).filter((index) => index >= 0),
    scores(indices) {
      const some = request.encoded ? request.encoded.pick(indices) : { count: indices.length, points: request.rows(indices) };
      const scores = core.draws.scores(stages, some, draws, sample);
      // In single precision, as the core adds them.
      return boosts ? scores.map((each, i) => Math.fround(each + Math.fround(boosts[indices[i]]))) : scores;
    },
    chance(index, place) {
      let hits = 0;
      for (let at = place; at < lists.length; at += places) if (lists[at] === index) hits++;
      return hits / draws;
    },
  };
}

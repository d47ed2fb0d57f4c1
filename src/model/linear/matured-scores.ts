// The part of a maturing ridge that decisions need, and a publication holds.

import type { Core } from "../../core/core.ts";
import type { DrawStage } from "../../core/core-draws.ts";
import type { EncodedActions } from "../../encoding/encoded-actions.ts";
import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { CandidateRows, Ranked, SampleRequest } from "../candidates.ts";
import type { Moments } from "../posterior.ts";
import { type Scores, sampled } from "../ranking.ts";
import type { CorrectedMean } from "./corrected-mean.ts";
import type { Likelihood } from "./likelihood.ts";
import { coreCandidates, drawnList, type Ridge } from "./ridge.ts";

/** Up to this many features are explored at full width. */
const FEW = 16;

/**
 * Scores of candidates, from the variance of a regression and its mean. Decisions need nothing else of it, so a publication holds this
 * part alone.
 */
export class MaturedScores {
  readonly #core: Core;
  readonly #posterior: Ridge;
  readonly #mean: CorrectedMean;
  readonly #likelihood: Likelihood;
  readonly #impressions: () => number;
  /** `#growth` from a publication, which has no sums. */
  #publishedGrowth: number | undefined;

  /** `posterior` has the variance. The regression that learns changes `posterior` and `mean`, and counts `impressions`. */
  constructor(core: Core, posterior: Ridge, mean: CorrectedMean, likelihood: Likelihood, impressions: () => number) {
    this.#core = core;
    this.#posterior = posterior;
    this.#mean = mean;
    this.#likelihood = likelihood;
    this.#impressions = impressions;
  }

  /**
   * Factor on deviations, beside `exploration`: the root of log(2 + n / d) after n impressions of d features, and for more than 16
   * features the fourth root of 16 / d. It grows with the impressions per feature, so that fewer runs stay with the second best: the
   * experiment `long` of the shop suite counts them after 10,000 and 100,000 visitors.
   *
   * **Source:** Abbasi-Yadkori, Pal, Szepesvari 2011, theorem 2: the radius of the confidence ellipsoid, per feature.
   * Deviation: the second factor. A draw deviates in all features at once, and few visitors cannot pay for exploring many features.
   */
  #growth(): number {
    const features = Math.max(this.#posterior.features(), 1);
    return Math.sqrt(this.#core.log(2 + this.#impressions() / features)) * Math.min(1, Math.sqrt(Math.sqrt(FEW / features)));
  }

  #widening(exploration: number): number {
    return exploration * (this.#publishedGrowth ?? this.#growth());
  }

  /** Mean and deviation of <x, theta> at `points`, the deviation times `multiplier`. */
  latent(points: Float64Array, multiplier: number): Moments {
    const { mean, deviation } = this.#posterior.moments(points);
    const scale = multiplier * this.#mean.spread;
    return { mean: this.#mean.correct(mean, points), deviation: deviation.map((each) => scale * each) };
  }

  /**
   * Samples <x, theta> about its mean with deviations that `exploration` scales, see `drawnList` and `Ridge.sampleScores`. Log-odds are
   * not turned into rates: they tell candidates apart whose rates are nearly 0 or 1. Boosts are in units of rates, so with boosts they are.
   */
  sampled(request: SampleRequest, exploration: number): Scores | Ranked {
    if (request.boosts && !this.isLinear) return sampled(this.samples(request, exploration, request.normals), request);
    if (request.draws > 0) return drawnList(this.#core, [this.stage(request, exploration)], request);
    return { score: this.#latentSample(request, exploration) };
  }

  /** Samples of level + <x, theta>, as `sampled` takes one of them. */
  stage(request: SampleRequest, exploration: number, normals = request.normals): DrawStage {
    const { level, spread, coefficients } = this.#mean;
    return this.#posterior.stage(request, normals, this.#widening(exploration) * spread, level, coefficients);
  }

  /** Whether the samples of a `stage` are expected rewards. */
  get isLinear(): boolean {
    return this.#likelihood.toRewards === undefined;
  }

  /** A sample without draws. */
  #latentSample(request: SampleRequest, exploration: number, normals = request.normals): Float64Array {
    const { encoded } = request;
    const scale = this.#widening(exploration) * this.#mean.spread;
    const own = normals(this.#posterior.dimension);
    if (!encoded) return this.#mean.correct(this.#posterior.sampleScores(request, own, scale), request.points);
    const { shift } = this.#mean;
    const sample = this.#posterior.sample(own, scale);
    return this.#products(
      encoded,
      sample.map((each, i) => each + shift[i]),
    );
  }

  /** Latent values of encoded actions for these coefficients. */
  #products(encoded: EncodedActions, coefficients: Float64Array): Float64Array {
    const { level } = this.#mean;
    return this.#core.draws.products(encoded, coefficients).map((each) => level + each);
  }

  /** Draws of the expected rewards, as `sampled` takes one of them: max(draws, 1) x k, row-major. */
  samples(request: SampleRequest, exploration: number, normals: SampleRequest["normals"]): Float64Array {
    const { draws } = request;
    const scores =
      draws > 0
        ? this.#core.draws.scores([this.stage(request, exploration, normals)], coreCandidates(request), draws)
        : this.#latentSample(request, exploration, normals);
    return this.#likelihood.toRewards?.(scores) ?? scores;
  }

  /** Expected rewards of candidates. For features they have the bits of `upper`. */
  means(candidates: CandidateRows): Float64Array {
    const { encoded } = candidates;
    const latent = encoded
      ? this.#products(encoded, this.#mean.coefficients)
      : this.#mean.correct(this.#posterior.means(candidates), candidates.points);
    return this.#likelihood.toRewards?.(latent) ?? latent;
  }

  /** Expected rewards at `points`, and how much higher they are by as many deviations as `exploration` stands for. */
  upper(points: Float64Array, exploration: number): { readonly mean: Float64Array; readonly width: Float64Array } {
    return this.#likelihood.upper(this.latent(points, this.#widening(exploration)));
  }

  predict(points: Float64Array): Moments {
    return this.#likelihood.moments(this.latent(points, 1));
  }

  publish(writer: SnapshotWriter): void {
    // The mean first: solving it calls the core, which would invalidate views of the posterior.
    this.#mean.publish(writer);
    writer.numbers([this.#growth()]);
    this.#posterior.publish(writer);
  }

  loadPublished(reader: SnapshotReader): void {
    this.#mean.loadPublished(reader);
    [this.#publishedGrowth] = reader.numbers(1);
    if (!(this.#publishedGrowth > 0)) throw malformed();
    this.#posterior.loadPublished(reader);
  }
}

// A Gaussian process whose mean waits for outcomes and whose variance does not.

import type { Core, KernelSpec } from "../../core/core.ts";
import { counted, malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import { Forgetting } from "../delay/forgetting.ts";
import { OpenImpressions } from "../delay/open-impressions.ts";
import type { Moment, Window } from "../delay/window.ts";
import { Domain } from "../domain.ts";
import { BoundedProcess } from "../gaussian-process/bounded-process.ts";
import type { Contenders } from "../gaussian-process/contenders.ts";
import { medianKernel, type ParsedDelayAware } from "../gaussian-process/delay-aware-settings.ts";
import { fitted, type Hyperparameters, prior } from "../gaussian-process/hyperparameters.ts";
import { kernelSpec } from "../gaussian-process/kernel.ts";
import type { AppendedImpression, AppendedPoint, JointPosterior, Moments } from "../posterior.ts";

/** Known outcomes at the first fit of the hyper-parameters. Each later fit waits until they have doubled. */
const FIRST_FIT = 8;
/** Points that a fit uses, at most. */
const FITTED_POINTS = 256;

/**
 * Takes the mean from the impressions with a known outcome, and the variance from all impressions.
 *
 * An outcome is known once the impression has converted, or once its window has closed, which is a reward of 0. Hyper-parameters,
 * the noise among them, are fitted whenever the known outcomes have doubled, with `forgetting` at the latest after `halfLife` more.
 * **Source:** Desautels et al. 2014 for the two kinds of knowledge; Bogunovic et al. 2016 for forgetting.
 */
export class DelayAwarePosterior implements JointPosterior {
  readonly #core: Core;
  readonly #median: KernelSpec;
  readonly #context: number;
  readonly #known: BoundedProcess;
  readonly #all: BoundedProcess;
  readonly #open: OpenImpressions;
  readonly #forgetting: Forgetting | null;
  readonly #halfLife: number;
  #deviation: number;
  /** The prediction for the domain, and the sum of the two processes' versions at that time. */
  #overDomain: { readonly version: number; readonly moments: Moments } | undefined;
  #outcomes = 0;
  #impressions = 0;
  #nextFit = FIRST_FIT;

  constructor(core: Core, settings: ParsedDelayAware, window: Window) {
    const { dimension, capacity, contextDimension } = settings;
    this.#core = core;
    this.#context = contextDimension;
    this.#median = kernelSpec(medianKernel(settings), dimension);
    const domain = settings.domain && new Domain(settings.domain);
    this.#known = new BoundedProcess(core, this.#median, capacity, domain);
    this.#all = new BoundedProcess(core, this.#median, capacity, domain);
    this.#open = new OpenImpressions(window, dimension);
    this.#forgetting = settings.forgetting && new Forgetting(core, settings.forgetting);
    this.#halfLife = settings.forgetting?.halfLife ?? Number.MAX_VALUE;
    this.#deviation = Math.sqrt(prior(this.#median).noiseVariance);
  }

  get domain(): Domain | null {
    return this.#all.domain;
  }

  append(features: Float64Array, moment: Moment): number {
    const number = this.#impressions;
    if (this.#forgetting?.opens(number)) for (const process of [this.#known, this.#all]) process.discount(this.#forgetting.decay);
    this.#all.append(features, 0);
    this.#impressions++;
    for (const silent of this.#open.close(moment)) this.#learn(silent, 0);
    if (this.#outcomes >= this.#nextFit) this.#fit();
    const slot = this.#open.append(features, moment);
    return this.#forgetting ? number : slot;
  }

  /** Present weight of the impression with this slot. */
  #weight(slot: number): number {
    return this.#forgetting?.weight(slot, this.#impressions - 1) ?? 1;
  }

  /** @throws {RangeError} for a first reward when every impression has an outcome, unless its window has closed. */
  observe(impression: AppendedImpression, reward: number, previous: number | undefined): void {
    const { features, slot } = impression;
    if (previous !== undefined || !this.#open.has(slot)) {
      this.#known.replace(features, reward, previous ?? 0, this.#weight(slot));
      return;
    }
    if (this.#outcomes === this.#impressions) throw new RangeError("outcome: expected no more first rewards than impressions");
    // Features that were forgotten since have a stand-in there.
    this.#learn({ features: this.#open.featuresOf(slot) ?? features, slot }, reward);
    this.#open.convert(slot);
  }

  /** An open impression moves to the same point as its part of the variance. **Cost:** O(n^3). */
  forget(features: Float64Array): boolean {
    // The larger process comes first: if there is memory for its new factor, there is for the other.
    const kept = [this.#all, this.#known].map((process) => process.forget(features));
    const open = this.#open.forget(features, this.#all.nearest(features));
    return open || kept.includes(true);
  }

  #learn({ features, slot }: AppendedPoint, reward: number): void {
    this.#known.append(features, reward, this.#weight(slot));
    this.#outcomes++;
  }

  #fit(): void {
    this.#nextFit = this.#outcomes + Math.min(this.#outcomes, this.#halfLife);
    this.#adopt(fitted(this.#core, this.#median, this.#context, this.#known.evidence(FITTED_POINTS)));
  }

  #adopt({ kernel, noiseVariance }: Hyperparameters): void {
    const before = this.#known.kernel;
    this.#known.kernel = kernel;
    try {
      this.#all.kernel = kernel;
    } catch (error) {
      this.#known.kernel = before;
      throw error;
    }
    this.#deviation = Math.sqrt(noiseVariance);
  }

  /** In units of the reward. The same object for the domain until a process changes. */
  predict(points: Float64Array): Moments {
    if (points !== this.domain?.points) return this.#moments(points);
    const version = this.#known.version + this.#all.version;
    if (this.#overDomain?.version !== version) this.#overDomain = { version, moments: this.#moments(points) };
    return this.#overDomain.moments;
  }

  /** See `Contending`. */
  contenders(points: Float64Array, limit: number, multiplier: number): Contenders | undefined {
    if (this.domain) return undefined;
    const known = { mean: this.#known.means(points), error: 0 };
    const found = this.#all.contenders(points, limit, multiplier * this.#deviation, known);
    return found && this.#scaled(found);
  }

  #scaled<M extends Moments>(moments: M): M {
    return { ...moments, deviation: moments.deviation.map((each) => this.#deviation * each) };
  }

  #moments(points: Float64Array): Moments {
    const { deviation } = this.#all.moments(points);
    return this.#scaled({ mean: this.#known.means(points), deviation });
  }

  sample(points: Float64Array, normals: Float64Array, scale: number, samples: number): Moments & { readonly sample: Float64Array } {
    const mean = this.#known.means(points);
    const { deviation, sample } = this.#all.sample(points, normals, scale * this.#deviation, samples);
    const k = mean.length;
    return { mean, deviation: deviation.map((each) => this.#deviation * each), sample: sample.map((each, i) => each + mean[i % k]) };
  }

  statistics(): Float64Array {
    return Float64Array.from([...this.#known.statistics(), ...this.#all.statistics()]);
  }

  refactor(): void {
    this.#known.refactor();
    this.#all.refactor();
  }

  save(writer: SnapshotWriter): void {
    const { lengthscale, variance } = this.#known.kernel;
    writer.numbers([this.#deviation, variance, this.#outcomes, this.#impressions, this.#nextFit], lengthscale);
    this.#known.save(writer);
    this.#all.save(writer);
    this.#open.save(writer);
  }

  load(reader: SnapshotReader): void {
    const [deviation, variance, outcomes, impressions, nextFit] = reader.numbers(5);
    const lengthscale = reader.numbers(this.#median.lengthscale.length);
    if (!(deviation > 0 && variance > 0 && nextFit >= FIRST_FIT && lengthscale.every((each) => each > 0))) throw malformed();
    const kernel = { ...this.#median, variance, lengthscale };
    this.#adopt({ kernel, noiseVariance: deviation * deviation });
    this.#deviation = deviation;
    this.#impressions = counted("impressions", impressions);
    this.#outcomes = counted("outcomes", outcomes, impressions);
    this.#nextFit = nextFit;
    this.#known.load(reader);
    this.#all.load(reader);
    this.#open.load(reader, impressions);
  }
}

import { counted, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { Contenders } from "../gaussian-process/contenders.ts";
import type { DomainMoments } from "../gaussian-process/domain-moments.ts";
import type { GaussianProcess } from "../gaussian-process/gaussian-process.ts";
import { imputedRows } from "../gaussian-process/imputed-rows.ts";
import type { LazyPosterior } from "../gaussian-process/leader.ts";
import type { AppendedImpression, JointPosterior, Moments } from "../posterior.ts";
import { rowsAt } from "../ranking.ts";

/**
 * Two Gaussian processes: the mean comes from the converted impressions, the variance from all impressions, as if the rewards of
 * pending ones had arrived at their mean.
 *
 * Both count every reward. While nothing is pending they agree, and the process over all impressions answers alone.
 * **Source:** Desautels et al. 2014 (GP-BUCB); Verma et al. 2022, section 6, the baselines GP-BUCB and GP-BTS.
 */
export class HallucinatedPosterior implements JointPosterior {
  readonly #arrived: GaussianProcess;
  readonly #all: GaussianProcess;
  readonly #another: (() => GaussianProcess) | undefined;
  /** Impressions that have not converted. */
  #pending = 0;

  /** `another`: creates a process with the same options, if fits of hyper-parameters take pending impressions for known ones. */
  constructor(arrived: GaussianProcess, all: GaussianProcess, another?: () => GaussianProcess) {
    this.#arrived = arrived;
    this.#all = all;
    this.#another = another;
  }

  append(features: Float64Array): number {
    this.#all.append(features);
    this.#pending++;
    const another = this.#another;
    const due = this.#arrived.elapse(another && (() => this.#refit(another())));
    if (due) this.#all.adopt(this.#arrived.hyperparameters);
    return 0;
  }

  /** Fits `process` to the rewards that have arrived, and to the present mean for each pending impression. */
  #refit(process: GaussianProcess): void {
    try {
      process.replace(imputedRows(this.#arrived, this.#all));
      process.adopt(this.#arrived.hyperparameters);
      process.refit();
      this.#arrived.adopt(process.hyperparameters);
    } finally {
      process.release();
    }
  }

  /** @throws {RangeError} for a first reward when every impression has one. */
  observe({ features }: AppendedImpression, reward: number, previous: number | undefined): void {
    if (previous === undefined && this.#pending === 0) throw new RangeError("outcome: expected no more first rewards than impressions");
    const slot = previous === undefined ? this.#arrived.append(features) : this.#arrived.locate(features);
    this.#arrived.reward({ features, slot }, reward, previous ?? 0);
    this.#all.reward({ features, slot: this.#all.locate(features) }, reward, previous ?? 0);
    if (previous === undefined) this.#pending--;
  }

  predict(points: Float64Array): Moments {
    const { mean, deviation } = this.#moments(this.#all, points);
    return { mean: this.#pending === 0 ? mean : this.#moments(this.#arrived, points).mean, deviation };
  }

  /** See `Contending`. */
  contenders(points: Float64Array, limit: number, multiplier: number): Contenders | undefined {
    if (this.#all.domain) return undefined;
    const known = this.#pending === 0 ? undefined : this.#arrived.nearMeans(points);
    const found = this.#all.contenders(points, limit, multiplier, known);
    if (!found || !known) return found;
    const { mean } = this.#arrived.moments(rowsAt(points, this.#all.dimension, found.places));
    return { ...found, mean };
  }

  /** `predict` over the domain's points, computed only as far as it is read. */
  get lazy(): LazyPosterior {
    const [arrived, all] = [this.#arrived.overDomain, this.#all.overDomain] as [DomainMoments, DomainMoments];
    return { mean: this.#pending === 0 ? all : arrived, deviation: all, prior: this.#all.priorDeviation };
  }

  sample(points: Float64Array, normals: Float64Array, scale: number, samples: number): Moments & { readonly sample: Float64Array } {
    const drawn = this.#all.sample(points, normals, scale, samples);
    if (this.#pending === 0) return drawn;
    const { mean } = this.#moments(this.#arrived, points);
    const k = mean.length;
    return { mean, deviation: drawn.deviation, sample: drawn.sample.map((each, i) => each - drawn.mean[i % k] + mean[i % k]) };
  }

  /** Over a domain each process scores its own array of points cheaply. The two arrays are equal. */
  #moments(process: GaussianProcess, points: Float64Array): Moments {
    const watched = points === this.#arrived.domain?.points || points === this.#all.domain?.points;
    return process.moments(watched ? (process.domain?.points as Float64Array) : points);
  }

  forget(features: Float64Array): boolean {
    // The larger process comes first: if there is memory for its new factor, there is for the other.
    return [this.#all, this.#arrived].map((process) => process.forget(features)).includes(true);
  }

  statistics(): Float64Array {
    return Float64Array.from([...this.#arrived.statistics(), ...this.#all.statistics()]);
  }

  refactor(): void {
    this.#arrived.refactor();
    this.#all.refactor();
  }

  save(writer: SnapshotWriter): void {
    writer.numbers([this.#pending]);
    this.#arrived.save(writer);
    this.#all.save(writer);
  }

  load(reader: SnapshotReader): void {
    this.#pending = counted("pending", reader.numbers(1)[0]);
    this.#arrived.load(reader);
    this.#all.load(reader);
  }
}

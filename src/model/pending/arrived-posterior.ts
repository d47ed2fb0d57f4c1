import type { SnapshotReader, SnapshotWriter } from "../../snapshot.ts";
import type { GaussianProcess } from "../gaussian-process/gaussian-process.ts";
import type { AppendedImpression, Moments } from "../posterior.ts";

/**
 * A Gaussian process that counts an impression only once it has converted. Pending impressions are ignored.
 *
 * Rows are in order of conversion, and the state depends on this order: below capacity by rounding only, at capacity in substance.
 * **Source:** Verma et al. 2022, section 6, the baselines GP-UCB and asy-TS.
 */
export class ArrivedPosterior {
  readonly #posterior: GaussianProcess;

  constructor(posterior: GaussianProcess) {
    this.#posterior = posterior;
  }

  append(): number {
    this.#posterior.elapse();
    return 0;
  }

  observe({ features }: AppendedImpression, reward: number, previous: number | undefined): void {
    const slot = previous === undefined ? this.#posterior.append(features) : this.#posterior.locate(features);
    this.#posterior.reward({ features, slot }, reward, previous ?? 0);
  }

  predict(points: Float64Array): Moments {
    return this.#posterior.moments(points);
  }

  statistics(): Float64Array {
    return this.#posterior.statistics();
  }

  refactor(): void {
    this.#posterior.refactor();
  }

  save(writer: SnapshotWriter): void {
    this.#posterior.save(writer);
  }

  load(reader: SnapshotReader): void {
    this.#posterior.load(reader);
  }
}

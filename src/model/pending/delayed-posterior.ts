import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import { type Moment, spanOf, timeOf, type Window } from "../delay/window.ts";
import type { GaussianProcess } from "../gaussian-process/gaussian-process.ts";
import type { AppendedImpression, Moments, Posterior } from "../posterior.ts";

export interface DelayedPosteriorOptions {
  /**
   * "exact": the width of a pending impression under the present posterior, which keeps its features.
   * "buffered": its width under the posterior of its own time, which keeps one number.
   */
  readonly norms: "exact" | "buffered";
  /** The width by a standard deviation: the deviation itself, or its square. */
  readonly measure: (deviation: number) => number;
  /** Whether the buffered width is computed before or after the posterior counts the impression. */
  readonly buffer: "before" | "after";
  /**
   * A second process of known rewards. It counts an impression once it has converted, or once its window has closed: a fit of
   * hyper-parameters would take the zeros of pending impressions for rewards.
   */
  readonly evidence?: GaussianProcess;
  /** Called after each impression, to fit hyper-parameters when it is time. */
  readonly elapse?: () => void;
}

/**
 * A posterior that counts an impression at once, with reward 0 until it converts, and the sum of the widths of open impressions,
 * which a delay-aware policy adds to its bonus.
 *
 * The sum runs over all impressions whose window is open, converted or not, so it does not depend on conversions. Impressions leave
 * in order of arrival: one that is registered late leaves only after those that arrived before it.
 * **Source:** Vernade et al. 2020, Alg. 1 and section 4; Verma et al. 2022, eq. 5.
 */
export class DelayedPosterior<P extends Posterior> {
  readonly posterior: P;
  readonly #window: Window;
  readonly #options: DelayedPosteriorOptions;
  #times: number[] = [];
  #widths: number[] = [];
  #features: number[] = [];
  /** With evidence: the slot of each impression, or -1 once it has converted. */
  #slots: number[] = [];
  #head = 0;
  #sum = 0;

  constructor(posterior: P, window: Window, options: DelayedPosteriorOptions) {
    this.posterior = posterior;
    this.#window = window;
    this.#options = options;
  }

  /** Index of the first impression whose window is still open at `moment`. */
  #firstOpen(moment: Moment): number {
    const oldest = timeOf(this.#window, moment) - spanOf(this.#window);
    let index = this.#head;
    while (index < this.#times.length && this.#times[index] < oldest) index++;
    return index;
  }

  /** Sum of the widths of the impressions open at `moment`. **Cost:** exact: one posterior width each; buffered: O(1) amortised. */
  openWidth(moment: Moment): number {
    const open = this.#firstOpen(moment);
    // An empty window sums to exactly zero, whatever rounding error the sum has.
    if (open === this.#times.length) return 0;
    if (this.#options.norms === "exact") {
      // Plain loops: a slice and callbacks would take as long as a decision among few candidates.
      const from = open * this.posterior.dimension;
      const features = new Float64Array(this.#features.length - from);
      for (let i = 0; i < features.length; i++) features[i] = this.#features[from + i];
      const { deviation } = this.posterior.moments(features);
      let sum = 0;
      for (let i = 0; i < deviation.length; i++) sum += this.#options.measure(deviation[i]);
      return sum;
    }
    let sum = this.#sum;
    for (let i = this.#head; i < open; i++) sum -= this.#widths[i];
    return Math.max(sum, 0);
  }

  append(features: Float64Array, moment: Moment): number {
    const { norms, buffer, evidence } = this.#options;
    const before = buffer === "before" ? this.#width(features) : 0;
    const slot = this.posterior.append(features);
    const width = buffer === "after" ? this.#width(features) : before;
    this.#forget(this.#firstOpen(moment));
    this.#times.push(timeOf(this.#window, moment));
    this.#widths.push(width);
    if (norms === "exact" || evidence) for (const feature of features) this.#features.push(feature);
    this.#sum += width;
    if (evidence) this.#slots.push(slot);
    this.#options.elapse?.();
    return slot;
  }

  #width(features: Float64Array): number {
    // Exact widths are computed in `openWidth`.
    return this.#options.norms === "exact" ? 0 : this.#options.measure(this.posterior.deviation(features));
  }

  #forget(open: number): void {
    for (; this.#head < open; this.#head++) {
      this.#sum -= this.#widths[this.#head];
      if (this.#options.evidence && this.#slots[this.#head] >= 0) this.#options.evidence.append(this.#featuresOf(this.#head));
    }
    if (this.#head > 1024 && 2 * this.#head > this.#times.length) this.#compact();
  }

  #featuresOf(index: number): Float64Array {
    const d = this.posterior.dimension;
    return Float64Array.from(this.#features.slice(index * d, (index + 1) * d));
  }

  #compact(): void {
    this.#slots = this.#slots.slice(this.#head);
    this.#times = this.#times.slice(this.#head);
    this.#widths = this.#widths.slice(this.#head);
    this.#features = this.#features.slice(this.#head * this.posterior.dimension);
    this.#head = 0;
  }

  observe(impression: AppendedImpression, reward: number, previous: number | undefined): void {
    this.posterior.reward(impression, reward, previous ?? 0);
    const process = this.#options.evidence;
    if (!process) return;
    const { features } = impression;
    const slot = previous === undefined && this.#settle(impression) ? process.append(features) : process.locate(features);
    process.reward({ features, slot }, reward, previous ?? 0);
  }

  /** Marks an open impression as converted. False if its window has closed: `#forget` has counted it. */
  #settle(impression: AppendedImpression): boolean {
    const time = timeOf(this.#window, impression);
    for (let i = this.#times.length - 1; i >= this.#head; i--) {
      if (this.#times[i] !== time || this.#slots[i] !== impression.slot) continue;
      this.#slots[i] = -1;
      return true;
    }
    return false;
  }

  predict(points: Float64Array): Moments {
    return this.posterior.moments(points);
  }

  /** An open impression moves to the point that stands in for its own. Without one, its width is dropped. */
  forget(features: Float64Array): boolean {
    const { posterior } = this;
    const kept = [posterior, this.#options.evidence].map((each) => each?.forget?.(features));
    return this.#forgetOpen(features, posterior.nearest?.(features)) || kept.includes(true);
  }

  #forgetOpen(features: Float64Array, standIn: Float64Array | undefined): boolean {
    this.#compact();
    const d = this.posterior.dimension;
    const held = this.#times.map((_, i) => features.every((coordinate, j) => coordinate === this.#features[i * d + j]));
    if (!held.includes(true)) return false;
    if (standIn) {
      this.#features = this.#features.map((coordinate, i) => (held[Math.floor(i / d)] ? standIn[i % d] : coordinate));
      return true;
    }
    const others = <T>(values: T[], width = 1): T[] => values.filter((_, i) => !held[Math.floor(i / width)]);
    [this.#times, this.#widths, this.#slots] = [others(this.#times), others(this.#widths), others(this.#slots)];
    this.#features = others(this.#features, d);
    this.#sum = this.#widths.reduce((sum, width) => sum + width, 0);
    return true;
  }

  statistics(): Float64Array {
    return this.posterior.statistics();
  }

  /**
   * Also sums the open widths again. Buffered widths themselves stay as they are. Exact ones follow from the features of the open
   * impressions, which are put in order of time if the posterior is a sum.
   */
  refactor(): void {
    this.posterior.refactor();
    this.#options.evidence?.refactor();
    this.#compact();
    if (this.#options.norms === "exact" && this.posterior.merge) this.#sort();
    this.#sum = this.#widths.reduce((sum, width) => sum + width, 0);
  }

  /** Sorts open impressions by time and features, and drops those whose window had closed by the latest of them. */
  #sort(): void {
    const d = this.posterior.dimension;
    const open = this.#times.map((time, i) => ({ time, features: this.#features.slice(i * d, (i + 1) * d) }));
    const first = (a: readonly number[], b: readonly number[]): number => a.findIndex((each, i) => each !== b[i]);
    open.sort((a, b) => {
      const i = a.time === b.time ? first(a.features, b.features) : -1;
      return i < 0 ? a.time - b.time : a.features[i] - b.features[i];
    });
    this.#times = open.map(({ time }) => time);
    this.#features = open.flatMap(({ features }) => features);
    this.#widths = open.map(() => 0);
    const latest = this.#times.at(-1) ?? 0;
    this.#forget(this.#firstOpen({ round: latest, now: latest }));
    this.#compact();
  }

  /** Adds the sums and the open impressions of another posterior with the same options and exact norms. Call `refactor` afterwards. */
  merge(other: DelayedPosterior<P>): void {
    for (const each of [this, other]) each.#compact();
    this.posterior.merge?.(other.posterior);
    this.#times = [...this.#times, ...other.#times];
    this.#features = [...this.#features, ...other.#features];
    this.#widths = this.#times.map(() => 0);
  }

  save(writer: SnapshotWriter): void {
    this.#compact();
    this.posterior.save(writer);
    writer.numbers([this.#sum], this.#times, this.#widths, this.#features, this.#slots);
    this.#options.evidence?.save(writer);
  }

  load(reader: SnapshotReader): void {
    this.posterior.load(reader);
    [this.#sum] = reader.numbers(1);
    this.#times = Array.from(reader.numbers());
    this.#widths = Array.from(reader.numbers(this.#times.length));
    const { norms, evidence } = this.#options;
    const kept = norms === "exact" || evidence ? this.#times.length * this.posterior.dimension : 0;
    this.#features = Array.from(reader.numbers(kept));
    this.#slots = Array.from(reader.numbers(evidence ? this.#times.length : 0));
    evidence?.load(reader);
    this.#head = 0;
    if (this.#widths.some((width) => width < 0)) throw malformed();
  }
}

// A posterior that counts silence as 0, with the widths of the impressions that it may do wrong.

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

/** An impression whose window is open. */
interface Open {
  readonly time: number;
  readonly width: number;
  /** Empty unless exact widths or the evidence need them. */
  readonly features: Float64Array;
  /** With evidence: its slot, or -1 once it has converted. */
  slot: number;
}

const NO_FEATURES = /* @__PURE__ */ new Float64Array(0);

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
  /** In order of arrival. */
  #open: Open[] = [];
  #sum = 0;

  constructor(posterior: P, window: Window, options: DelayedPosteriorOptions) {
    this.posterior = posterior;
    this.#window = window;
    this.#options = options;
  }

  /** Number of impressions, from the first on, whose windows have closed by `moment`. */
  #closedBy(moment: Moment): number {
    const oldest = timeOf(this.#window, moment) - spanOf(this.#window);
    const open = this.#open.findIndex(({ time }) => !(time < oldest));
    return open < 0 ? this.#open.length : open;
  }

  /** Sum of the widths of the impressions open at `moment`. **Cost:** exact: one posterior width each; buffered: O(1) amortised. */
  openWidth(moment: Moment): number {
    const closed = this.#closedBy(moment);
    // An empty window sums to exactly zero, whatever rounding error the sum has.
    if (closed === this.#open.length) return 0;
    if (this.#options.norms === "exact") {
      // Plain loops: a slice and callbacks would take as long as a decision among few candidates.
      const d = this.posterior.dimension;
      const features = new Float64Array((this.#open.length - closed) * d);
      for (let i = closed; i < this.#open.length; i++) features.set(this.#open[i].features, (i - closed) * d);
      const { deviation } = this.posterior.moments(features);
      let sum = 0;
      for (let i = 0; i < deviation.length; i++) sum += this.#options.measure(deviation[i]);
      return sum;
    }
    let sum = this.#sum;
    for (let i = 0; i < closed; i++) sum -= this.#open[i].width;
    return Math.max(sum, 0);
  }

  append(features: Float64Array, moment: Moment): number {
    const { norms, buffer, evidence } = this.#options;
    const before = buffer === "before" ? this.#width(features) : 0;
    const slot = this.posterior.append(features);
    const width = buffer === "after" ? this.#width(features) : before;
    this.#close(moment);
    const own = norms === "exact" || evidence ? features.slice() : NO_FEATURES;
    this.#open.push({ time: timeOf(this.#window, moment), width, features: own, slot });
    this.#sum += width;
    this.#options.elapse?.();
    return slot;
  }

  #width(features: Float64Array): number {
    // Exact widths are computed in `openWidth`.
    return this.#options.norms === "exact" ? 0 : this.#options.measure(this.posterior.deviation(features));
  }

  #close(moment: Moment): void {
    for (let closed = this.#closedBy(moment); closed > 0; closed--) {
      const [{ width, slot, features }] = this.#open;
      this.#sum -= width;
      if (slot >= 0) this.#options.evidence?.append(features);
      this.#open.shift();
    }
  }

  observe(impression: AppendedImpression, reward: number, previous: number | undefined): void {
    this.posterior.reward(impression, reward, previous ?? 0);
    const process = this.#options.evidence;
    if (!process) return;
    const { features } = impression;
    const slot = previous === undefined && this.#settle(impression) ? process.append(features) : process.locate(features);
    process.reward({ features, slot }, reward, previous ?? 0);
  }

  /** Marks an open impression as converted. False if its window has closed: `#close` has counted it. */
  #settle(impression: AppendedImpression): boolean {
    const time = timeOf(this.#window, impression);
    const open = this.#open.findLast((each) => each.time === time && each.slot === impression.slot);
    if (open) open.slot = -1;
    return open !== undefined;
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
    const held = new Set(this.#open.filter((each) => features.every((coordinate, j) => coordinate === each.features[j])));
    if (held.size === 0) return false;
    if (standIn) {
      this.#open = this.#open.map((each) => (held.has(each) ? { ...each, features: standIn } : each));
      return true;
    }
    this.#open = this.#open.filter((each) => !held.has(each));
    this.#sumUp();
    return true;
  }

  #sumUp(): void {
    this.#sum = this.#open.reduce((sum, { width }) => sum + width, 0);
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
    if (this.#options.norms === "exact" && this.posterior.merge) this.#sort();
    this.#sumUp();
  }

  /** Sorts open impressions by time and features, and drops those whose window had closed by the latest of them. */
  #sort(): void {
    this.#open.sort((a, b) => {
      const i = a.time === b.time ? a.features.findIndex((each, j) => each !== b.features[j]) : -1;
      return i < 0 ? a.time - b.time : a.features[i] - b.features[i];
    });
    const latest = this.#open.at(-1)?.time ?? 0;
    this.#close({ round: latest, now: latest });
  }

  /** Adds the sums and the open impressions of another posterior with the same options and exact norms. Call `refactor` afterwards. */
  merge(other: DelayedPosterior<P>): void {
    this.posterior.merge?.(other.posterior);
    this.#open = [...this.#open, ...other.#open];
  }

  save(writer: SnapshotWriter): void {
    this.posterior.save(writer);
    const features = this.#open.flatMap((each) => [...each.features]);
    const { evidence } = this.#options;
    const column = (name: "time" | "width" | "slot") => this.#open.map((each) => each[name]);
    writer.numbers([this.#sum], column("time"), column("width"), features, evidence ? column("slot") : []);
    evidence?.save(writer);
  }

  load(reader: SnapshotReader): void {
    this.posterior.load(reader);
    [this.#sum] = reader.numbers(1);
    const times = reader.numbers();
    const widths = reader.numbers(times.length);
    const { norms, evidence } = this.#options;
    const d = norms === "exact" || evidence ? this.posterior.dimension : 0;
    const features = reader.numbers(times.length * d);
    const slots = reader.numbers(evidence ? times.length : 0);
    evidence?.load(reader);
    if (widths.some((width) => width < 0)) throw malformed();
    this.#open = Array.from(times, (time, i) => {
      return { time, width: widths[i], features: features.slice(i * d, (i + 1) * d), slot: slots[i] ?? 0 };
    });
  }
}

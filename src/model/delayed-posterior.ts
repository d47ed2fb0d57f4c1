import { malformed, type SnapshotReader, type SnapshotWriter } from "../snapshot.ts";
import type { AppendedPoint, Moments, Posterior } from "./posterior.ts";
import type { Moment, Window } from "./window.ts";

export interface DelayedPosteriorOptions {
  /**
   * The width of a pending impression by the posterior of now ("exact"), which keeps its features,
   * or by the one of its own time ("buffered"), which keeps one number.
   */
  readonly norms: "exact" | "buffered";
  /** What of a standard deviation is added up: itself, or its square. */
  readonly measure: (deviation: number) => number;
  /** Whether the buffered width is taken before the impression is in the posterior, or after. */
  readonly buffer: "before" | "after";
}

/**
 * A posterior in which an impression counts from the moment it is made, with the reward 0 until it converts,
 * and the impressions whose window is open, whose widths a delay-aware policy adds to its bonus.
 *
 * The sum runs over all impressions of the window, converted or not: it does not depend on conversions. They leave it in the
 * order in which they came, so one that is registered afterwards leaves with those before it.
 * **Source:** Vernade et al. 2020, Alg. 1 and section 4; Verma et al. 2022, eq. 5.
 */
export class DelayedPosterior<P extends Posterior> {
  readonly posterior: P;
  readonly #window: Window;
  readonly #options: DelayedPosteriorOptions;
  #times: number[] = [];
  #widths: number[] = [];
  #features: number[] = [];
  #head = 0;
  #sum = 0;

  constructor(posterior: P, window: Window, options: DelayedPosteriorOptions) {
    this.posterior = posterior;
    this.#window = window;
    this.#options = options;
  }

  #time(moment: Moment): number {
    return typeof this.#window === "object" && "ms" in this.#window ? (moment.now ?? 0) : moment.round;
  }

  /** Index of the first impression whose window is still open at `moment`. */
  #firstOpen(moment: Moment): number {
    if (this.#window === "none") return this.#head;
    const span = "ms" in this.#window ? this.#window.ms : this.#window.rounds;
    const oldest = this.#time(moment) - span;
    let index = this.#head;
    while (index < this.#times.length && this.#times[index] < oldest) index++;
    return index;
  }

  /** Sum of the widths of what is open at `moment`. **Cost:** exact, one posterior width each; buffered, O(1) amortised. */
  openWidth(moment: Moment): number {
    const open = this.#firstOpen(moment);
    // An empty window sums to zero exactly, whatever the rounding of what left it.
    if (open === this.#times.length) return 0;
    if (this.#options.norms === "exact") {
      const features = Float64Array.from(this.#features.slice(open * this.posterior.dimension));
      return this.posterior.moments(features).deviation.reduce((sum, deviation) => sum + this.#options.measure(deviation), 0);
    }
    let sum = this.#sum;
    for (let i = this.#head; i < open; i++) sum -= this.#widths[i];
    return Math.max(sum, 0);
  }

  append(features: Float64Array, moment: Moment): number {
    const { norms, buffer } = this.#options;
    const before = buffer === "before" ? this.#width(features) : 0;
    const slot = this.posterior.append(features);
    this.posterior.elapse();
    const width = buffer === "after" ? this.#width(features) : before;
    this.#forget(this.#firstOpen(moment));
    this.#times.push(this.#time(moment));
    this.#widths.push(width);
    if (norms === "exact") for (const feature of features) this.#features.push(feature);
    this.#sum += width;
    return slot;
  }

  #width(features: Float64Array): number {
    // Exact widths are computed when they are asked for.
    return this.#options.norms === "exact" ? 0 : this.#options.measure(this.posterior.moments(features).deviation[0]);
  }

  #forget(open: number): void {
    for (; this.#head < open; this.#head++) this.#sum -= this.#widths[this.#head];
    if (this.#head > 1024 && 2 * this.#head > this.#times.length) this.#compact();
  }

  #compact(): void {
    this.#times = this.#times.slice(this.#head);
    this.#widths = this.#widths.slice(this.#head);
    this.#features = this.#features.slice(this.#head * this.posterior.dimension);
    this.#head = 0;
  }

  observe(impression: AppendedPoint, reward: number, previous = 0): void {
    this.posterior.reward(impression, reward, previous);
  }

  predict(points: Float64Array): Moments {
    return this.posterior.moments(points);
  }

  statistics(): Float64Array {
    return this.posterior.statistics();
  }

  save(writer: SnapshotWriter): void {
    this.#compact();
    this.posterior.save(writer);
    writer.numbers([this.#sum]);
    writer.numbers(this.#times);
    writer.numbers(this.#widths);
    writer.numbers(this.#features);
  }

  load(reader: SnapshotReader): void {
    this.posterior.load(reader);
    [this.#sum] = reader.numbers(1);
    this.#times = Array.from(reader.numbers());
    this.#widths = Array.from(reader.numbers(this.#times.length));
    const kept = this.#options.norms === "exact" ? this.#times.length * this.posterior.dimension : 0;
    this.#features = Array.from(reader.numbers(kept));
    this.#head = 0;
    if (this.#widths.some((width) => width < 0)) throw malformed();
  }
}

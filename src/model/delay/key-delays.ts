// The delays and rewards of one product, in wider bins of delays than the common ones, because it has few conversions.

import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import { ExactSums } from "../exact-sums.ts";
import { Cohorts } from "./cohorts.ts";
import { binEnd, binOf, type DelayCurve, type DelaySettings, LONGEST } from "./delays.ts";
import { type CommonBins, type Events, within } from "./pooled-laws.ts";

/** Bins of `Delays` in one bin of a key: two bins for each doubling of the delay. */
const MERGED = 4;
/** Cohorts of one length before the length doubles. At 4 a cohort is at most half as long as old. */
const SAME = 4;
/** Sums before those of the bins. */
const HEAD = 2;

/** The bin of a delay in resolutions, and the end of a bin. */
const keyBin = (steps: number): number => Math.floor(binOf(steps) / MERGED);
const keyBinEnd = (bin: number): number => binEnd(MERGED * bin + MERGED - 1);

/** The impressions of one key by age, their conversions by delay, and their rewards. */
export class KeyDelays {
  readonly #resolution: number;
  readonly #bins: number;
  /** Sums: weight of the impressions, number of conversions, then conversions by delay. */
  readonly #cohorts: Cohorts;
  /** Sums as in `#cohorts`, over impressions older than the window. */
  #settled: Float64Array;
  /** Sum of rewards, and of their squares. */
  #rewards = new ExactSums(new Float64Array(2));
  /** Events at a time. Undefined after a change. */
  #events: (Events & { readonly start: number }) | undefined;

  constructor({ resolution, cohort, span }: DelaySettings) {
    this.#resolution = resolution;
    this.#bins = keyBin(Math.min(span / resolution, LONGEST)) + 1;
    this.#cohorts = new Cohorts(cohort, span, HEAD + this.#bins, SAME);
    this.#settled = new Float64Array(HEAD + this.#bins);
  }

  /** Counts `count` impressions shown at `time`. */
  append(time: number, count: number): void {
    (this.#cohorts.append(time, count)?.sums.values ?? this.#settled)[0] += count;
    this.#events = undefined;
  }

  /** Undoes `add`. */
  remove(time: number): void {
    (this.#cohorts.cohortAt(time)?.sums.values ?? this.#settled)[0]--;
    this.#cohorts.remove(time);
    this.#events = undefined;
  }

  /** Whether it has counted nothing, but for what was removed again. */
  get isEmpty(): boolean {
    return this.#cohorts.list.length === 0 && this.#settled.every((each) => each === 0);
  }

  /** Counts a conversion `delay` after an impression shown at `time`. With `sign` -1 removes it. */
  convert(time: number, delay: number, sign: 1 | -1): void {
    const sums = this.#cohorts.cohortAt(time)?.sums.values ?? this.#settled;
    sums[1] += sign;
    this.#events = undefined;
    sums[HEAD + Math.min(keyBin(delay / this.#resolution), this.#bins - 1)] += sign;
  }

  /** Replaces the reward of an impression that weighs `weight`. */
  reward(weight: number, after: number, before: number): void {
    // Two additions each: a square is rounded, and what was added is taken away to the bit.
    for (const [own, sign] of [[after, 1] as const, [before, -1] as const]) {
      this.#rewards.add(0, sign * weight * own);
      this.#rewards.add(1, sign * weight * (own * own));
    }
  }

  /** Number of conversions, sum of rewards, and of their squares. */
  get brought(): { readonly conversions: number; readonly rewards: number; readonly squares: number } {
    const conversions = this.#cohorts.list.reduce((sum, { sums }) => sum + sums.values[1], this.#settled[1]);
    return { conversions, rewards: this.#rewards.values[0], squares: this.#rewards.values[1] };
  }

  /** Moves on to `time`. */
  advance(time: number): void {
    for (const { sums } of this.#cohorts.advance(time)) for (let i = 0; i < sums.length; i++) this.#settled[i] += sums.values[i];
  }

  /** Adds what another key with the same settings has counted, which loses it. Call `advance` afterwards. */
  merge(other: KeyDelays): void {
    for (let i = 0; i < this.#settled.length; i++) this.#settled[i] += other.#settled[i];
    this.#cohorts.merge(other.#cohorts);
    this.#rewards.addAll(other.#rewards);
    this.#events = undefined;
  }

  /** Halves the weight of all impressions and rewards. Conversions stay: a law of delays is never forgotten. */
  halve(): void {
    this.#rewards.scale(1 / 2);
    for (const sums of [this.#settled, ...this.#cohorts.list.map((each) => each.sums.values)]) sums[0] /= 2;
  }

  /** Bins of the common law that fit those of a key. */
  common(curve: DelayCurve): CommonBins {
    const ends = new Float64Array(this.#bins);
    for (let b = 0; b < ends.length; b++) ends[b] = keyBinEnd(b) * this.#resolution;
    const below = ends.map((end) => curve.below(end));
    return { curve, ends, below, hazard: below.map((each, b) => (b > 0 && each > 0 ? 1 - below[b - 1] / each : 1)) };
  }

  /**
   * The events of each bin, from impressions that are old enough for its delays. Ages are those at the start of the youngest cohort,
   * so events change with conversions and with that cohort alone. **Cost:** O(cohorts x bins) after a change.
   */
  events(time: number, { ends }: CommonBins): Events {
    const start = Math.floor(time / this.#cohorts.unit) * this.#cohorts.unit;
    if (this.#events?.start === start) return this.#events;
    const events = new Float64Array(this.#bins);
    const risk = new Float64Array(this.#bins);
    const count = (sums: Float64Array, age: number): void => {
      for (let b = 0, seen = 0; b < ends.length && age >= ends[b]; b++) {
        const own = sums[HEAD + b];
        seen += own;
        events[b] += own;
        risk[b] += seen;
      }
    };
    count(this.#settled, Number.POSITIVE_INFINITY);
    for (const cohort of this.#cohorts.list) {
      if (cohort.sums.values[1] > 0) count(cohort.sums.values, this.#cohorts.age(cohort, start) + this.#resolution);
    }
    this.#events = { start, events, risk };
    return this.#events;
  }

  /** The weight of the matured impressions at `time`, by the common law and by the key's own. `own`: P(delay < end). */
  matured(time: number, { curve, below }: CommonBins, own: Float64Array): { readonly byCommon: number; readonly byOwn: number } {
    let [byCommon, byOwn] = [this.#settled[0], this.#settled[0]];
    for (const cohort of this.#cohorts.list) {
      const age = Math.max(this.#cohorts.age(cohort, time), 0) + this.#resolution;
      const common = curve.below(age);
      const bin = keyBin(age / this.#resolution);
      byCommon += cohort.sums.values[0] * common;
      byOwn += cohort.sums.values[0] * (bin < this.#bins ? within(common, below, own, bin) : 1);
    }
    return { byCommon, byOwn };
  }

  save(writer: Pick<SnapshotWriter, "numbers">): void {
    writer.numbers(this.#settled);
    this.#rewards.save(writer);
    this.#cohorts.save(writer);
  }

  load(reader: Pick<SnapshotReader, "numbers">): void {
    this.#settled = reader.numbers(HEAD + this.#bins);
    this.#rewards = ExactSums.load(reader, 2);
    this.#cohorts.load(reader);
    this.#events = undefined;
    for (const sums of [this.#settled, ...this.#cohorts.list.map((each) => each.sums.values)])
      if (sums.some((each) => !(each >= 0))) throw malformed();
  }
}

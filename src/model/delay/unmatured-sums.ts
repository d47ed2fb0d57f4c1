// The part of sums over impressions that has not matured yet. It does not know what is summed.

import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { ReportedDelay } from "../posterior.ts";
import { type Cohort, Cohorts } from "./cohorts.ts";
import { Decays } from "./decays.ts";
import { type DelayCurve, type DelaySettings, Delays } from "./delays.ts";
import { isInMs, type Moment, timeOf, type Window } from "./window.ts";

/** Youngest cohorts of delays in a window, and resolutions of delays in it. */
const COHORTS = 64;
const STEPS = 16384;
/** Length of the youngest cohorts of sums, in youngest cohorts of delays. */
const COARSE = 16;
/** Cohorts of sums of one length before the length doubles. */
const SAME = 1;

/** A fine cohort, the coarse one that it is in, and its impressions by weight. */
interface Part {
  readonly fine: Cohort;
  readonly cohort: Cohort;
  readonly count: number;
}

/**
 * The unmatured part of sums over impressions: 1 - F(s) of an impression of age s. F is the distribution of delays so far.
 *
 * Delays are counted in fine cohorts of age. Sums may be long, so they are kept in coarse cohorts, at most five in a window. A coarse
 * cohort has the mean maturity of its impressions, taken from the fine cohorts. Only differences within a coarse cohort are lost.
 *
 * Coarse cohorts leave with the window, or stay for ever: 1.5 for each doubling of age.
 */
export class UnmaturedSums {
  readonly #delays: Delays;
  readonly #cohorts: Cohorts;
  readonly #size: number;
  readonly #window: Window;
  readonly #knownDelay: number | undefined;
  readonly #decays = new Decays();
  /** The last result of `missing`, reused because it is long. */
  #missing: Float64Array | undefined;
  /** Time of the clock: the latest impression. Maturity is measured at this time. */
  #now = 0;

  /**
   * `size`: length of the sums. `lasting`: whether cohorts stay when their window has passed. `scalars`: how many single numbers each has.
   * `knownDelay`: the age at which rewards are revealed, in the unit of the window; undefined if it is learnt.
   */
  constructor(
    window: Window,
    size: number,
    {
      lasting = false,
      scalars = 0,
      knownDelay,
    }: { readonly lasting?: boolean; readonly scalars?: number; readonly knownDelay?: number } = {},
  ) {
    const { resolution, cohort, span } = scales(window);
    this.#delays = new Delays({ resolution, cohort, span });
    this.#cohorts = new Cohorts(COARSE * cohort, lasting ? Number.MAX_VALUE : span, size, SAME, scalars);
    this.#size = size;
    this.#window = window;
    this.#knownDelay = knownDelay;
  }

  /**
   * Counts an impression, as `count` of one, and moves the clock on to `clock`. Returns its cohort, to whose sums the caller adds. Undefined
   * if it is too old for one.
   */
  append(moment: Moment, count = 1, clock = moment): Cohort | undefined {
    this.advance(clock);
    const time = timeOf(this.#window, moment);
    this.#delays.append(time, count);
    const cohort = this.#cohorts.append(time, count);
    if (moment === clock) return cohort;
    // The cohort of this impression grows at once: the clock may stand still for a while.
    this.advance(clock);
    return this.cohortOf(moment);
  }

  /** Undoes `add`. The caller has subtracted from the sums. */
  remove(moment: Moment): void {
    const time = timeOf(this.#window, moment);
    this.#delays.remove(time);
    this.#cohorts.remove(time);
  }

  /** Moves the clock on to a moment. */
  advance(moment: Moment): void {
    this.#now = Math.max(this.#now, timeOf(this.#window, moment));
    this.#delays.advance(this.#now);
    this.#cohorts.advance(this.#now);
  }

  /** The distribution of delays, with ages at the time of the latest impression. */
  curve(): DelayCurve {
    return this.#delays.curve(this.#now);
  }

  /** The sums of each cohort. */
  get parts(): readonly Float64Array[] {
    return this.#cohorts.list.map(({ sums }) => sums.values);
  }

  /** Oldest first. */
  get cohorts(): readonly Cohort[] {
    return this.#cohorts.list;
  }

  /** The cohort of an impression. Undefined if it has none, or none any more. */
  cohortOf(impression: Moment): Cohort | undefined {
    return this.#cohorts.cohortAt(timeOf(this.#window, impression));
  }

  /** Start of a cohort, in the unit of the window. */
  start(cohort: Cohort): number {
    return cohort.start * this.#cohorts.unit;
  }

  /**
   * Counts how late an impression converted: `delay`, if it is reported. Otherwise a first conversion (no `previous`) counts as made
   * at the time of the latest impression.
   */
  observe(impression: Moment, previous: number | undefined, delay?: ReportedDelay): void {
    countDelay(this.#delays, timeOf(this.#window, impression), this.#now, previous, delay);
  }

  /** The coarse cohort of a fine one. Undefined if it has none any more. */
  #coarse({ start }: Cohort): Cohort | undefined {
    return this.#cohorts.at(Math.floor(start / COARSE));
  }

  /** The unmatured share of each cohort's impressions, by what they still weigh. */
  shares(): Map<Cohort, number> {
    const curve = this.curve();
    const shares = new Map(this.#cohorts.list.map((cohort) => [cohort, 0]));
    const parts = this.#parts();
    const weighed = this.#weighed(parts);
    for (const { fine, cohort, count } of parts) {
      const missing =
        this.#knownDelay === undefined
          ? 1 - this.#delays.matured(fine, curve, this.#now)
          : 1 - this.#delays.cohorts.shareBefore(fine, this.#now - this.#knownDelay, this.#now);
      shares.set(cohort, (shares.get(cohort) as number) + (missing * count) / (weighed?.get(cohort) ?? cohort.count));
    }
    return shares;
  }

  /** The end of the latest impression's round, or its time in ms. */
  get #end(): number {
    return isInMs(this.#window) ? this.#now : this.#now + 1;
  }

  /** Weight of the impressions of a fine cohort, after forgetting. */
  #weightOf(fine: Cohort): number {
    return this.#decays.isEmpty ? 1 : this.#decays.weightOf(fine, this.#delays.cohorts, this.#end);
  }

  /** The fine cohorts that have a coarse one. `count`: their impressions, by what they still weigh. */
  #parts(): Part[] {
    const parts: Part[] = [];
    for (const fine of this.#delays.cohorts.list) {
      const cohort = this.#coarse(fine);
      if (cohort) parts.push({ fine, cohort, count: fine.count * this.#weightOf(fine) });
    }
    return parts;
  }

  /** Impressions of each cohort, by what they still weigh. Undefined if all weigh 1. */
  #weighed(parts: readonly Part[]): Map<Cohort, number> | undefined {
    if (this.#decays.isEmpty) return undefined;
    const weighed = new Map<Cohort, number>();
    const passed = new Map(this.#cohorts.list.map((cohort) => [cohort, cohort.count]));
    for (const { fine, cohort, count } of parts) {
      weighed.set(cohort, (weighed.get(cohort) ?? 0) + count);
      passed.set(cohort, (passed.get(cohort) as number) - fine.count);
    }
    // The fine cohorts that passed the window were the oldest of their coarse one. They weigh what its first part weighs.
    for (const [cohort, count] of passed) {
      const first = this.#decays.weightOf({ ...cohort, length: 1 / COARSE }, this.#cohorts, this.#end);
      weighed.set(cohort, (weighed.get(cohort) ?? 0) + Math.max(count, 0) * first);
    }
    return weighed;
  }

  /** The unmatured part of all sums, in which a cohort has a weight. Valid until the next call. **Cost:** O(size) for each cohort. */
  missing(weightOf: (cohort: Cohort) => number = () => 1): Float64Array {
    this.#missing ??= new Float64Array(this.#size);
    const sums = this.#missing.fill(0);
    for (const [cohort, missing] of this.shares()) {
      const share = missing * weightOf(cohort);
      if (share > 0) for (let i = 0; i < sums.length; i++) sums[i] += share * cohort.sums.values[i];
    }
    return sums;
  }

  /**
   * Standard error of the matured share of impressions, relative to that share. Errors at different ages have the same cause, a few
   * conversions, so they add up. `count`: all impressions, by what they still weigh. A cohort has a weight.
   */
  maturityError(count: number, weightOf: (cohort: Cohort) => number = () => 1): number {
    if (this.#knownDelay !== undefined) return 0;
    const curve = this.#delays.curve(this.#now);
    let [error, missing] = [0, 0];
    for (const fine of this.#delays.cohorts.list) {
      const cohort = this.#coarse(fine);
      const own = fine.count * this.#weightOf(fine) * (cohort ? weightOf(cohort) : 1);
      error += own * this.#delays.error(fine, curve, this.#now);
      missing += own * (1 - this.#delays.matured(fine, curve, this.#now));
    }
    return error === 0 ? 0 : error / Math.max(count - missing, error);
  }

  /** Halves the sums. The counts of delays stay. */
  halve(): void {
    for (const { sums, scalars } of this.#cohorts.list) for (const each of [sums, scalars]) each.scale(1 / 2);
    this.decayed(1 / 2);
  }

  /** Says that the owner multiplied the sums by a factor. */
  decayed(factor: number): void {
    this.#decays.add(this.#end, factor);
  }

  /** Joins the cohorts that have grown old, so that they follow from the impressions and the latest time alone. */
  refactor(): void {
    this.#delays.advance(this.#now);
    this.#cohorts.advance(this.#now);
  }

  /** Adds the sums of others with the same settings, which lose theirs. */
  merge(other: UnmaturedSums): void {
    this.#now = Math.max(this.#now, other.#now);
    this.#delays.merge(other.#delays);
    this.#cohorts.merge(other.#cohorts);
    this.refactor();
  }

  save(writer: Pick<SnapshotWriter, "numbers">): void {
    writer.numbers([this.#now, ...this.#decays.numbers()]);
    this.#delays.save(writer);
    this.#cohorts.save(writer);
  }

  load(reader: Pick<SnapshotReader, "numbers">): void {
    const [now, ...decays] = reader.numbers();
    if (now === undefined) throw malformed();
    this.#now = now;
    this.#decays.load(decays);
    this.#delays.load(reader);
    this.#cohorts.load(reader);
  }
}

/** Counts the delay of an impression shown at `time`, as `UnmaturedSums.observe` says. `now`: the time of the latest impression. */
export function countDelay(
  delays: { convert(time: number, delay: number, sign: 1 | -1): void },
  time: number,
  now: number,
  previous: number | undefined,
  delay: ReportedDelay | undefined,
): void {
  if (delay?.before !== undefined) delays.convert(time, delay.before, -1);
  const after = delay ? delay.after : previous === undefined ? Math.max(now - time, 0) : undefined;
  if (after !== undefined) delays.convert(time, after, 1);
}

/** Resolution of delays, length of the youngest cohorts, and longest age, in the unit of the window. */
export function scales(window: Window): DelaySettings {
  if (window === "none") return { resolution: 1, cohort: 1, span: Number.MAX_VALUE };
  if (isInMs(window)) return { resolution: window.ms / STEPS, cohort: window.ms / COHORTS, span: window.ms };
  return { resolution: 1, cohort: Math.max(1, Math.floor(window.rounds / COHORTS)), span: window.rounds };
}

// Sums by age in few numbers, whatever the order of arrival. It does not know what is summed.

import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import { ExactSums } from "../exact-sums.ts";

/** Sums over the impressions of one time interval. */
export interface Cohort {
  /** The interval, in units. `length` is a power of two and `start` a multiple of it. */
  start: number;
  length: number;
  /** Impressions, by examination weight. */
  count: number;
  /** Sum of their times, by the same weight, in the unit of times. Exact for whole milliseconds. */
  readonly times: ExactSums;
  /** Sums that the owner defines: vectors, and single numbers of any size. */
  readonly sums: ExactSums;
  readonly scalars: ExactSums;
}

/** No time yet. */
const NEVER = Number.MIN_SAFE_INTEGER;
/** Many more than there are after 2^53 units of time. */
const MOST_COHORTS = 1024;
/** Splits a time since 1970 into two parts of about 21 bits: 2^21. */
const SPLIT = 2097152;
/** Numbers of a cohort in a snapshot, beside its sums. */
const FIELDS = 5;

/**
 * Impressions grouped by time into a few cohorts: short ones for young impressions, long ones for old. Each doubling of age has at
 * most same / 2 + 1 cohorts.
 *
 * Intervals are dyadic and follow from the latest time alone, so their sums do not depend on the order of arrival, and those of several
 * cohorts add up (`merge`).
 */
export class Cohorts {
  readonly unit: number;
  readonly #span: number;
  readonly #size: number;
  readonly #same: number;
  readonly #scalars: number;
  /** Oldest first. */
  #list: Cohort[] = [];
  #newest = NEVER;
  /** Whether the list has a new cohort since the last `advance`. */
  #untidy = false;

  /**
   * `unit`: length of the youngest cohorts, and `span`: age at which `advance` hands a cohort back, both in the unit of times.
   * `size`: length of `sums`. `same`: cohorts of one length before the length doubles. At 4 a cohort is at most half as long as old.
   * `scalars`: their number.
   */
  constructor(unit: number, span: number, size: number, same = 4, scalars = 0) {
    this.unit = unit;
    this.#span = span;
    this.#size = size;
    this.#same = same;
    this.#scalars = scalars;
  }

  get list(): readonly Cohort[] {
    return this.#list;
  }

  /** Mean age of a cohort's impressions at `time`. */
  age({ start, count, times }: Cohort, time: number): number {
    // From a millisecond before its start on: a sum of times since 1970 leaves few digits for ages. Both products are exact.
    const origin = Math.floor(start * this.unit);
    const low = origin % SPLIT;
    const elapsed = times.values[0] - count * (origin - low) - count * low;
    return time - origin - elapsed / count;
  }

  /** The cohort of an impression shown at `time`. Undefined if the impression is too old for one. */
  cohortAt(time: number): Cohort | undefined {
    return this.at(Math.floor(time / this.unit));
  }

  /** The cohort whose interval contains the unit with this index. Undefined if the unit is past the span. */
  at(index: number): Cohort | undefined {
    if (this.#hasPassed(index, 1)) return undefined;
    // From the youngest on: most calls ask for that.
    for (let i = this.#list.length - 1; i >= 0; i--) {
      const { start, length } = this.#list[i];
      if (start <= index) return index < start + length ? this.#list[i] : undefined;
    }
    return undefined;
  }

  /** Counts `count` impressions shown at `time` and returns their cohort. Undefined if they are too old for one. */
  append(time: number, count = 1): Cohort | undefined {
    const start = Math.floor(time / this.unit);
    if (this.#hasPassed(start, 1)) return undefined;
    let cohort = this.at(start);
    if (!cohort) {
      cohort = { start, length: 1, count: 0, times: sumsOf(1), sums: sumsOf(this.#size), scalars: sumsOf(this.#scalars) };
      const later = this.#list.findIndex((other) => other.start > start);
      this.#list.splice(later < 0 ? this.#list.length : later, 0, cohort);
      this.#untidy = true;
    }
    cohort.count += count;
    cohort.times.add(0, count * time);
    return cohort;
  }

  /** Undoes `add` of one impression. Its cohort may have been handed back already. */
  remove(time: number): void {
    const cohort = this.cohortAt(time);
    if (!cohort) return;
    cohort.count--;
    cohort.times.add(0, -time);
    // A cohort of none has no mean age.
    if (cohort.count === 0) this.#list = this.#list.filter((other) => other !== cohort);
  }

  /** Share of a cohort's impressions shown by `time`, as if they were spread evenly over its interval up to `now`. */
  shareBefore({ start, length }: Cohort, time: number, now: number): number {
    if (time >= now) return 1;
    const end = Math.min(start + length, now / this.unit);
    return Math.min(Math.max((time / this.unit - start) / (end - start), 0), 1);
  }

  /** The latest time at which the interval of this length that contains `index` had not doubled, in units. */
  #doubles(index: number, length: number): number {
    return Math.floor(index / (2 * length)) * (2 * length) + 2 * length + this.#same * length;
  }

  /**
   * Whether the interval of this length that contains `index`, or one that it has grown to since, was ever older than the span. So the
   * answer follows from the latest time alone, however the clock came there.
   */
  #hasPassed(index: number, length: number): boolean {
    for (let own = length; (this.#newest - index - 1) * this.unit > this.#span; own *= 2) {
      const end = Math.floor(index / own) * own + own;
      const doubles = this.#doubles(index, own);
      if ((Math.min(this.#newest, doubles) - end) * this.unit > this.#span) return true;
      // NaN fails this comparison, and ends the loop.
      if (!(this.#newest >= doubles)) return false;
    }
    return false;
  }

  /** Moves on to `time`; the clock never goes back. Joins cohorts that have grown old. Removes and returns those past the span. */
  advance(time: number): Cohort[] {
    const newest = Math.max(this.#newest, Math.floor(time / this.unit));
    if (newest === this.#newest && !this.#untidy) return [];
    this.#newest = newest;
    this.#untidy = false;
    const passed: Cohort[] = [];
    const joined: Cohort[] = [];
    for (const cohort of this.#list) {
      if (this.#hasPassed(cohort.start, cohort.length)) {
        passed.push(cohort);
        continue;
      }
      this.#grow(cohort);
      const before = joined.at(-1);
      if (before && cohort.start < before.start + before.length) join(before, cohort);
      else joined.push(cohort);
    }
    this.#list = joined;
    return passed;
  }

  /** Doubles the length of a cohort until it fits the cohort's age. */
  #grow(cohort: Cohort): void {
    // NaN fails this comparison, and ends the loop.
    while (this.#newest >= this.#doubles(cohort.start, cohort.length)) {
      cohort.length *= 2;
      cohort.start = Math.floor(cohort.start / cohort.length) * cohort.length;
    }
  }

  /** Adds the cohorts of others with the same unit, span and size, which lose theirs. Call `advance` afterwards. */
  merge(other: Cohorts): void {
    this.#newest = Math.max(this.#newest, other.#newest);
    this.#list = [...this.#list, ...other.#list].sort((a, b) => a.start - b.start);
    other.#list = [];
    this.#untidy = true;
  }

  save(writer: Pick<SnapshotWriter, "numbers">): void {
    const list = this.#list;
    const fields = list.flatMap(({ start, length, count, times }) => [start, length, count, times.values[0], times.rests()[1] ?? 0]);
    writer.numbers([this.#newest, ...fields]);
    for (const { sums, scalars } of list) {
      sums.save(writer);
      if (this.#scalars > 0) scalars.save(writer);
    }
  }

  load(reader: Pick<SnapshotReader, "numbers">): void {
    const [newest, ...fields] = reader.numbers();
    if (newest === undefined || fields.length % FIELDS !== 0 || fields.length > FIELDS * MOST_COHORTS) throw malformed();
    this.#newest = newest;
    this.#untidy = true;
    this.#list = Array.from({ length: fields.length / FIELDS }, (_, i) => {
      const [start, length, count, time, rest] = fields.slice(FIELDS * i, FIELDS * (i + 1));
      if (length < 1 || !(count > 0)) throw malformed();
      const times = ExactSums.load({ numbers: () => Float64Array.from(rest === 0 ? [time] : [time, 0, rest]) }, 1);
      const sums = ExactSums.load(reader, this.#size);
      return { start, length, count, times, sums, scalars: this.#scalars > 0 ? ExactSums.load(reader, this.#scalars) : sumsOf(0) };
    });
  }
}

const NONE = /* @__PURE__ */ new ExactSums(0);
const sumsOf = (size: number): ExactSums => (size > 0 ? new ExactSums(size) : NONE);

/** Adds a cohort to an older one that is at least as long. */
function join(into: Cohort, from: Cohort): void {
  into.count += from.count;
  into.times.addAll(from.times);
  into.sums.addAll(from.sums);
  into.scalars.addAll(from.scalars);
}

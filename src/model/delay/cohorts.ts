import { malformed, type SnapshotReader, type SnapshotWriter } from "../../snapshot.ts";

/** Sums over the impressions of one time interval. */
export interface Cohort {
  /** The interval, in units. `length` is a power of two and `start` a multiple of it, unless it is cut at `Cohorts.kept`. */
  start: number;
  length: number;
  /** Impressions, by examination weight, and the sum of their times since `start`, in units. */
  count: number;
  elapsed: number;
  /** Sums that the owner defines. */
  readonly sums: Float64Array;
}

/** No boundary, and no time yet. */
const NEVER = Number.MIN_SAFE_INTEGER;
/** Many more than there are after 2^53 units of time. */
const MOST_COHORTS = 1024;

/**
 * Impressions grouped by time into a few cohorts: short ones for young impressions, long ones for old. Each doubling of age has at
 * most same / 2 + 1 cohorts.
 *
 * Intervals are dyadic and follow from the latest time alone, so their sums do not depend on the order of arrival. One boundary may be
 * kept: the interval that contains it is cut in two there.
 */
export class Cohorts {
  readonly unit: number;
  readonly #span: number;
  readonly #size: number;
  readonly #same: number;
  /** Oldest first. */
  #list: Cohort[] = [];
  #newest = NEVER;
  #kept = NEVER;
  /** Whether the list has a new cohort since the last `advance`. */
  #untidy = false;

  /**
   * `unit`: length of the youngest cohorts, and `span`: age at which `advance` hands a cohort back, both in the unit of times.
   * `size`: length of `sums`. `same`: cohorts of one length before the length doubles. At 4 a cohort is at most half as long as old.
   */
  constructor(unit: number, span: number, size: number, same = 4) {
    this.unit = unit;
    this.#span = span;
    this.#size = size;
    this.#same = same;
  }

  /** Boundary at which `advance` joins no cohorts, in units: the start of a cohort, or NEVER. */
  get kept(): number {
    return this.#kept;
  }

  set kept(start: number | undefined) {
    const kept = start ?? NEVER;
    if (kept !== this.#kept) this.#untidy = true;
    this.#kept = kept;
  }

  get list(): readonly Cohort[] {
    return this.#list;
  }

  /** Mean age of a cohort's impressions at `time`. */
  age({ start, count, elapsed }: Cohort, time: number): number {
    return time - (start + elapsed / count) * this.unit;
  }

  /** The cohort of an impression shown at `time`. Undefined if the impression is too old for one. */
  find(time: number): Cohort | undefined {
    return this.at(Math.floor(time / this.unit));
  }

  /** The cohort whose interval contains the unit with this index. */
  at(index: number): Cohort | undefined {
    return this.#list.find(({ start, length }) => start <= index && index < start + length);
  }

  /** Counts `count` impressions shown at `time` and returns their cohort. Undefined if they are too old for one. */
  add(time: number, count = 1): Cohort | undefined {
    const start = Math.floor(time / this.unit);
    let cohort = this.find(time);
    if (!cohort) {
      if (this.#passed(start + 1)) return undefined;
      cohort = { start, length: 1, count: 0, elapsed: 0, sums: new Float64Array(this.#size) };
      const later = this.#list.findIndex((other) => other.start > start);
      this.#list.splice(later < 0 ? this.#list.length : later, 0, cohort);
      this.#untidy = true;
    }
    cohort.count += count;
    cohort.elapsed += count * (time / this.unit - cohort.start);
    return cohort;
  }

  /** Undoes `add` of one impression. Its cohort may have been handed back already. */
  remove(time: number): void {
    const cohort = this.find(time);
    if (!cohort) return;
    cohort.count--;
    cohort.elapsed -= time / this.unit - cohort.start;
    // A cohort of none has no mean age.
    if (cohort.count === 0) this.#list = this.#list.filter((other) => other !== cohort);
  }

  /** Share of a cohort's impressions shown by `time`, as if they were spread evenly over its interval up to `now`. */
  shareBefore({ start, length }: Cohort, time: number, now: number): number {
    if (time >= now) return 1;
    const end = Math.min(start + length, now / this.unit);
    return Math.min(Math.max((time / this.unit - start) / (end - start), 0), 1);
  }

  #passed(end: number): boolean {
    return (this.#newest - end) * this.unit > this.#span;
  }

  /** Moves on to `time`; the clock never goes back. Joins cohorts that have grown old. Removes and returns those past the span. */
  advance(time: number): Cohort[] {
    const newest = Math.max(this.#newest, Math.floor(time / this.unit));
    if (newest === this.#newest && !this.#untidy) return [];
    this.#newest = newest;
    this.#untidy = false;
    const passed = this.#list.filter(({ start, length }) => this.#passed(start + length));
    const joined: Cohort[] = [];
    for (const cohort of this.#list.slice(passed.length)) {
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
    let [start, length] = [cohort.start, 1];
    for (;;) {
      const next = Math.floor(cohort.start / (2 * length)) * (2 * length);
      // NaN fails this comparison, and ends the loop.
      if (!(this.#newest - next - 2 * length >= this.#same * length)) break;
      [start, length] = [next, 2 * length];
    }
    const end = start + length;
    const cut = start < this.#kept && this.#kept < end;
    const first = cut && cohort.start >= this.#kept ? this.#kept : start;
    cohort.elapsed += (cohort.start - first) * cohort.count;
    cohort.start = first;
    cohort.length = (cut && first < this.#kept ? this.#kept : end) - first;
  }

  save(writer: Pick<SnapshotWriter, "numbers">): void {
    writer.numbers([this.#newest, ...this.#list.flatMap(({ start, length, count, elapsed }) => [start, length, count, elapsed])]);
    writer.numbers(...this.#list.map(({ sums }) => sums));
  }

  load(reader: Pick<SnapshotReader, "numbers">): void {
    const [newest, ...fields] = reader.numbers();
    if (newest === undefined || fields.length % 4 !== 0 || fields.length > 4 * MOST_COHORTS) throw malformed();
    this.#newest = newest;
    this.#untidy = true;
    this.#list = Array.from({ length: fields.length / 4 }, (_, i) => {
      const [start, length, count, elapsed] = fields.slice(4 * i, 4 * i + 4);
      if (length < 1 || !(count > 0)) throw malformed();
      return { start, length, count, elapsed, sums: reader.numbers(this.#size) };
    });
  }
}

/** Adds a cohort to an older one that is at least as long. */
function join(into: Cohort, from: Cohort): void {
  into.count += from.count;
  into.elapsed += from.elapsed + (from.start - into.start) * from.count;
  for (let i = 0; i < into.sums.length; i++) into.sums[i] += from.sums[i];
}

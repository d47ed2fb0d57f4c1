import { malformed, type SnapshotReader, type SnapshotWriter } from "../../snapshot.ts";

/** The impressions of an interval of time, as sums. */
export interface Cohort {
  /** Its interval, in units: a multiple of its length, and a power of two. */
  start: number;
  length: number;
  /** Impressions, and the sum of their times since `start`, in units. */
  count: number;
  elapsed: number;
  /** Whatever else its owner adds up. */
  readonly sums: Float64Array;
}

/**
 * Impressions by time in few cohorts: fine ones for the young, coarse ones for the old, at most half of `same`, and one, to each
 * doubling of age.
 *
 * Intervals are dyadic and follow from the greatest time alone, so what they hold does not depend on the order of arrival.
 */
export class Cohorts {
  readonly unit: number;
  readonly #span: number;
  readonly #size: number;
  readonly #same: number;
  /** Oldest first. */
  #list: Cohort[] = [];
  #newest = Number.MIN_SAFE_INTEGER;
  /** Whether a cohort came since the list was put in order. */
  #untidy = false;

  /**
   * `unit`: length of the youngest cohorts; `span`: age at which they are handed back, both in the unit of times; `size` of the
   * sums; `same`: cohorts of one length before their length doubles, by 4 a cohort is at most half as long as it is old.
   */
  constructor(unit: number, span: number, size: number, same = 4) {
    this.unit = unit;
    this.#span = span;
    this.#size = size;
    this.#same = same;
  }

  get list(): readonly Cohort[] {
    return this.#list;
  }

  /** Mean age at `time` of a cohort's impressions. */
  age({ start, count, elapsed }: Cohort, time: number): number {
    return time - (start + elapsed / count) * this.unit;
  }

  /** The cohort of an impression made at `time`, if it is not too old to have one. */
  find(time: number): Cohort | undefined {
    return this.at(Math.floor(time / this.unit));
  }

  /** The cohort whose interval holds the unit with this index. */
  at(index: number): Cohort | undefined {
    return this.#list.find(({ start, length }) => start <= index && index < start + length);
  }

  /** Counts an impression, or so many of one time, and returns their cohort; undefined if they are too old for one. */
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

  #passed(end: number): boolean {
    return (this.#newest - end) * this.unit > this.#span;
  }

  /** Moves on to `time`, which never goes back: joins cohorts that have grown old, and hands back those past the span. */
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

  /** Doubles the length of a cohort as often as its age asks for. */
  #grow(cohort: Cohort): void {
    for (;;) {
      const length = 2 * cohort.length;
      const start = Math.floor(cohort.start / length) * length;
      if (this.#newest - start - length < this.#same * cohort.length) return;
      cohort.elapsed += (cohort.start - start) * cohort.count;
      cohort.start = start;
      cohort.length = length;
    }
  }

  save(writer: Pick<SnapshotWriter, "numbers">): void {
    writer.numbers([this.#newest, ...this.#list.flatMap(({ start, length, count, elapsed }) => [start, length, count, elapsed])]);
    for (const { sums } of this.#list) writer.numbers(sums);
  }

  load(reader: Pick<SnapshotReader, "numbers">): void {
    const [newest, ...fields] = reader.numbers();
    if (newest === undefined || fields.length % 4 !== 0) throw malformed();
    this.#newest = newest;
    this.#untidy = true;
    this.#list = Array.from({ length: fields.length / 4 }, (_, i) => {
      const [start, length, count, elapsed] = fields.slice(4 * i);
      if (length < 1 || count < 1) throw malformed();
      return { start, length, count, elapsed, sums: reader.numbers(this.#size) };
    });
  }
}

/** Adds a cohort to an older one of the same or of greater length. */
function join(into: Cohort, from: Cohort): void {
  into.count += from.count;
  into.elapsed += from.elapsed + (from.start - into.start) * from.count;
  for (let i = 0; i < into.sums.length; i++) into.sums[i] += from.sums[i];
}

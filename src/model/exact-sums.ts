// Sums without rounding errors: the reason why learning does not depend on the order of conversions.

import { malformed, type SnapshotReader, type SnapshotWriter } from "../values/snapshot.ts";

/**
 * Greatest size up to which doubles are added plainly: 2^28. Features and rewards are multiples of 2^-12, so their products are multiples
 * of 2^-24, and sums of these are exact up to 2^29.
 */
export const PLAIN = 268435456;

/** Beyond all sums of squared rewards, and so small that what is added next does not overflow. */
const MOST_SUM = 1e250;

/** Checks sums from a snapshot. @throws {SnapshotError} code `malformed` for one that no rewards have. */
export function checkSums(sums: Float64Array): void {
  for (let i = 0; i < sums.length; i++) if (!(Math.abs(sums[i]) <= MOST_SUM)) throw malformed();
}

/**
 * A vector of sums that has no rounding errors, so that it depends neither on the order of its terms nor on how they were grouped.
 *
 * A sum is the double nearest to it, and a rest for what that double leaves out. Rests take memory only once a sum needs more than 53
 * bits. **Exact:** for multiples of 2^-24, up to 2^80 in size. Other terms are added with the rounding errors of doubles.
 * **Source:** Knuth, TAOCP 2, section 4.2.2, theorem B, for the error of an addition.
 */
export class ExactSums {
  /** The doubles nearest to the sums. A caller may add whole numbers up to 2^53 in total. */
  readonly values: Float64Array;
  #rests: Float64Array | undefined;
  /** No sum is greater in size. Up to `PLAIN`, no addition rounds. */
  #bound = 0;

  /** `values`: kept, not copied, or the number of sums of nothing. */
  constructor(values: Float64Array | number) {
    if (typeof values === "number") {
      this.values = new Float64Array(values);
      return;
    }
    this.values = values;
    let bound = 0;
    for (let i = 0; i < values.length; i++) {
      const size = Math.abs(values[i]);
      if (!(size <= bound)) bound = size;
    }
    this.#bound = bound;
  }

  get length(): number {
    return this.values.length;
  }

  /** The greatest size of a sum, or more. */
  get bound(): number {
    return this.#bound;
  }

  /** Replaces a sum. */
  set(i: number, value: number): void {
    this.values[i] = value;
    if (this.#rests) this.#rests[i] = 0;
    this.#bound = Math.max(this.#bound, Math.abs(value));
  }

  add(i: number, term: number): void {
    this.#bound += Math.abs(term);
    if (this.#bound <= PLAIN) this.values[i] += term;
    else this.#carry(i, term);
  }

  /** Adds factor x to the sums from `start` on. `places`: of all entries that are not 0. **Cost:** O(d), or linear in the places. */
  addMultiple(start: number, x: ArrayLike<number>, factor = 1, places: readonly number[] = placesOf(x)): void {
    let most = 0;
    for (const i of places) most = Math.max(most, Math.abs(x[i]));
    this.#bound += most * Math.abs(factor);
    const { values } = this;
    if (this.#bound <= PLAIN) for (const i of places) values[start + i] += factor * x[i];
    else for (const i of places) this.#carry(start + i, factor * x[i]);
  }

  /** Adds sign x x^T to the packed lower triangle that the sums begin with. **Cost:** half the square of the number of places. */
  addSquare(x: Float64Array, sign: 1 | -1 = 1, places: readonly number[] = placesOf(x)): void {
    let most = 0;
    for (const i of places) most = Math.max(most, x[i] * x[i]);
    this.#bound += most;
    const { values } = this;
    const plain = this.#bound <= PLAIN;
    if (plain && places.length === x.length) {
      addDense(values, x, sign);
      return;
    }
    for (let a = 0; a < places.length; a++) {
      const i = places[a];
      const row = (i * (i + 1)) / 2;
      const own = sign * x[i];
      for (let b = 0; b <= a; b++) {
        const j = places[b];
        if (plain) values[row + j] += own * x[j];
        else this.#carry(row + j, own * x[j]);
      }
    }
  }

  /** Adds other sums of the same length. */
  addAll(other: ExactSums): void {
    this.#bound += other.#bound;
    const { values } = this;
    if (this.#bound <= PLAIN) for (let i = 0; i < values.length; i++) values[i] += other.values[i];
    else for (let i = 0; i < values.length; i++) this.#carry(i, other.values[i], other.#rests?.[i]);
  }

  /** Adds a term and a small rest. The value is then again the double nearest to the sum. */
  #carry(i: number, term: number, more = 0): void {
    const before = this.values[i];
    const sum = before + term;
    const rest = errorOf(before, term, sum) + ((this.#rests?.[i] ?? 0) + more);
    // NaN, after an overflow, has no rest either.
    if (!(Math.abs(rest) > 0)) {
      this.values[i] = sum;
      if (this.#rests) this.#rests[i] = 0;
      return;
    }
    this.#rests ??= new Float64Array(this.values.length);
    this.values[i] = sum + rest;
    this.#rests[i] = errorOf(sum, rest, this.values[i]);
  }

  /** Multiplies all sums by a power of two. */
  scale(factor: number): void {
    for (let i = 0; i < this.values.length; i++) this.values[i] *= factor;
    if (this.#rests) for (let i = 0; i < this.#rests.length; i++) this.#rests[i] *= factor;
  }

  /** Places and rests of the sums that have one, in turn. */
  rests(): number[] {
    const rests: number[] = [];
    this.#rests?.forEach((rest, i) => void (rest !== 0 && rests.push(i, rest)));
    return rests;
  }

  #setRests(rests: Float64Array): void {
    if (rests.length === 0) return;
    this.#rests = new Float64Array(this.values.length);
    for (let k = 0, before = -1; k < rests.length; k += 2) {
      const [i, rest] = [rests[k], rests[k + 1]];
      if (!Number.isInteger(i) || i <= before || i >= this.values.length) throw malformed();
      if (!(rest !== 0 && this.values[i] + rest === this.values[i])) throw malformed();
      this.#rests[i] = rest;
      before = i;
    }
  }

  /** Writes one section: the values, then the rests, if there are any. */
  save(writer: Pick<SnapshotWriter, "numbers">): void {
    const rests = this.rests();
    writer.numbers(rests.length > 0 ? [...this.values, ...rests] : this.values);
  }

  /** Reads what `save` wrote. @throws {SnapshotError} code `malformed` unless each value is the double nearest to its sum. */
  static load(reader: Pick<SnapshotReader, "numbers">, length: number): ExactSums {
    const numbers = reader.numbers();
    if (numbers.length < length) throw malformed();
    checkSums(numbers);
    const sums = new ExactSums(numbers.length > length ? numbers.slice(0, length) : numbers);
    sums.#setRests(numbers.subarray(length));
    return sums;
  }
}

/** Adds sign x x^T to a packed lower triangle. Without a list of places the loop takes half as long. */
function addDense(values: Float64Array, x: Float64Array, sign: 1 | -1): void {
  for (let i = 0, at = 0; i < x.length; i++) {
    const own = sign * x[i];
    for (let j = 0; j <= i; j++, at++) values[at] += own * x[j];
  }
}

/** Places of the entries that are not 0, ascending. */
export function placesOf(x: ArrayLike<number>): number[] {
  const places: number[] = [];
  for (let i = 0; i < x.length; i++) if (x[i] !== 0) places.push(i);
  return places;
}

/** The rounding error of the double `sum` of two doubles. */
function errorOf(a: number, b: number, sum: number): number {
  const own = sum - a;
  return a - (sum - own) + (b - own);
}

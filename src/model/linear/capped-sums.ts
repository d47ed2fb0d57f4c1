// Sums of money in which a few huge orders count less. The bound moves, and the sums follow it exactly.

import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import { ExactSums } from "../exact-sums.ts";
import type { MaturedSums } from "./delay-correction.ts";

/** Sums over the amounts of one octave, from a power of two to the next. */
interface Octave {
  /** Number of amounts in each eighth of the octave. */
  readonly eighths: Float64Array;
  /** Sum of amounts, and of their squares. */
  readonly scalars: ExactSums;
  /** Sum of features, and of amounts times features: d each. */
  readonly features: ExactSums;
  readonly moment: ExactSums;
}

/** Amounts that count as less than they are, and the sum that does not count. */
export interface Clipped {
  readonly count: number;
  readonly sum: number;
}

/** Parts of an octave, by which a quantile is found. */
const EIGHTH = 8;
/** Exponents of octaves: amounts below 2^-12 count among the least, and those of 2^40 and more among the greatest. */
const LEAST = -12;
const MOST = 40;
/** The bound is this many times the quantile. */
const TIMES = 10;
/** Share of amounts above the quantile: a half of up to `FEW` amounts, less and less of more, and 1 % of `MANY` and more. */
const [ABOVE_FEW, ABOVE] = [0.5, 0.01];
const [FEW, MANY] = [10, 100];

/**
 * Sums over amounts of money, of which those beyond a bound are clipped: ten times a quantile of the amounts, rounded up to a power of two.
 * The quantile is the amount that 99 % do not exceed. While there are fewer than a hundred amounts, so few cannot be told from mistakes:
 * the quantile is lower then, and of up to ten amounts it is the median.
 *
 * A clipped amount counts as the greatest one within the bound, up to an eighth of its octave. If it counted as the bound itself, one
 * mistake would outweigh the differences between actions until each had hundreds of amounts.
 *
 * Amounts are kept by octave. An octave is either within the bound, and counts as it is, or beyond it. So the sums do not depend on the
 * order of amounts, although the bound moves with them.
 */
export class CappedSums {
  readonly #dimension: number;
  readonly #max: number;
  readonly #octaves = new Map<number, Octave>();
  /** Number of amounts above `max`, and the sum by which they are above it. */
  #beyond = 0;
  #excess = new ExactSums(new Float64Array(1));

  /** `max`: an amount above it counts as this. */
  constructor(dimension: number, max = Number.POSITIVE_INFINITY) {
    this.#dimension = dimension;
    this.#max = max;
  }

  /** Replaces the amount of an impression. Undefined: it has none. */
  replace(features: Float64Array, before: number | undefined, after: number | undefined): void {
    if (before !== undefined) this.#count(features, before, -1);
    if (after !== undefined) this.#count(features, after, 1);
  }

  #count(features: Float64Array, whole: number, sign: 1 | -1): void {
    const amount = Math.min(whole, this.#max);
    if (whole > amount) {
      this.#beyond += sign;
      this.#excess.add(0, sign * (whole - amount));
    }
    const exponent = exponentOf(amount);
    const octave = this.#octaves.get(exponent) ?? this.#start(exponent);
    octave.eighths[eighthOf(amount, exponent)] += sign;
    octave.scalars.add(0, sign * amount);
    octave.scalars.add(1, sign * amount * amount);
    octave.features.addMultiple(0, features, sign);
    octave.moment.addMultiple(0, features, sign * amount);
  }

  #start(exponent: number): Octave {
    const [scalars, features, moment] = [2, this.#dimension, this.#dimension].map((length) => new ExactSums(new Float64Array(length)));
    const octave = { eighths: new Float64Array(EIGHTH), scalars, features, moment };
    this.#octaves.set(exponent, octave);
    return octave;
  }

  /** Octaves with amounts, least amounts first. */
  #sorted(): [number, Octave][] {
    return [...this.#octaves].filter(([, { eighths }]) => eighths.some((count) => count > 0)).sort(([a], [b]) => a - b);
  }

  /** The bound, and what an amount beyond it counts as. None with a `max`, as an amount above that is kept as `max`. */
  #limits(): { readonly bound: number; readonly cap: number } {
    const parts = this.#sorted().flatMap(([exponent, { eighths }]) =>
      Array.from(eighths, (count, i) => ({ count, end: powerOfTwo(exponent) * (1 + (i + 1) / EIGHTH) })),
    );
    const amounts = parts.reduce((sum, { count }) => sum + count, 0);
    let left = amounts * shareAbove(amounts);
    const quantile = parts.findLast(({ count }) => {
      left -= count;
      return left < 0;
    });
    if (!quantile || this.#max < Number.POSITIVE_INFINITY) return { bound: Number.POSITIVE_INFINITY, cap: 0 };
    const bound = powerOfTwo(exponentOf(TIMES * quantile.end) + 1);
    return { bound, cap: parts.findLast(({ count, end }) => count > 0 && end <= bound)?.end as number };
  }

  /** The sums of a regression that depend on amounts, and how much of them is clipped. */
  capped(): Pick<MaturedSums, "moment" | "rewards" | "squares"> & { readonly clipped: Clipped } {
    const { bound, cap } = this.#limits();
    const moment = new Float64Array(this.#dimension);
    let [rewards, squares, clipped, excess] = [0, 0, this.#beyond, this.#excess.values[0]];
    for (const [exponent, octave] of this.#sorted()) {
      const [sum, square] = octave.scalars.values;
      const above = powerOfTwo(exponent) >= bound;
      const count = above ? octave.eighths.reduce((sum, each) => sum + each, 0) : 0;
      clipped += count;
      if (above) excess += sum - cap * count;
      rewards += above ? cap * count : sum;
      squares += above ? cap * cap * count : square;
      for (let i = 0; i < moment.length; i++) moment[i] += above ? cap * octave.features.values[i] : octave.moment.values[i];
    }
    return { moment, rewards, squares, clipped: { count: clipped, sum: excess } };
  }

  /** Sum of amounts times features, whatever the cap is: d. */
  moment(): Float64Array {
    const all = new ExactSums(new Float64Array(this.#dimension));
    for (const [, { moment }] of this.#sorted()) all.addAll(moment);
    return all.values;
  }

  /** Adds the sums of others with the same dimension and greatest amount. */
  merge(other: CappedSums): void {
    this.#beyond += other.#beyond;
    this.#excess.addAll(other.#excess);
    for (const [exponent, { eighths, ...sums }] of other.#octaves) {
      const octave = this.#octaves.get(exponent) ?? this.#start(exponent);
      for (let i = 0; i < EIGHTH; i++) octave.eighths[i] += eighths[i];
      for (const name of ["scalars", "features", "moment"] as const) octave[name].addAll(sums[name]);
    }
  }

  save(writer: SnapshotWriter): void {
    const octaves = this.#sorted();
    writer.numbers([this.#beyond, ...octaves.map(([exponent]) => exponent)]);
    this.#excess.save(writer);
    for (const [, { eighths, scalars, features, moment }] of octaves) {
      writer.numbers(eighths);
      for (const sums of [scalars, features, moment]) sums.save(writer);
    }
  }

  load(reader: SnapshotReader): void {
    this.#octaves.clear();
    const [beyond, ...exponents] = reader.numbers();
    if (!(beyond >= 0)) throw malformed();
    this.#beyond = beyond;
    this.#excess = ExactSums.load(reader, 1);
    for (const exponent of exponents) {
      if (!Number.isInteger(exponent) || exponent < LEAST || exponent > MOST || this.#octaves.has(exponent)) throw malformed();
      const eighths = reader.numbers(EIGHTH);
      if (eighths.some((count) => !(count >= 0))) throw malformed();
      const [scalars, features, moment] = [2, this.#dimension, this.#dimension].map((length) => ExactSums.load(reader, length));
      this.#octaves.set(exponent, { eighths, scalars, features, moment });
    }
  }
}

/** Share of the amounts above the quantile, by their number. */
function shareAbove(amounts: number): number {
  const many = Math.min(Math.max((amounts - FEW) / (MANY - FEW), 0), 1);
  return ABOVE_FEW + many * (ABOVE - ABOVE_FEW);
}

/** The exponent of the greatest power of two that an amount reaches. */
function exponentOf(amount: number): number {
  let exponent = LEAST;
  while (exponent < MOST && amount >= powerOfTwo(exponent + 1)) exponent++;
  return exponent;
}

function powerOfTwo(exponent: number): number {
  let power = 1;
  for (let i = 0; i < Math.abs(exponent); i++) power *= 2;
  return exponent < 0 ? 1 / power : power;
}

function eighthOf(amount: number, exponent: number): number {
  return Math.min(Math.max(Math.floor((amount / powerOfTwo(exponent) - 1) * EIGHTH), 0), EIGHTH - 1);
}

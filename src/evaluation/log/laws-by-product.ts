// The delays of each product, as the figures of a shop state them: its own where products differ.

import { firstFrom, PRIOR } from "../../model/delay/delay-law.ts";
import { APART, lawsDiffer, ownLaw, type PooledBins, within } from "../../model/delay/pooled-laws.ts";
import { grouped } from "../../values/grouped.ts";
import { countWhile, ProductLimit, type SeenConversion } from "./product-limit.ts";

/** Bins for each law of a product: two for each doubling of the delay, and one for all shorter delays. */
const BINS = 32;
/** Most products with a law of their own. The others share one. */
const MOST = 64;

/** A conversion of a product. */
export interface ProductConversion extends SeenConversion {
  readonly product: number;
}

/** Values that were divided by F at their ages, each by the law of its product. */
export interface Divided {
  readonly ages: Float64Array;
  readonly values: Float64Array;
  readonly products: readonly number[];
}

/** A product's own counts and law. */
interface Own {
  /** Index of its conversions. */
  readonly members: readonly number[];
  /** Conversions in each bin, and the number at risk that expects them by the common law. */
  readonly events: Float64Array;
  readonly risk: Float64Array;
  /** P(delay <= end of bin). */
  law: Float64Array;
}

/**
 * F(age) by product, from the conversions of a log.
 *
 * The common law is the product limit of all conversions. A product's conversions are compared with those that the common hazards expect
 * in each bin. If the test tells them apart, its own reverse hazard is that of `ownLaw`, in which the common law weighs half a conversion.
 * Otherwise all have the common law. Within a bin a product's law goes as the common law goes.
 *
 * **Cost:** O(n log n + n bins).
 */
export class LawsByProduct {
  readonly #seen: readonly ProductConversion[];
  readonly #common: ProductLimit;
  readonly #bins: PooledBins;
  readonly #own = new Map<number, Own>();
  /** Whether the laws of products differ, by a test at about 5 %. */
  readonly differ: boolean;

  /** `longest`: no delay is longer. */
  constructor(seen: readonly ProductConversion[], longest: number) {
    this.#seen = seen;
    this.#common = new ProductLimit(seen);
    const ends = new Float64Array(BINS);
    for (let b = BINS - 1, end = longest; b >= 0; b--, end *= Math.SQRT1_2) ends[b] = end;
    const below = ends.map((end) => this.#common.at(end));
    const hazard = below.map((each, b) => (b > 0 && each > 0 ? 1 - below[b - 1] / each : 1));
    this.#bins = { ends, below, hazard };
    const groups = groupsOf(seen);
    const laws = new Map<readonly number[], Own>();
    if (new Set(groups.values()).size > 1)
      for (const [product, members] of groups) {
        const own = laws.get(members) ?? this.#counted(members);
        laws.set(members, own);
        this.#own.set(product, own);
      }
    this.differ = lawsDiffer([...laws.values()], this.#bins);
    if (!lawsDiffer([...laws.values()], this.#bins, APART)) this.#own.clear();
    for (const own of laws.values()) own.law = ownLaw(own, this.#bins, PRIOR);
  }

  #binOf(age: number): number {
    return firstFrom(this.#bins.ends, age);
  }

  #counted(members: readonly number[]): Own {
    const { ends, hazard } = this.#bins;
    const [events, risk] = [new Float64Array(BINS), new Float64Array(BINS)];
    for (const i of members) {
      const { delay } = this.#seen[i];
      events[this.#binOf(delay)]++;
      this.#atRisk(i, (b, expected) => {
        risk[b] += expected / hazard[b];
      });
    }
    // The expected number is a sum of small hazards, so it may exceed what one hazard of the whole bin expects.
    return { members, events, risk: risk.map((each, b) => Math.max(each, events[b])), law: ends };
  }

  /** Conversions that the common law expects of one, in each bin in which it was at risk. */
  #atRisk(i: number, take: (bin: number, expected: number) => void): void {
    const { delay, bound } = this.#seen[i];
    const { ends, hazard } = this.#bins;
    const first = this.#binOf(delay);
    for (let b = first; b < BINS && (b === first || ends[b - 1] < bound); b++) {
      const from = b === first ? delay : ends[b - 1];
      const expected = this.#common.hazards(from, Math.min(ends[b], bound), { after: b > first });
      if (expected > 0 && hazard[b] > 0) take(b, expected);
    }
  }

  /** F(age) of a product. One without conversions has the common law. */
  at(age: number, product: number): number {
    const own = this.#own.get(product);
    const common = this.#common.at(age);
    return own ? within(common, this.#bins.below, own.law, this.#binOf(age)) : common;
  }

  /** The least age from which F of a product is at least a share. */
  ageOf(share: number, product: number): number {
    const { delays } = this.#common;
    return delays[countWhile(delays, (delay) => this.at(delay, product) < share)] ?? 0;
  }

  /**
   * Influence of each conversion, through F, on the sum of the values. It adds the errors of all laws to the spread of the sum. The influences
   * sum to 0, up to rounding, unless one more counts as at risk.
   */
  influence({ ages, values, products }: Divided): Float64Array {
    const order = Array.from(ages, (_, i) => i).sort((a, b) => ages[a] - ages[b]);
    const rows = grouped(order, (i) => this.#own.get(products[i]));
    const younger = new Float64Array(this.#common.delays.length);
    const owns = new Float64Array(this.#seen.length);
    for (const [own, members] of rows) {
      const shares = this.#bins.hazard.map((_, b) => (own ? this.#commonShare(own, b) : 1));
      let [sum, next, bin] = [0, 0, 0];
      this.#common.delays.forEach((delay, u) => {
        for (; next < members.length && ages[members[next]] < delay; next++) sum += values[members[next]];
        while (bin < BINS - 1 && this.#bins.ends[bin] < delay) bin++;
        younger[u] += sum * shares[bin];
      });
      if (own) this.#addOwn(owns, own, this.#youngerBins(members, { ages, values }));
    }
    return this.#common.influence(younger).map((each, i) => each + owns[i]);
  }

  /** How far a product's hazard follows an error of the common one. */
  #commonShare({ events, risk }: Own, b: number): number {
    const { below, hazard } = this.#bins;
    const prior = PRIOR * below[b];
    if (!(risk[b] + prior > 0)) return 1;
    const own = (events[b] + prior * hazard[b]) / (risk[b] + prior);
    const [mine, common] = [own / (1 - own), hazard[b] / (1 - hazard[b])];
    return mine < Number.POSITIVE_INFINITY && common > 0 ? ((prior / (risk[b] + prior)) * mine) / common : 0;
  }

  /** For each bin, the sum of the values whose F has the hazard of this bin as a factor. Of the bin of an age, a part. */
  #youngerBins(members: readonly number[], { ages, values }: Pick<Divided, "ages" | "values">): Float64Array {
    const { below } = this.#bins;
    const sums = new Float64Array(BINS + 1);
    const parts = new Float64Array(BINS);
    for (const i of members) {
      const b = this.#binOf(ages[i]);
      const start = b === 0 ? 0 : below[b - 1];
      sums[b + 1] += values[i];
      if (below[b] > start) parts[b] += (values[i] * (below[b] - this.#common.at(ages[i]))) / (below[b] - start);
    }
    for (let b = 1; b < BINS; b++) sums[b] += sums[b - 1];
    return parts.map((part, b) => part + sums[b]);
  }

  /**
   * Adds the influence of a product's own conversions. A prior that is right leaves an error of which the own conversions tell the share
   * risk / (risk + prior). Their influence is raised so that its variance is that of the whole error.
   */
  #addOwn(owns: Float64Array, { members, events, risk }: Own, younger: Float64Array): void {
    const { below, hazard } = this.#bins;
    const scale = younger.map((sum, b) => {
      const prior = PRIOR * below[b];
      const left = 1 - (events[b] + prior * hazard[b]) / (risk[b] + prior);
      return b > 0 && risk[b] > 0 && left > 0 ? sum / (left * Math.sqrt(risk[b] * (risk[b] + prior))) : 0;
    });
    const raw = new Float64Array(BINS);
    for (const i of members)
      this.#atRisk(i, (b, expected) => {
        raw[b] += expected;
      });
    for (const i of members) {
      const bin = this.#binOf(this.#seen[i].delay);
      owns[i] += scale[bin];
      this.#atRisk(i, (b, expected) => {
        owns[i] -= (scale[b] * events[b] * expected) / raw[b];
      });
    }
  }
}

/** The conversions of each product. Those of the products with fewest are one group. */
function groupsOf(seen: readonly ProductConversion[]): Map<number, readonly number[]> {
  const groups = grouped(seen.keys(), (i) => seen[i].product);
  const sorted = [...groups].sort(([, a], [, b]) => b.length - a.length);
  const rest = sorted.slice(MOST - 1).flatMap(([, members]) => members);
  return new Map(sorted.map(([product, members], place) => [product, sorted.length > MOST && place >= MOST - 1 ? rest : members]));
}

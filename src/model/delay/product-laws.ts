// Figures of several products whose delays may differ: rate, conversions to come, and the law of all conversions, with 95 % intervals. A law
// by itself is in `delay-law.ts`.

import { betaInterval } from "../beta.ts";
import { DelayLaw, firstFrom, type LawWithin, PRIOR } from "./delay-law.ts";
import { APART, type Events, lawsDiffer, ownLaw } from "./pooled-laws.ts";
import type { Counted, ProductCounts } from "./product-counts.ts";
import { eventsOf, type Followed, olderShare } from "./reverse-hazards.ts";

/** Weight of the common rate in that of one of several products, in conversions. */
const SHRUNK = 1;
/** A product is known for as long as about so many of its conversions were followed, and this share of the pending ones may be others'. */
const KNOWN = 5;
const UNKNOWN = 0.1;
/** Great enough for the odds of a beta distribution to be those of a gamma distribution. */
const GAMMA = 1e6;

/** The share of impressions that convert within some time, with a 95 % interval. */
export interface ConversionRate {
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

/** A whole number that nobody knows yet, with the 95 % interval in which it will be. */
export interface Expected {
  readonly expected: number;
  readonly low: number;
  readonly high: number;
}

/** A product as of the clock. Arrays have a number for each bin of the law. */
interface Stratum {
  readonly shown: number;
  readonly conversions: number;
  /** Impressions, each weighted by the share of its conversions that should have come, and those behind the rate: with the common rate's weight. */
  readonly matured: number;
  readonly size: number;
  readonly rate: number;
  /** P(delay < end). */
  readonly below: Float64Array;
  /** Derivative of -`matured` by log(1 - hazard). */
  readonly moved: Float64Array;
  /** Variance of log(1 - hazard) while the common law is certain, and its derivative by that of the common law. */
  readonly own: Float64Array;
  readonly follows: Float64Array;
}

/** Derivatives of a figure by the rate of a product, and by log(1 - hazard) of its bin. */
interface Slopes {
  readonly rate: (stratum: Stratum) => number;
  readonly law: (stratum: Stratum, bin: number) => number;
}

/**
 * The laws of products, drawn towards their common law as far as they resemble each other, and the figures of all products together.
 *
 * A product's rate is its conversions over the sum of F(age) of its impressions, by its own law F. Neither late conversions nor a greater
 * rate of a product mislead the figures, if a policy shows it more and more. With one product, all of this is the common law's.
 *
 * The delta method adds up the errors of the rates, of each product's law, and of the common law that the others follow.
 *
 * **Cost:** O(products x bins x cohorts).
 */
export class ProductLaws {
  /** Of all products together. */
  readonly law: DelayLaw;
  /** Whether the laws of products differ. */
  readonly differ: boolean;
  /** Whether products have laws of their own. */
  readonly #apart: boolean;
  readonly #strata: ReadonlyMap<string, Stratum>;
  readonly #shown: number;
  readonly #conversions: number;
  readonly #matured: number;
  /** Variance of log(1 - hazard) of the common law. */
  readonly #variance: Float64Array;
  /** Mixed laws by the last bin. */
  readonly #mixtures = new Map<number, LawWithin>();
  #rate?: ConversionRate;

  constructor(counts: ProductCounts, { window, now }: { readonly window: number; readonly now: number }) {
    const [products, { delays }] = [counts.asOf(now), counts];
    this.law = new DelayLaw(delays, window, now);
    let counted = countedBy(this.law, products);
    this.differ = lawsDiffer(counted, this.law.common);
    this.#apart = lawsDiffer(counted, this.law.common, APART);
    const known = this.differ ? this.#known(counted) : window;
    if (known < this.law.followed) {
      this.law = new DelayLaw(delays, window, now, known);
      counted = countedBy(this.law, products);
    }
    const { common, hazards, top } = this.law;
    this.#variance = common.below.map((_, b) => logVariance(hazards.before[b], hazards.events[b], b === top));
    const matured = counted.map((each) => {
      const below = this.#apart ? ownLaw(each, common, PRIOR) : common.below;
      return { ...each, below, ...maturedBy(below, each) };
    });
    this.#shown = sumOf(counted, ({ shown }) => shown);
    this.#conversions = sumOf(counted, ({ conversions }) => conversions);
    this.#matured = sumOf(matured, (each) => each.matured);
    // Only other products tell of a product's rate.
    const shrunk = products.size > 1 && this.#conversions > 0 ? SHRUNK : 0;
    const names = Array.from(products.keys());
    this.#strata = new Map(
      matured.map((each, k) => {
        const size = each.matured + (shrunk > 0 ? (shrunk * this.#matured) / this.#conversions : 0);
        return [names[k], { ...each, size, rate: size > 0 ? (each.conversions + shrunk) / size : 0, ...this.#errorsOf(each) }];
      }),
    );
  }

  /** The longest time for which nearly all pending impressions are of products that are known. Those of rare products are alike. */
  #known(counted: readonly CountedBy[]): number {
    const { ends, top, common } = this.law;
    const all = counted.map((each) => ({ ...each, ...maturedBy(common.below, each) }));
    const rate = sumOf(all, ({ conversions }) => conversions) / sumOf(all, ({ matured }) => matured);
    // Rounding leaves a little of none.
    const pendingOf = ({ shown, matured }: (typeof all)[number]): number => Math.max(shown - matured, 0);
    const expected = ({ parts, settled }: CountedBy, age: number): number =>
      rate * (settled + sumOf(parts, (part) => part.shown * olderShare(part.ages, age)));
    const frequent = all.filter((each) => rate * each.shown >= KNOWN);
    for (let b = top; b > 0; b--) {
      const unknown = frequent.filter((each) => expected(each, ends[b]) < KNOWN);
      if (sumOf(unknown, pendingOf) <= UNKNOWN * sumOf(all, pendingOf)) return ends[b];
    }
    return ends[0];
  }

  /** How exactly the hazards of a product are known. */
  #errorsOf({ events, risk }: Events): Pick<Stratum, "own" | "follows"> {
    const { common, top } = this.law;
    const [own, follows] = [new Float64Array(top + 1), new Float64Array(top + 1).fill(1)];
    if (!this.#apart) return { own, follows };
    for (let b = 0; b <= top; b++) {
      const prior = PRIOR * common.below[b];
      const size = risk[b] + prior;
      const died = events[b] + prior * common.hazard[b];
      own[b] = logVariance(Math.max(size - died, 0), died, b === top);
      const [left, commonLeft] = [1 - died / size, 1 - common.hazard[b]];
      follows[b] = left > 0 ? ((prior / size) * commonLeft) / left : 0;
    }
    return { own, follows };
  }

  /** The variance of a sum over products of rates and impressions that have matured. */
  #varianceOf(slopes: Slopes): number {
    const strata = Array.from(this.#strata.values()).filter(({ size }) => size > 0);
    // The part of the figure that follows the common rate. A product's own conversions move it too.
    const followed = strata.reduce((sum, each) => sum + slopes.rate(each) * (1 - each.matured / each.size), 0);
    let variance = 0;
    for (const stratum of strata) {
      const { size, rate, matured } = stratum;
      const slope = slopes.rate(stratum) / size;
      const all = slope + followed / this.#matured;
      variance += rate * (matured * all * all + (size - matured) * slope * slope);
    }
    for (let b = 0; b <= this.law.top; b++) {
      let together = 0;
      for (const stratum of strata) {
        const slope = slopes.law(stratum, b);
        variance += slope * slope * stratum.own[b];
        together += slope * stratum.follows[b];
      }
      variance += together * together * this.#variance[b];
    }
    return variance;
  }

  /** P(delay < x) of a conversion within `followed`. Of a product: by its own law. */
  below(x: number, product?: string): number {
    const own = this.#apart && product !== undefined ? this.#strata.get(product) : undefined;
    return own ? this.law.at(x, own.below) : this.within().below(x);
  }

  /** The law of the conversions of all products that come within a time. */
  within(time = this.law.followed): LawWithin {
    if (!this.#apart) return this.law.within(time);
    const top = Math.min(firstFrom(this.law.ends, time), this.law.top);
    const law = this.#mixtures.get(top) ?? this.#mixed(top);
    this.#mixtures.set(top, law);
    return law;
  }

  /** The laws of products, each by the conversions that are expected of it in the end. */
  #mixed(top: number): LawWithin {
    const { ends } = this.law;
    const strata = Array.from(this.#strata.values());
    const sumAt = (bin: number): number => strata.reduce((sum, { shown, rate, below }) => sum + shown * rate * below[bin], 0);
    const all = sumAt(top);
    const rate = ({ shown }: Stratum): number => shown / all;
    const most = (all * all) / strata.reduce((sum, { shown, rate, size }) => sum + (shown * shown * rate) / size, 0);
    const probability = new Float64Array(ends.length).fill(1);
    const [low, high, error] = [probability.slice(), probability.slice(), new Float64Array(ends.length)];
    for (let bin = 0; bin < top; bin++) {
      const share = sumAt(bin) / all;
      const more = ({ below }: Stratum): number => below[bin] - share * below[top];
      const variance = this.#varianceOf({
        rate: (each) => rate(each) * more(each),
        law: (each, b) => {
          const later = (b > bin ? each.below[bin] : 0) - (b > top ? share * each.below[top] : 0);
          return rate(each) * each.rate * ((each.moved[b] / each.size) * more(each) + later);
        },
      });
      // The conversions that have come cannot tell more.
      const like = share > 0 && share < 1 && variance > 0 ? Math.min((share * (1 - share)) / variance, most) : most;
      [probability[bin], error[bin]] = [share, Math.sqrt(variance)];
      const [least, greatest] = betaInterval(like * share + PRIOR, like * (1 - share) + PRIOR);
      [low[bin], high[bin]] = [Math.min(least, share), Math.max(greatest, share)];
    }
    return { probability, low, high, error, below: (x) => this.law.at(x, probability) };
  }

  /** The share of impressions that convert within `followed`. */
  rate(): ConversionRate {
    this.#rate ??= this.#stated();
    return this.#rate;
  }

  #stated(): ConversionRate {
    if (!(this.#matured > 0)) return { rate: Number.NaN, low: 0, high: 1 };
    const rate = Math.min(
      Array.from(this.#strata.values()).reduce((sum, { shown, rate }) => sum + (shown * rate) / this.#shown, 0),
      1,
    );
    const variance = this.#varianceOf({
      rate: ({ shown }) => shown / this.#shown,
      law: ({ shown, rate, size, moved }, b) => ((shown / this.#shown) * rate * moved[b]) / size,
    });
    // As many conversions of mature impressions would leave the same relative error.
    const like = rate > 0 ? (rate * rate) / variance : 0;
    const [low, high] = betaInterval(like + PRIOR, Math.max(rate > 0 ? like / rate - like : this.#matured, 0) + PRIOR);
    return { rate, low: Math.min(low, rate), high: rate === 1 ? 1 : Math.max(high, rate) };
  }

  /** The conversions of these impressions that come within `followed` and have not come yet. */
  toCome(): Expected {
    const left = Math.max(this.#shown - this.#matured, 0);
    if (!(this.#matured > 0)) return { expected: Number.NaN, low: 0, high: left };
    // A law that has followed few for a short time may expect more than there are impressions without a conversion.
    const most = Math.max(this.#shown - this.#conversions, 0);
    const unbounded = Array.from(this.#strata.values()).reduce(
      (sum, { shown, matured, rate }) => sum + rate * Math.max(shown - matured, 0),
      0,
    );
    const expected = Math.min(unbounded, most);
    const variance = this.#varianceOf({
      rate: ({ shown, matured }) => shown - matured,
      law: ({ shown, matured, rate, size, moved }, b) => rate * ((shown - matured) / size + 1) * moved[b],
    });
    // Jeffreys' prior: half a conversion more. The number itself scatters about its mean, as a Poisson variable does.
    const each = left / this.#matured;
    if (each === 0) return { expected, low: 0, high: 0 };
    const mean = expected + PRIOR * each;
    const spread = variance + PRIOR * each * each + mean;
    const [low, high] = betaInterval((mean * mean) / spread, GAMMA).map((share) => ((GAMMA * share) / (1 - share)) * (spread / mean));
    return { expected, low: Math.floor(Math.min(low, expected)), high: Math.min(Math.ceil(Math.max(high, expected)), most) };
  }
}

/** A product as the common law sees it. */
interface CountedBy extends Events {
  readonly shown: number;
  /** Number of impressions that have left their cohorts. */
  readonly settled: number;
  readonly parts: readonly Followed[];
  readonly conversions: number;
}

function countedBy(law: DelayLaw, products: ReadonlyMap<string, Counted>): CountedBy[] {
  return Array.from(products.values(), ({ delays, shown }) => {
    const parts = law.partsOf(delays);
    const { events, risk } = eventsOf(parts, law.hazards);
    const settled = shown - sumOf(delays.cohorts.list, ({ count }) => count);
    return { shown, settled, parts, events, risk, conversions: sumOf(Array.from(events), (each) => each) };
  });
}

function sumOf<T>(all: readonly T[], of: (each: T) => number): number {
  return all.reduce((sum, each) => sum + of(each), 0);
}

/** Variance of log(1 - hazard) after these conversions before a bin and in it, under the prior of a law. */
function logVariance(before: number, events: number, isTop: boolean): number {
  const [alive, died] = [before + PRIOR, events + (isTop ? PRIOR : 0)];
  return died / (alive * (alive + died + 1));
}

/** Impressions by the share of conversions that should have come. */
function maturedBy(below: Float64Array, { parts, settled }: CountedBy): Pick<Stratum, "matured" | "moved"> {
  let [matured, before] = [0, 0];
  const moved = new Float64Array(below.length);
  for (let b = 0; b < below.length; b++) {
    const shown = settled + sumOf(parts, (part) => part.shown * part.exposure[b]);
    // A greater hazard moves the mass before this bin, which more impressions have been followed for, into it.
    moved[b] = matured - before * shown;
    matured += (below[b] - before) * shown;
    before = below[b];
  }
  return { matured, moved };
}

// Delays by arm and product: tests whether they are equal, and a law for each product where products differ.

import { PRIOR } from "../model/delay/delay-law.ts";
import { binEnd, settingsOf } from "../model/delay/delays.ts";
import { type Events, lawsDiffer, ownLaw } from "../model/delay/pooled-laws.ts";
import { binAt, closedLaw, type Law, type Laws } from "./laws.ts";

/** First conversions of one arm in one cell of the grid of a `DelayEstimate`. */
export interface ArmDelays {
  readonly arm: string;
  /** Names the impressions' cohort, and the age of the youngest of them. */
  readonly cohort: number;
  readonly age: number;
  /** The bin of their delays. */
  readonly bin: number;
  /** Their number by product. */
  readonly groups: Readonly<Record<string, number>>;
}

/** Impressions of one age. */
interface Shown {
  readonly age: number;
  /** Their number by product. */
  readonly groups: Readonly<Record<string, number>>;
}

/**
 * Squares of a standard normal variable beyond which the delays of arms differ: at 5 %. Before windows have closed, late conversions are
 * unseen and the test is weak, so less casts doubt on equal delays.
 */
const UNLIKE = 3.84;
const DOUBTFUL = 1;
/** Conversions of closed windows by which a product's law is known, and the share of the conversions to come that may be of others. */
const FEW = 5;
const OTHERS = 0.1;

/**
 * Delays of the first conversions of each arm and product, as of a time. The reverse hazard of a bin is the share of the conversions before
 * its end that came in it, among impressions that are old enough for it. So young impressions do not pass for short delays.
 *
 * **Cost:** O(cells + arms x products x cohorts x bins).
 * **Source:** Lagakos, Barraj, De Gruttola 1988, for the reverse product limit and the log-rank test of reverse hazards.
 */
export class ProductDelays {
  readonly #window: number;
  readonly #cells: readonly ArmDelays[];
  /** Upper ends of the bins of the window. */
  readonly #ends: Float64Array;
  readonly #products: ReadonlyMap<string, Events>;
  /** Of all products together: the reverse hazard, and P(delay < end). */
  readonly #common: { readonly hazard: Float64Array; readonly below: Float64Array };
  /** Whether the delays of products differ, by a test at about 5 %. */
  readonly differ: boolean;

  constructor(cells: readonly ArmDelays[], window: number) {
    this.#window = window;
    this.#cells = cells;
    this.#ends = endsOf(window);
    this.#products = this.#eventsBy((_, product) => product);
    const all = Array.from(this.#products.values());
    const [events, risk] = [this.#sum(all.map((each) => each.events)), this.#sum(all.map((each) => each.risk))];
    const hazard = events.map((each, b) => (risk[b] > 0 ? each / risk[b] : 0));
    this.#common = { hazard, below: ownLaw({ events, risk }, { hazard, below: hazard }, 0) };
    this.differ = lawsDiffer(all, this.#common);
  }

  /** The events of each key. Null: the conversion is left out. */
  #eventsBy(keyOf: (cell: ArmDelays, product: string) => string | null): Map<string, Events> {
    const bins = this.#ends.length;
    const rows = new Map<string, { readonly key: string; readonly age: number; readonly counts: Float64Array }>();
    for (const cell of this.#cells) {
      for (const [product, count] of Object.entries(cell.groups)) {
        const key = keyOf(cell, product);
        if (key === null) continue;
        const name = `${cell.cohort} ${key}`;
        const row = rows.get(name) ?? { key, age: cell.age, counts: new Float64Array(bins) };
        rows.set(name, row);
        row.counts[Math.min(cell.bin, bins - 1)] += count;
      }
    }
    const all = new Map<string, Events>();
    for (const { key, age, counts } of rows.values()) {
      const { events, risk } = all.get(key) ?? { events: new Float64Array(bins), risk: new Float64Array(bins) };
      all.set(key, { events, risk });
      for (let b = 0, seen = 0; b < bins && this.#ends[b] <= age; b++) {
        seen += counts[b];
        events[b] += counts[b];
        risk[b] += seen;
      }
    }
    return all;
  }

  #sum(all: readonly Float64Array[]): Float64Array {
    return this.#ends.map((_, b) => all.reduce((sum, each) => sum + each[b], 0));
  }

  /**
   * The laws that two arms share: the common one, or one for each product, if products differ. If the arms differ, or too little is known of
   * the products, nobody knows what is still to come of open windows.
   *
   * @param shown all impressions. @param common states the law of all conversions.
   */
  shared({
    control,
    treatment,
    shown,
    common,
  }: {
    readonly control: string;
    readonly treatment: string;
    readonly shown: readonly Shown[];
    readonly common: () => Laws;
  }): Laws {
    const contrast = this.#contrast(control, treatment);
    if (contrast > UNLIKE) return closedLaw(this.#window);
    if (this.differ) return this.#laws(shown) ?? closedLaw(this.#window);
    const law = common();
    return law.followed < this.#window && contrast > DOUBTFUL ? closedLaw(this.#window) : law;
  }

  /** The square of the log-rank statistic of two arms. If products differ, arms are compared within each, because arms may show others. */
  #contrast(control: string, treatment: string): number {
    const { differ } = this;
    const [a, b] = [control, treatment].map((name) =>
      this.#eventsBy(({ arm }, product) => (arm === name ? (differ ? product : "") : null)),
    );
    return logRank(Array.from(a, ([key, events]) => [events, b.get(key)]));
  }

  /**
   * The laws of products, drawn towards the common one. Undefined if too few conversions of closed windows tell the laws of those from
   * which conversions are still to come.
   *
   * @param shown all impressions.
   */
  #laws(shown: readonly Shown[]): Laws | undefined {
    const closed = this.#closed();
    const products = new Map<string, Product>();
    for (const { age, groups } of shown) {
      for (const [product, count] of Object.entries(groups)) {
        const known = products.get(product) ?? this.#productOf(product);
        products.set(product, known);
        known.shown += count;
        known.matured += count * known.below(age);
      }
    }
    const all = Array.from(products.values());
    const sum = (of: (product: Product) => number): number => all.reduce((total, each) => total + of(each), 0);
    const rate = sum(({ conversions }) => conversions) / sum(({ matured }) => matured);
    // One conversion at the common rate is added, because only other products tell of one without conversions.
    for (const each of all) each.rate = (each.conversions + 1) / (each.matured + 1 / rate);
    const toCome = (each: Product): number => each.rate * (each.shown - each.matured);
    const unknown = Array.from(products).reduce((total, [name, each]) => total + ((closed.get(name) ?? 0) < FEW ? toCome(each) : 0), 0);
    if (!(unknown <= OTHERS * sum(toCome))) return undefined;
    return { basis: "all", followed: this.#window, ends: this.#ends, of: (product) => products.get(product) as Law };
  }

  /** Conversions of closed windows by product. */
  #closed(): Map<string, number> {
    const closed = new Map<string, number>();
    for (const { age, groups } of this.#cells) {
      if (age < this.#window) continue;
      for (const [product, count] of Object.entries(groups)) closed.set(product, (closed.get(product) ?? 0) + count);
    }
    return closed;
  }

  #productOf(product: string): Product {
    const { hazard, below } = this.#common;
    const none = new Float64Array(this.#ends.length);
    const { events, risk } = this.#products.get(product) ?? { events: none, risk: none };
    const own = ownLaw({ events, risk }, this.#common, PRIOR);
    const logVariance = none.slice();
    for (let b = own.length - 1, variance = 0; b >= 0; b--) {
      logVariance[b] = variance;
      const died = events[b] + PRIOR * below[b] * hazard[b];
      const alive = Math.max(risk[b] + PRIOR * below[b] - died, 0) + PRIOR;
      variance += died / (alive * (alive + died + 1));
    }
    const conversions = this.#cells.reduce((sum, { groups }) => sum + (groups[product] ?? 0), 0);
    return { below: (age) => between(this.#ends, own, age), logVariance, rate: 0, shown: 0, matured: 0, conversions };
  }
}

interface Product extends Law {
  rate: number;
  shown: number;
  matured: number;
  readonly conversions: number;
}

/** Ends of the bins of a window, of which the last is the window's. */
function endsOf(window: number): Float64Array {
  const { resolution } = settingsOf(window);
  const ends: number[] = [];
  for (let bin = 0; ends.length === 0 || ends[bin - 1] < window; bin++) ends.push(Math.min(binEnd(bin) * resolution, window));
  return Float64Array.from(ends);
}

/** A law at an age, linear within a bin. */
function between(ends: Float64Array, law: Float64Array, age: number): number {
  const bin = binAt(ends, age);
  if (age >= ends[bin]) return 1;
  const [start, before] = bin === 0 ? [0, 0] : [ends[bin - 1], law[bin - 1]];
  return before + ((law[bin] - before) * Math.max(age - start, 0)) / (ends[bin] - start);
}

/** The square of the log-rank statistic of two arms, over strata. 0 without conversions at risk in both. */
function logRank(strata: readonly (readonly [Events, Events | undefined])[]): number {
  let [difference, variance] = [0, 0];
  for (const [a, b] of strata) {
    if (!b) continue;
    for (let bin = 0; bin < a.risk.length; bin++) {
      const [own, risk] = [a.risk[bin], a.risk[bin] + b.risk[bin]];
      const died = a.events[bin] + b.events[bin];
      if (died === 0 || own === 0 || own === risk) continue;
      difference += a.events[bin] - (died * own) / risk;
      variance += (died * own * (risk - own) * (risk - died)) / (risk * risk * (risk - 1));
    }
  }
  return variance > 0 ? (difference * difference) / variance : 0;
}

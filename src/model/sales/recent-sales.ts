// What products have brought lately, and what is known of it from before. It does not know how products are told apart.

import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import { isInMs, type Moment, timeOf, type Window } from "../delay/window.ts";
import type { AppendedImpression, ReportedDelay } from "../posterior.ts";

/** Days of a period: the present one and those before it. */
const DAYS = 7;
/** The period that counts by default, in ms, or in rounds. */
const WEEK_MS = 604_800_000;
const WEEK_ROUNDS = 7000;

/** Impressions of a product, and the rewards that they brought. */
interface Count {
  views: number;
  sales: number;
}

/** Past sales of products, from before the first impression. */
interface Prior {
  readonly products: ReadonlyMap<number, Readonly<Count>>;
  /** Sums over all products. */
  readonly sales: number;
  readonly views: number;
}

const NO_PRIOR: Prior = { products: new Map(), sales: 0, views: 0 };
const NONE: Readonly<Count> = { views: 0, sales: 0 };

/**
 * Rewards and impressions of products in the last seven days, where a day is a seventh of the period. A reward counts on the day of its
 * conversion, or of its impression if nobody says when it came. All counts are sums, whatever the order of events.
 *
 * Counts from before take the place of sales that are still to come: each conversion takes one of them away, from all products alike.
 */
export class RecentSales {
  readonly #window: Window;
  readonly #day: number;
  readonly #countsViews: boolean;
  readonly #productOf: (features: Float64Array, action: string | undefined) => number;
  /** By day, and by product. No count of it is empty. */
  #days = new Map<number, Map<number, Count>>();
  /** Day of the latest impression. */
  #latest = Number.NEGATIVE_INFINITY;
  /** Of all impressions so far. */
  #conversions = 0;
  #rewards = 0;
  #prior = NO_PRIOR;
  /** Sums since a day, derived. */
  #recent: { readonly since: number; readonly products: Map<number, Count> } | undefined;

  /**
   * `period`: in the unit of the window. `countsViews`: whether impressions are counted, for rates. `productOf`: a whole number for the
   * product of an impression, which is its slot.
   */
  constructor(
    window: Window,
    options: { readonly period: number | null; readonly countsViews: boolean },
    productOf: (features: Float64Array, action: string | undefined) => number,
  ) {
    this.#window = window;
    this.#day = (options.period ?? (isInMs(window) ? WEEK_MS : WEEK_ROUNDS)) / DAYS;
    this.#countsViews = options.countsViews;
    this.#productOf = productOf;
  }

  #dayAt(moment: Moment, delay = 0): number {
    return Math.floor((timeOf(this.#window, moment) + delay) / this.#day);
  }

  /** Counts an impression, and returns its product. */
  append(features: Float64Array, shown: Moment & { readonly action?: string }): number {
    const product = this.#productOf(features, shown.action);
    const day = this.#dayAt(shown);
    if (day > this.#latest) this.#advance(day);
    if (this.#countsViews) this.#add(day, product, 1, 0);
    return product;
  }

  #advance(day: number): void {
    this.#latest = day;
    for (const known of this.#days.keys()) if (known <= day - DAYS) this.#days.delete(known);
  }

  /** Replaces the reward `previous` of an impression, whose slot is its product. */
  observe({ slot: product, ...moment }: AppendedImpression, reward: number, previous = 0, delay?: ReportedDelay): void {
    this.#add(this.#dayAt(moment, delay?.before), product, 0, -previous);
    this.#add(this.#dayAt(moment, delay?.after), product, 0, reward);
    this.#conversions += Number(reward !== 0) - Number(previous !== 0);
    this.#rewards += reward - previous;
  }

  #add(day: number, product: number, views: number, sales: number): void {
    // An older day is over, for events in any order.
    if (day <= this.#latest - DAYS || (views === 0 && sales === 0)) return;
    const counts = this.#days.get(day) ?? new Map<number, Count>();
    this.#days.set(day, counts);
    add(counts, product, views, sales);
    if (counts.size === 0) this.#days.delete(day);
    if (this.#recent && day >= this.#recent.since) add(this.#recent.products, product, views, sales);
  }

  /** Sums of the seven days until a moment, by product. */
  #until(moment: Moment): ReadonlyMap<number, Readonly<Count>> {
    const since = Math.max(this.#dayAt(moment), this.#latest) - DAYS + 1;
    if (this.#recent?.since !== since) {
      const products = new Map<number, Count>();
      for (const [day, counts] of this.#days) {
        if (day >= since) for (const [product, { views, sales }] of counts) add(products, product, views, sales);
      }
      this.#recent = { since, products };
    }
    return this.#recent.products;
  }

  /** What each product brought: rewards, or rewards per impression if those are counted. k entries. **Cost:** O(k). */
  scores(products: readonly number[], moment: Moment): Float64Array {
    const recent = this.#until(moment);
    const { left, sale, view } = this.#left(recent);
    return Float64Array.from(products, (product) => {
      const own = recent.get(product) ?? NONE;
      const before = left > 0 ? (this.#prior.products.get(product) ?? NONE) : NONE;
      const sales = own.sales + left * sale * before.sales;
      if (!this.#countsViews) return sales;
      const views = own.views + left * view * before.views;
      return views > 0 ? sales / views : 0;
    });
  }

  /**
   * The share of the prior that is left, the reward that one of its sales stands for, and the impressions that one of its views stands for.
   * Its views may be shares, or those of another place, so that all of them together have the rate of the own impressions.
   */
  #left(recent: ReadonlyMap<number, Readonly<Count>>) {
    const { sales, views } = this.#prior;
    const left = sales > 0 ? Math.min(1, Math.max(0, 1 - this.#conversions / sales)) : 0;
    if (left === 0) return { left, sale: 0, view: 0 };
    const sale = this.#conversions > 0 ? this.#rewards / this.#conversions : 1;
    let own = NONE;
    for (const each of this.#countsViews ? recent.values() : []) own = { views: own.views + each.views, sales: own.sales + each.sales };
    // As if one more impression had sold.
    const rate = (Math.max(own.sales, 0) + sale) / (own.views + 1);
    return { left, sale, view: (sale * sales) / (views * rate) };
  }

  /** Replaces what is known from before. Without products there is nothing. */
  prior(points: Float64Array, sales: Float64Array, views: Float64Array, ids: readonly string[]): void {
    const d = sales.length > 0 ? points.length / sales.length : 0;
    this.#known(Array.from(sales, (_, i) => [this.#productOf(points.subarray(i * d, (i + 1) * d), ids[i]), sales[i], views[i]]));
  }

  /** Rows of product, sales and views. Those of one product add up. */
  #known(rows: readonly (readonly number[])[]): void {
    const counts = new Map<number, Count>();
    for (const [product, sales, views] of rows) add(counts, product, views, sales);
    const all = [...counts.values()];
    this.#prior = {
      products: counts,
      sales: all.reduce((sum, each) => sum + each.sales, 0),
      views: all.reduce((sum, each) => sum + each.views, 0),
    };
  }

  /** Adds what another state with the same options and the same prior has counted. */
  merge(other: RecentSales): void {
    this.#advance(Math.max(this.#latest, other.#latest));
    for (const [day, counts] of other.#days) for (const [product, { views, sales }] of counts) this.#add(day, product, views, sales);
    this.#conversions += other.#conversions;
    this.#rewards += other.#rewards;
    if (this.#prior.products.size === 0) this.#prior = other.#prior;
    this.#recent = undefined;
  }

  /** Conversions and rewards so far, then rows of day, product, views and sales. */
  statistics(): Float64Array {
    const rows = [...this.#days].flatMap(([day, counts]) => [...counts].map(([product, each]) => [day, product, each.views, each.sales]));
    rows.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return Float64Array.of(this.#conversions, this.#rewards, ...rows.flat());
  }

  save(writer: SnapshotWriter): void {
    const prior = [...this.#prior.products];
    writer.numbers(
      Number.isFinite(this.#latest) ? [this.#latest] : [],
      this.statistics(),
      prior.flatMap(([product, { sales, views }]) => [product, sales, views]),
    );
  }

  load(reader: SnapshotReader): void {
    const [latest = Number.NEGATIVE_INFINITY] = reader.numbers();
    const [conversions, rewards, ...rows] = reader.numbers();
    const prior = reader.numbers();
    if (rewards === undefined || rows.length % 4 !== 0 || prior.length % 3 !== 0) throw malformed();
    [this.#latest, this.#conversions, this.#rewards] = [latest, conversions, rewards];
    this.#days = new Map();
    this.#recent = undefined;
    for (let at = 0; at < rows.length; at += 4) this.#add(rows[at], rows[at + 1], rows[at + 2], rows[at + 3]);
    if (prior.some((each) => each < 0)) throw malformed();
    this.#known(Array.from({ length: prior.length / 3 }, (_, i) => [...prior.subarray(3 * i, 3 * i + 3)]));
  }
}

/** Adds to the counts of a product. */
function add(counts: Map<number, Count>, product: number, views: number, sales: number): void {
  const count = counts.get(product);
  if (!count) counts.set(product, { views, sales });
  else if (count.views + views === 0 && count.sales + sales === 0) counts.delete(product);
  else {
    count.views += views;
    count.sales += sales;
  }
}

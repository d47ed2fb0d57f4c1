// Impressions and conversions of all products together, and of each by itself. `product-laws.ts` makes laws of them.

import type { SnapshotReader, SnapshotWriter } from "../../values/snapshot.ts";
import { type DelaySettings, Delays } from "./delays.ts";
import { packed, unpacked } from "./packed.ts";

/** Counts of a product. */
export interface Counted {
  readonly delays: Delays;
  /** Number of impressions. */
  readonly shown: number;
}

/** Counts by product. While there is a single product, its counts are those of all and are not kept twice. */
export class ProductCounts {
  /** Of all products together. */
  readonly delays: Delays;
  shown = 0;
  readonly #settings: DelaySettings;
  #first: string | undefined;
  /** Empty while there is a single product. */
  readonly #products = new Map<string, { readonly delays: Delays; shown: number }>();

  constructor(settings: DelaySettings) {
    this.#settings = settings;
    this.delays = new Delays(settings);
  }

  /** Counts impressions shown at a time. `now`: time of the clock. */
  append(product: string, time: number, count: number, now: number): void {
    const own = this.#of(product, now);
    for (const delays of [this.delays, own?.delays]) delays?.append(time, count);
    this.shown += count;
    if (own) own.shown += count;
  }

  /** Counts conversions of impressions shown at a time. */
  convert(product: string, time: number, delay: number, count: number, now: number): void {
    for (const delays of [this.#of(product, now)?.delays, this.delays]) delays?.convert(time, delay, count);
  }

  #of(product: string, now: number): { readonly delays: Delays; shown: number } | undefined {
    this.#first ??= product;
    if (this.#products.size === 0) {
      if (product === this.#first) return undefined;
      const delays = new Delays(this.#settings);
      delays.load(unpacked(Float64Array.from(packed((into) => this.delays.save(into)))));
      this.#products.set(this.#first, { delays, shown: this.shown });
    }
    const own = this.#products.get(product) ?? { delays: new Delays(this.#settings), shown: 0 };
    this.#products.set(product, own);
    own.delays.advance(now);
    return own;
  }

  /** The counts of each product by name, in order of names. All cohorts are as old as the clock says, in whatever order they came. */
  asOf(now: number): ReadonlyMap<string, Counted> {
    if (this.shown === 0) return new Map([["", this]]);
    this.delays.advance(now);
    for (const { delays } of this.#products.values()) delays.advance(now);
    return this.#products.size > 0 ? new Map(this.#sorted()) : new Map([[this.#first as string, this]]);
  }

  #sorted() {
    return Array.from(this.#products).sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Names of the products, in the order in which they are saved. */
  get names(): string[] {
    if (this.#first === undefined) return [];
    return this.#products.size > 0 ? this.#sorted().map(([name]) => name) : [this.#first];
  }

  save(writer: Pick<SnapshotWriter, "numbers">): void {
    this.delays.save(writer);
    for (const [, { delays, shown }] of this.#sorted())
      writer.numbers(
        [shown],
        packed((into) => delays.save(into)),
      );
  }

  load(reader: Pick<SnapshotReader, "numbers">, shown: number, names: readonly string[]): void {
    this.shown = shown;
    this.#first = names[0];
    this.delays.load(reader);
    if (names.length < 2) return;
    for (const name of names) {
      const [[own], delays] = [reader.numbers(1), new Delays(this.#settings)];
      delays.load(unpacked(reader.numbers()));
      this.#products.set(name, { delays, shown: own });
    }
  }
}

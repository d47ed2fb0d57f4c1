import type { NamedFeatures } from "afterclick";
import type { DelayLaw } from "../../src/simulation/delay-law.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export interface Product {
  readonly id: string;
  readonly features?: NamedFeatures;
}

/** One visitor. All algorithms meet the same visitors: whether and when each product converts is drawn before the choice. */
export interface Visit {
  readonly context?: NamedFeatures;
  /** Features as numbers, instead of named ones: products x dimension, row-major. */
  readonly points?: Float64Array;
  /** The chance of each product to convert. */
  readonly rates: ArrayLike<number>;
  /** A product converts if this is below its rate. Uniform on [0, 1). */
  readonly luck: number;
  /** From the impression to the conversion, by group of products. */
  readonly delaysMs: readonly number[];
  /** The reward of a conversion of each product. Default: 1. */
  readonly amounts?: ArrayLike<number>;
  readonly refund?: Refund;
  /** The product that a log showed. The visit counts only if an algorithm chooses it. Otherwise the next visit of the same round follows. */
  readonly logged?: number;
}

/** Money that goes back after an order. */
interface Refund {
  /** The share of each product's orders that are returned. */
  readonly shares: ArrayLike<number>;
  /** An order is returned if this is below its product's share. Uniform on [0, 1). */
  readonly luck: number;
  /** From the conversion to the refund. */
  readonly afterMs: number;
}

/** When conversions come, and when the shop delivers them. */
export interface Timing {
  /** The law of the delays in minutes, for each group of products. */
  readonly laws: readonly DelayLaw[];
  readonly windowMs: number;
  /** Time between two deliveries of conversions. Absent if each conversion is delivered at once. */
  readonly batchMs?: number;
}

/** A simulated shop. One visitor comes every `stepMs`. */
export interface Shop extends Timing {
  readonly horizon: number;
  readonly stepMs: number;
  readonly products: readonly Product[];
  /** Range of each numeric feature. */
  readonly numeric?: Readonly<Record<string, { readonly min: number; readonly max: number }>>;
  /** Length of the vectors if features are numbers. */
  readonly dimension?: number;
  /** For each product its place among the delays of a visit. Absent if there is one delay for all. Group 1 is the slow one. */
  readonly groups?: readonly number[];
  /** Whether one product is the best for every visitor, until a drift. */
  readonly oneBest?: boolean;
  /** About the mean amount of an order, if rewards are amounts of money. */
  readonly meanOrder?: number;
  /** Visits are asked for in order, once each; those of a log until one counts. */
  visit(round: number): Visit;
}

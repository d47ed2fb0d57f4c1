// Paper: none. It is what a shop shows without a recommender.
// Assumes: what has sold lately sells to everybody.
// Model: the rewards of each product in the last seven days, or those per impression (`RecentSales`).
// Expired means: nothing. By rate, an impression counts at once.
// Cost: O(k log k) to choose, O(1) per impression and conversion.

import type { Ranked } from "../../model/candidates.ts";
import { best, boosted, type ChanceOf, numbersAt } from "../../model/ranking.ts";
import { keyOfFeatures, keyOfId, lotOf } from "../../model/sales/product-key.ts";
import { RecentSales } from "../../model/sales/recent-sales.ts";
import { finiteNumber, oneOf, onlyKeys, positiveNumber, wholeNumber, wrongType } from "../../values/argument.ts";
import { definePolicy, type PolicyFactory, type ScoreRequest } from "../rule.ts";

/** Options of `bestsellers`. */
export interface BestsellersOptions {
  /**
   * Features per candidate (d). Those with the same features are then one product, so features must say nothing of the visitor. Default
   * 0: a product is its id, which `register` and `append` take as `action`.
   */
  readonly dimension?: number;
  /** Ranks by the rewards that a product has brought ("sales", the default), or by those per impression ("rate"). */
  readonly by?: "sales" | "rate";
  /** Share of decisions that rank at random, default 0.05. Without it, a product that nobody sees never sells. */
  readonly random?: number;
  /** How long rewards count, in the unit of the window. It moves on in seven steps. Default: 7 days, or 7,000 rounds. */
  readonly period?: number | null;
}

const NO_FEATURES = /* @__PURE__ */ new Float64Array(0);
/** Orders of products that tie, among which a list within families takes one. */
const ORDERS = 32;

/** The products that have sold best lately, the same for everybody. Among products that tie, the order is random. */
export const bestsellers: PolicyFactory<BestsellersOptions | undefined> = /* @__PURE__ */ definePolicy({
  id: "bestsellers",
  stateVersion: 1,

  parse(options: BestsellersOptions | undefined) {
    const { dimension = 0, by = "sales", random = 0.05, period = null } = options ?? {};
    onlyKeys("options", options ?? {}, ["dimension", "by", "random", "period"]);
    return {
      ...(dimension !== 0 && { dimension: wholeNumber("dimension", dimension, 0, 4096) }),
      by: oneOf("by", by, ["sales", "rate"]),
      random: finiteNumber("random", random, 0, 1),
      period: period === null ? null : positiveNumber("period", period),
    };
  },

  start({ window }, { dimension = 0, by, random, period }) {
    const productOf = (features: Float64Array, action: string | undefined): number => {
      if (dimension > 0) return keyOfFeatures(features);
      if (typeof action !== "string") throw wrongType("action", "the id of the product, as there are no features", action);
      return keyOfId(action);
    };
    const sold = new RecentSales(window, { period, countsViews: by === "rate" }, productOf);
    return {
      dimension,
      orderInvariant: true,
      merges: true,
      deterministic: false,
      delayOffset: 0,
      state: sold,
      score(request) {
        const { count, ids } = request;
        const row = (i: number) => (dimension > 0 ? request.points.subarray(i * dimension, (i + 1) * dimension) : NO_FEATURES);
        const products = Array.from({ length: count }, (_, i) => productOf(row(i), ids[i]));
        const { score } = boosted({ score: sold.scores(products, request) }, request.boosts);
        return ranked(request, products, score, random);
      },
    };
  },
});

/** Ranks by scores, with equal ones in random order, or with probability `random` by chance alone. */
function ranked(request: ScoreRequest, products: readonly number[], scores: Float64Array, random: number): Ranked {
  const { count, limit, families, uniforms } = request;
  const lots = uniforms(count);
  const explores = random > 0 && lots[0] <= random;
  // The first lot decides whether to explore. Its rest is uniform like the others.
  lots[0] = explores ? lots[0] / random : (lots[0] - random) / (1 - random);
  const { levels, chance } = ties(scores);
  const shuffled = lots.map((lot, i) => (explores ? 0 : levels[i]) + (1 - lot) / 2);
  const shown = explores ? shuffled : scores;
  const common = { scores: (indices: readonly number[]) => numbersAt(shown, indices) };
  if (!families) {
    return { ...common, list: best(shuffled, limit), chance: (index, place) => random / count + (1 - random) * chance(index, place) };
  }
  const inOrder = (order: number): Float64Array => levels.map((level, i) => level + lotOf(products[i], order));
  const list = families.best(explores ? shuffled : inOrder(Math.min(Math.floor(lots[0] * ORDERS), ORDERS - 1)), limit);
  return { ...common, list, chance: families.chances({ random, count: ORDERS, scores: inOrder }, list.length) };
}

/** The place of each score among the distinct ones, from the least, and the chance of each place if those that tie are in random order. */
function ties(scores: Float64Array): { readonly levels: Float64Array; readonly chance: ChanceOf } {
  const distinct = Float64Array.from(new Set(scores)).sort();
  const levelOf = new Map(Array.from(distinct, (score, level) => [score, level]));
  const levels = scores.map((score) => levelOf.get(score) as number);
  const tied = new Int32Array(distinct.length);
  for (const level of levels) tied[level]++;
  const first = new Int32Array(distinct.length);
  for (let level = distinct.length - 2; level >= 0; level--) first[level] = first[level + 1] + tied[level + 1];
  const chance: ChanceOf = (index, place) => {
    const level = levels[index];
    return place >= first[level] && place < first[level] + tied[level] ? 1 / tied[level] : 0;
  };
  return { levels, chance };
}

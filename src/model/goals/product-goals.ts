// Rewards of the impressions of a product in each goal, and together.

import { type Average, LEAST_CONVERSIONS, type ProductAverages } from "../linear/interval.ts";
import type { Stage } from "./stages.ts";

/** The averages of a product. */
export interface ProductGoals {
  /** Of all goals, by their weights. */
  readonly value: Average;
  /** By stage: of the impressions that started it. Undefined for a stage that does not matter. */
  readonly factors: readonly (Average | undefined)[];
  /** By stage: amounts that an interval lacks. */
  readonly missing: readonly number[];
}

/** Mean value of a stage per impression of the product, and how far the truth may be below and above. */
interface Part {
  readonly stage: number;
  readonly mean: number;
  readonly below: number;
  readonly above: number;
  /** Conversions per impression. */
  readonly share: number;
}

/** Parts are summed by their distances. `averages`: of each stage that matters. */
export function goalsOf(key: number, stages: readonly Stage[], averages: readonly (ProductAverages | undefined)[]): ProductGoals {
  /** Impressions of the product behind those that started a stage, and the relative error of their number. */
  const impressions: { count: number; error: number }[] = [];
  const parts: Part[] = [];
  const missing = stages.map(() => 0);
  const factors = stages.map(({ weight, parent, amounts }, stage) => {
    const own = averages[stage];
    if (!own) return undefined;
    const { impressions: started, conversions } = own.of(key);
    const before = parent === undefined ? undefined : averages[parent]?.of(key).rewards;
    const { count, error } = impressions[parent ?? -1] ?? { count: started, error: 0 };
    impressions[stage] = {
      count: before ? (started * count) / before : count,
      error: Math.sqrt(error * error + own.errorOf(key) * own.errorOf(key)),
    };
    if (weight !== 0) parts.push(partOf(key, stage, weight, own, impressions[stage]));
    if (amounts) missing[stage] = Math.max(LEAST_CONVERSIONS - conversions, 0);
    return amounts ? own.amount(key) : own.average(key);
  });
  const isOpen = missing.some((each) => each > 0);
  return { value: isOpen ? openOf(parts, stages) : sumOf(parts, stages), factors, missing };
}

function partOf(key: number, stage: number, weight: number, own: ProductAverages, impressions: { count: number; error: number }): Part {
  const { count, error } = impressions;
  const { average, low, high } = own.average(key, count, error);
  const [below, above] = Number.isNaN(average) ? [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY] : [average - low, high - average];
  const [down, up] = weight > 0 ? [below, above] : [above, below];
  const share = own.conversions(key) / count;
  return { stage, mean: weight * average, below: Math.abs(weight) * down, above: Math.abs(weight) * up, share };
}

/**
 * The sum of parts that come from the same impressions. Impressions with the rarer conversion have the other one too if it is a stage
 * before it. Of goals beside each other nobody has counted that: they are taken to go together as far as that makes the interval wider.
 */
function sumOf(parts: readonly Part[], stages: readonly Stage[]): Average {
  const average = parts.reduce((sum, { mean }) => sum + mean, 0);
  const distance = (side: "below" | "above"): number => {
    let square = 0;
    for (const [i, a] of parts.entries()) {
      for (const b of parts.slice(0, i)) {
        const sign = Math.sign(stages[a.stage].weight * stages[b.stage].weight);
        if (sign < 0 && !isBefore(b.stage, a.stage, stages)) continue;
        const least = Math.min(a.share, b.share);
        if (least > 0) square += 2 * sign * Math.sqrt(least / Math.max(a.share, b.share)) * a[side] * b[side];
      }
      square += a[side] * a[side];
    }
    return Math.sqrt(Math.max(square, 0));
  };
  if (Number.isNaN(average)) return { average, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  return { average, low: average - distance("below"), high: average + distance("above") };
}

function isBefore(stage: number, later: number, stages: readonly Stage[]): boolean {
  const { parent } = stages[later];
  return parent !== undefined && (parent === stage || isBefore(stage, parent, stages));
}

/** The sum of parts that contain amounts of which too few are known. */
function openOf(parts: readonly Part[], stages: readonly Stage[]): Average {
  const average = parts.reduce((sum, { mean }) => sum + mean, 0);
  const [costs, gains] = [-1, 1].map((sign) => parts.some(({ stage }) => Math.sign(stages[stage].weight) === sign));
  return { average, low: costs ? Number.NEGATIVE_INFINITY : 0, high: gains ? Number.POSITIVE_INFINITY : 0 };
}

import type { Goals } from "../../domain/model/goals.ts";
import type { Reached } from "../../protocol/model-answer.ts";
import type { GoalFigures } from "../../rpc/counters.ts";

/** The outcomes of impressions so far, goal by goal. Refunds are no conversions, and an order that is refunded in full is none either. */
export function reachedOf(goals: Goals, figures: Readonly<Record<string, GoalFigures>>, impressions: number): Reached[] {
  return Object.entries(goals).map(([goal, { weight, value }]) => {
    const { converted, orders, refunds, paid, refunded } = figures[goal];
    return {
      ...{ goal, weight, converted, rateSoFar: impressions > 0 ? converted / impressions : null },
      amounts: value ? { currency: value.currency, orders, refunds, paid, refunded, net: paid - refunded } : null,
    };
  });
}

import type { Goals } from "afterclick";
import { currencyOf } from "../../worker/domain/model/goals.ts";

/** Lines of a report that name the unit of rewards: a currency, or the goals whose rewards are added up. None without an amount. */
export function rewardUnit(goals: Goals = {}): string[] {
  const counted = Object.entries(goals).filter(([, { weight }]) => weight !== 0);
  if (!counted.some(([, { value }]) => value)) return [];
  const currency = currencyOf(goals);
  const unweighed = counted.every(([, { weight }]) => weight === 1);
  if (currency !== null) return [`  rewards in ${currency}${unweighed ? "" : ", times the weight of their goal"}`];
  const parts = counted.map(([goal, { weight, value }]) => `${goal} ${value ? `in ${value.currency}` : "as 1"} times ${weight}`);
  return [`  warning: rewards add up what has no common unit: ${parts.join(", ")}`];
}

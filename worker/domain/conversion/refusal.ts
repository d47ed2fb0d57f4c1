import { MOST_AMOUNT } from "../../protocol/most.ts";
import { didYouMean } from "../../protocol/nearest.ts";
import type { ModelConfig } from "../model/model.ts";
import type { GoalEvent } from "./event.ts";
import { isInRange } from "./reward.ts";
import type { RewardRules } from "./silence.ts";

/** The part of a configuration that says which conversions count, and for what. */
export type Rules = RewardRules & Pick<ModelConfig, "window" | "reward">;

/** Whether an amount has another currency than its goal, which the model declares. */
export function isOtherCurrency({ goal, currency }: Pick<GoalEvent, "goal" | "currency">, { goals }: Pick<Rules, "goals">): boolean {
  if (currency === undefined || (goals && !Object.hasOwn(goals, goal))) return false;
  return currency !== goals?.[goal].value?.currency;
}

/** Why no model takes a reward; undefined if it is in the range. */
export function rangeRefusal(reward: number | null): string | undefined {
  if (isInRange(reward)) return undefined;
  return `reward: expected a number between -${MOST_AMOUNT} and ${MOST_AMOUNT}, got ${reward}: state amounts in major units of the currency`;
}

/** Why the model refuses a conversion; undefined if it does not. */
export function refusal(
  { reward, goal, currency, renewal }: GoalEvent,
  { reward: range, goals }: Pick<Rules, "reward" | "goals">,
): string | undefined {
  if (goals && !Object.hasOwn(goals, goal)) {
    const names = Object.keys(goals);
    return `goal: expected one of ${names.join(", ")}, got ${goal}${didYouMean(goal, names)}`;
  }
  const value = goals?.[goal].value;
  if (isOtherCurrency({ goal, currency }, { goals })) {
    const [expected, remedy] = value
      ? [value.currency, `convert the amount to ${value.currency}, or declare a goal for each currency`]
      : [`none, as the goal ${goal} has no value`, `declare it with "value": { "currency": "${currency}" }, or leave out the currency`];
    return `currency: expected ${expected}, got ${currency}; ${remedy}`;
  }
  if (renewal && goals?.[goal].renewals !== "all") {
    return `renewal: ${goal} counts the first payment of a subscription alone; declare it with "renewals": "all" to count each`;
  }
  if (value) return rangeRefusal(reward);
  if (reward === null || (reward >= range.min && reward <= range.max)) return undefined;
  return `reward: expected a number between ${range.min} and ${range.max}, got ${reward}; for amounts of money declare a goal with a value`;
}

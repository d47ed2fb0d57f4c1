import type { Goals } from "afterclick";
import { expect, it } from "vitest";
import { rewardUnit } from "../../../cli/evaluate/reward-unit.ts";

const euros = { weight: 1, value: { currency: "EUR" } };

it.each<[string, Goals | undefined, string[]]>([
  ["no declared goals", undefined, []],
  ["goals without amounts", { click: { weight: 0.1 }, purchase: { weight: 1 } }, []],
  ["amounts of weight 0", { click: { weight: 1 }, order: { ...euros, weight: 0 } }, []],
  ["one currency, beside goals of weight 0", { click: { weight: 0 }, order: euros, renewal: euros }, ["  rewards in EUR"]],
  ["a weight", { order: { ...euros, weight: 0.5 } }, ["  rewards in EUR, times the weight of their goal"]],
  [
    "an amount beside a count",
    { click: { weight: 0.1 }, order: euros },
    ["  warning: rewards add up what has no common unit: click as 1 times 0.1, order in EUR times 1"],
  ],
  [
    "two currencies",
    { order: euros, abroad: { weight: 1, value: { currency: "USD" } } },
    ["  warning: rewards add up what has no common unit: order in EUR times 1, abroad in USD times 1"],
  ],
])("the report of an evaluation names the unit of rewards: %s", (_, goals, lines) => {
  expect(rewardUnit(goals)).toEqual(lines);
});

// Which events say what silence says: an impression without conversions has the reward 0, in every range of rewards.

import { policies } from "afterclick";
import type { ModelConfig } from "../model/model.ts";
import type { GoalEvent } from "./event.ts";

/** The part of a configuration that says what events bring. */
export type RewardRules = Pick<ModelConfig, "goals" | "policy" | "defaults">;

/** Version of the defaults since which a 0 is silence. A model of earlier ones goes on to count it, until it learns its log again. */
const SILENT_SINCE = 4;

/** Policies that wait for every reward. */
const COUNTING: ReadonlySet<string> = new Set(policies.flatMap(({ id, countsZeros }) => (countsZeros === true ? [id] : [])));

/** Whether a reward of 0 counts as any other. */
export const countsZeros = ({ policy, defaults = 0 }: RewardRules): boolean => defaults < SILENT_SINCE || COUNTING.has(policy);

/** Whether an event has the reward that silence has. */
export const isZero = ({ reward }: Pick<GoalEvent, "reward">, rules: RewardRules): boolean => reward === 0 && !countsZeros(rules);

/** Whether an event says nothing but that earlier rewards of its own name are taken back. */
export function isSilent({ reward, restates }: Pick<GoalEvent, "reward" | "restates">, rules: RewardRules): boolean {
  return reward === 0 && !restates && !countsZeros(rules);
}

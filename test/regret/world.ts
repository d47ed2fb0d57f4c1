import { type PolicyDescriptor, Recommender } from "afterclick";
import { stream } from "../support/scenario.ts";

export interface Scenario {
  readonly policy: PolicyDescriptor;
  /** Feedback: conversions only, or, for policies that need all outcomes, the action's value. */
  readonly feedback: "conversions" | "values";
  /** The same actions in every round, or 8 random ones per round. A policy with its own domain chooses among the fixed actions. */
  readonly actions?: readonly number[][];
  readonly rounds?: number;
}

/** Mean of the geometric delays. Most feedback arrives inside the window of 40 rounds, and some after it. */
const MEAN_DELAY = 15;

/** The delay at a uniform number. */
export const delayOf = (uniform: number): number => Math.floor(Math.log(1 - uniform) / Math.log(1 - 1 / MEAN_DELAY));

/** Sum over rounds of the best action's rate minus the shown action's rate. */
export async function regretOf({ policy, feedback, actions, rounds = 600 }: Scenario, seed: number): Promise<number> {
  const random = stream(seed);
  const theta = [0.9, 0.1, 0.4];
  const recommender = await Recommender.create({ policy, window: { rounds: 40 }, seed });
  const due: { impressionId: string; reward: number }[][] = [];
  let regret = 0;
  for (let round = 1; round <= rounds; round++) {
    const offered = actions ?? Array.from({ length: 8 }, () => theta.map(() => random() / Math.sqrt(3)));
    const rates = offered.map((features) => features.reduce((sum, each, i) => sum + each * theta[i], 0));
    const ownDomain = (policy.options as { domain?: object | null }).domain;
    const { action } = recommender.recommend(ownDomain ? {} : { candidates: offered.map((features) => ({ features })) });
    const rate = rates[action.index];
    regret += Math.max(...rates) - rate;
    const at = round + delayOf(random());
    const reward = feedback === "values" ? Math.min(1, Math.max(0, rate + 0.4 * (random() - 0.5))) : Number(random() < rate);
    due[at] ??= [];
    if (feedback === "values" || reward > 0) due[at].push({ impressionId: action.impressionId, reward });
    for (const event of due[round] ?? []) recommender.convert(event);
  }
  return regret;
}

/** Mean over several runs. */
export async function meanRegret(scenario: Scenario, runs: number, firstSeed = 1): Promise<number> {
  let sum = 0;
  for (let run = 0; run < runs; run++) sum += await regretOf(scenario, firstSeed + run);
  return sum / runs;
}

import { delayLinTs, type PolicyDescriptor, Recommender } from "afterclick";
import { expect, it } from "vitest";
import { stream } from "../support/scenario.ts";

// The gain of forgetting in a changing world, and its cost in a constant one.

const ROUNDS = 4000;
const CHANGE = 2000;
const BEFORE = [0.9, 0.1, 0.4];
const AFTER = [0.1, 0.9, 0.2];

/** Regret of 8 random actions per round, with geometric delays of mean 15, after the change or after the same round without one. */
async function regretOf(policy: PolicyDescriptor, later: readonly number[], seed: number): Promise<number> {
  const random = stream(seed);
  const { policy: running } = await Recommender.create({ policy, window: { rounds: 60 }, seed });
  const due: (() => void)[][] = [];
  let regret = 0;
  for (let round = 1; round <= ROUNDS; round++) {
    for (const convert of due[round] ?? []) convert();
    const theta = round > CHANGE ? later : BEFORE;
    const candidates = Array.from({ length: 8 }, () => ({ features: theta.map(() => random() / Math.sqrt(3)) }));
    const rates = candidates.map(({ features }) => features.reduce((sum, each, i) => sum + each * theta[i], 0));
    const [{ index }] = running.choose({ candidates, round });
    if (round > CHANGE) regret += Math.max(...rates) - rates[index];
    const impression = running.append({ round, features: candidates[index].features });
    const delay = Math.floor(Math.log(1 - random()) / Math.log(1 - 1 / 15));
    if (random() >= rates[index] || delay > 60) continue;
    const at = round + delay + 1;
    due[at] ??= [];
    due[at].push(() => running.observe({ impression, reward: 1 }));
  }
  return regret;
}

async function meanRegret(options: object, later: readonly number[]): Promise<number> {
  const runs = await Promise.all([1, 2, 3].map((seed) => regretOf(delayLinTs({ dimension: 3, ...options }), later, seed)));
  return runs.reduce((sum, each) => sum + each, 0) / runs.length;
}

it.each([["by the rewards alone", {}] as const, ["by a half-life", { forgetting: { halfLife: 500 } }] as const])(
  "forgets what has changed, and loses little where nothing has, %s",
  async (_, options) => {
    const never = { forgetting: null };
    expect(await meanRegret(options, AFTER)).toBeLessThan((await meanRegret(never, AFTER)) / 2);
    // 0.01 conversions per round.
    expect(await meanRegret(options, BEFORE)).toBeLessThan((await meanRegret(never, BEFORE)) + (ROUNDS - CHANGE) / 100);
  },
);

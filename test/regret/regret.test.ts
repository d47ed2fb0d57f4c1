import {
  asyTs,
  bpe,
  bpeDelay,
  delayedZooming,
  delayGpTs,
  delayGpUcb,
  delayLinTs,
  delayLinUcb,
  dlpp,
  epsilonGreedy,
  gpBts,
  gpBucb,
  gpEi,
  gpTsSdf,
  gpUcb,
  gpUcbSdf,
  matern52,
  miniGpEi,
  miniGpUcb,
  otfLinTs,
  otfLinUcb,
  type PolicyDescriptor,
  policies,
  Recommender,
  uniform,
} from "afterclick";
import { describe, expect, it } from "vitest";
import { stream } from "../support/scenario.ts";

// Does it learn? A scenario per policy: 8 actions a round with hidden values, feedback late or lost, against uniform.

const ROUNDS = 600;

interface Scenario {
  readonly policy: PolicyDescriptor;
  /** What comes back: a conversion at the rate of the action or nothing, or for policies that take no news for no news, its value. */
  readonly feedback: "conversions" | "values";
  /** The same actions in every round; a policy with a domain of its own chooses there. */
  readonly actions?: readonly number[][];
}

async function regretOf({ policy, feedback, actions }: Scenario, seed: number): Promise<number> {
  const random = stream(seed);
  const theta = [0.9, 0.1, 0.4];
  const recommender = await Recommender.create({ policy, window: { rounds: 40 }, seed });
  const due: { round: number; impressionId: string; reward: number }[] = [];
  let regret = 0;
  for (let round = 1; round <= ROUNDS; round++) {
    const offered = actions ?? Array.from({ length: 8 }, () => theta.map(() => random() / Math.sqrt(3)));
    const rates = offered.map((features) => features.reduce((sum, each, i) => sum + each * theta[i], 0));
    const ownDomain = (policy.options as { domain?: object | null }).domain;
    const { action } = recommender.recommend(ownDomain ? {} : { candidates: offered.map((features) => ({ features })) });
    const rate = rates[action.index];
    regret += Math.max(...rates) - rate;
    // Geometric delays of mean 15: most feedback comes inside the window, some after it.
    const delay = Math.floor(Math.log(1 - random()) / Math.log(1 - 1 / 15));
    const reward = feedback === "values" ? Math.min(1, Math.max(0, rate + 0.4 * (random() - 0.5))) : Number(random() < rate);
    if (feedback === "values" || reward > 0) due.push({ round: round + delay, impressionId: action.impressionId, reward });
    for (const { round: when, ...event } of due) if (when === round) recommender.convert(event);
  }
  return regret;
}

async function meanRegret(scenario: Scenario): Promise<number> {
  const runs = await Promise.all([1, 2, 3, 4].map((seed) => regretOf(scenario, seed)));
  return runs.reduce((sum, each) => sum + each, 0) / runs.length;
}

const kernel = matern52({ lengthscale: 1 });
const delayed = { dimension: 3, kernel, noiseVariance: 0.2, rewardBound: 0.02, norms: "buffered", capacity: 150 } as const;
const arrived = { dimension: 3, kernel, noiseVariance: 0.05, exploration: 0.3, capacity: 150 };
/** A line on which the value rises from 0 to 0.9. */
const actions = Array.from({ length: 25 }, (_, i) => [i / 24, 0, 0]);
const lipschitz = { domain: { points: actions }, horizon: ROUNDS, sigma: 0.02 };
const inLine = { domain: { points: actions }, kernel, noiseVariance: 0.02 };
const exploring = { ...inLine, horizon: ROUNDS };
const scenarios: Record<string, Scenario> = {
  "otf-lin-ucb": { policy: otfLinUcb({ dimension: 3, exploration: 0.2 }), feedback: "conversions" },
  "otf-lin-ts": { policy: otfLinTs({ dimension: 3, exploration: 0.3 }), feedback: "conversions" },
  "delay-lin-ucb": { policy: delayLinUcb({ dimension: 3 }), feedback: "conversions" },
  "delay-lin-ts": { policy: delayLinTs({ dimension: 3 }), feedback: "conversions" },
  "gp-ucb-sdf": { policy: gpUcbSdf(delayed), feedback: "conversions" },
  "gp-ts-sdf": { policy: gpTsSdf({ ...delayed, exploration: 0.3 }), feedback: "conversions" },
  "gp-ucb": { policy: gpUcb(arrived), feedback: "values" },
  "asy-ts": { policy: asyTs(arrived), feedback: "values" },
  "gp-bucb": { policy: gpBucb(arrived), feedback: "values" },
  "gp-bts": { policy: gpBts(arrived), feedback: "values" },
  "delay-gp-ucb": { policy: delayGpUcb({ dimension: 3, capacity: 150 }), feedback: "values" },
  "delay-gp-ts": { policy: delayGpTs({ dimension: 3, capacity: 150, exploration: 0.5 }), feedback: "values" },
  "delayed-zooming": { policy: delayedZooming(lipschitz), feedback: "values", actions },
  dlpp: { policy: dlpp({ ...lipschitz, pruneMultiplier: 2 }), feedback: "values", actions },
  "bpe-delay": { policy: bpeDelay({ ...exploring, expectedDelay: 15, xi: 2 }), feedback: "values", actions },
  bpe: { policy: bpe({ ...exploring, beta: 1 }), feedback: "values", actions },
  "mini-gp-ucb": { policy: miniGpUcb({ ...inLine, exploration: 0.3 }), feedback: "values", actions },
  "mini-gp-ei": { policy: miniGpEi({ ...inLine, exploration: 0.3 }), feedback: "values", actions },
  "gp-ei": { policy: gpEi({ ...arrived, exploration: 0.1 }), feedback: "values" },
  "epsilon-greedy": { policy: epsilonGreedy({ dimension: 3, kernel, noiseVariance: 0.2, capacity: 150 }), feedback: "conversions" },
};

describe("regret against uniform, at delays of mean 15", async () => {
  const control = await meanRegret({ policy: uniform(), feedback: "values" });
  const fixedControl = await meanRegret({ policy: uniform(), feedback: "values", actions });

  it("has a scenario for every policy", () => {
    expect([...Object.keys(scenarios), "uniform"].sort()).toEqual(policies.map(({ id }) => id).sort());
  });

  it.each(Object.entries(scenarios))("%s is below half", async (_, scenario) => {
    expect(await meanRegret(scenario)).toBeLessThan((scenario.actions ? fixedControl : control) / 2);
  });
});

/** Eight actions in a square, of which the best is where it was until it moves: mean regret of two runs of 800 rounds. */
async function regretWhere(policy: PolicyDescriptor, movesAt: number): Promise<number> {
  let regret = 0;
  for (const seed of [1, 2]) {
    const random = stream(seed);
    const recommender = await Recommender.create({ policy, window: { rounds: 40 }, seed });
    const due: { round: number; impressionId: string; reward: number }[] = [];
    for (let round = 1; round <= 800; round++) {
      const offered = Array.from({ length: 8 }, () => [random(), random()]);
      const [x, y] = round < movesAt ? [0.8, 0.3] : [0.2, 0.8];
      const rates = offered.map((point) => Math.max(0, 0.9 - 1.2 * Math.hypot(point[0] - x, point[1] - y)));
      const { action } = recommender.recommend({ candidates: offered.map((features) => ({ features })) });
      regret += (Math.max(...rates) - rates[action.index]) / 2;
      const delay = Math.floor(Math.log(1 - random()) / Math.log(1 - 1 / 15));
      const reward = Math.min(1, Math.max(0, rates[action.index] + 0.4 * (random() - 0.5)));
      due.push({ round: round + delay, impressionId: action.impressionId, reward });
      for (const { round: when, ...event } of due) if (when === round) recommender.convert(event);
    }
  }
  return regret;
}

describe("forgetting, half-life 120", () => {
  const options = { dimension: 2, capacity: 150 };
  const forgetting = { halfLife: 120 };

  it.each(Object.entries({ "delay-gp-ucb": delayGpUcb, "delay-gp-ts": delayGpTs }))(
    "%s has less than half of the regret after a change, and at most twice as much without one",
    async (_, make) => {
      expect(await regretWhere(make({ ...options, forgetting }), 400)).toBeLessThan((await regretWhere(make(options), 400)) / 2);
      expect(await regretWhere(make({ ...options, forgetting }), 801)).toBeLessThan(2 * (await regretWhere(make(options), 801)));
    },
  );
});

describe("conversions of which many are pending", () => {
  it.each(Object.entries({ "delay-gp-ucb": delayGpUcb, "delay-gp-ts": delayGpTs }))(
    "%s has at most three quarters of the regret by a logistic link, and less than half of uniform's",
    async (_, make) => {
      const options = { dimension: 3, capacity: 150 };
      const logistic = await meanRegret({ policy: make({ ...options, rewards: "bernoulli" }), feedback: "conversions" });
      expect(logistic).toBeLessThan(0.75 * (await meanRegret({ policy: make(options), feedback: "conversions" })));
      expect(logistic).toBeLessThan((await meanRegret({ policy: uniform(), feedback: "conversions" })) / 2);
    },
  );
});

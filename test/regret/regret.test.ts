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
  policies,
  uniform,
} from "afterclick";
import { describe, expect, it } from "vitest";
import { meanRegret, type Scenario } from "./world.ts";

// Whether policies learn. Each has a scenario: 8 actions per round with hidden values, feedback late or lost. The bound is the
// policy's own mean regret in 24 runs with the seeds 1 to 24. The runs here have other seeds. Their mean may exceed that of the
// 24 by four standard errors. An unchanged policy exceeds the bound once in 30,000 times, or once in a few hundred if its
// regrets have a heavy tail.

interface Bounded extends Scenario {
  /** Number of runs here. Their seeds differ from those of the measurement. */
  readonly runs: number;
  /** Mean and standard deviation of one run's regret. */
  readonly mean: number;
  readonly deviation: number;
}

const FIRST_SEED = 25;
/** The same for uniform choice in 24 runs, among random actions and on the line. */
const UNIFORM = { mean: 137.6, deviation: 4.7 };
const UNIFORM_ON_LINE = { mean: 269.0, deviation: 6.0 };

const kernel = matern52({ lengthscale: 1 });
const delayed = { dimension: 3, kernel, noiseVariance: 0.2, rewardBound: 0.02, norms: "buffered", capacity: 150 } as const;
const arrived = { dimension: 3, kernel, noiseVariance: 0.05, exploration: 0.3, capacity: 150 };
/** A line on which the value rises from 0 to 0.9. */
const line = Array.from({ length: 25 }, (_, i) => [i / 24, 0, 0]);
const lipschitz = { domain: { points: line }, horizon: 600, sigma: 0.02 };
const inLine = { domain: { points: line }, kernel, noiseVariance: 0.02 };
const exploring = { ...inLine, horizon: 600 };
const bounded: Record<string, Bounded> = {
  "otf-lin-ucb": { policy: otfLinUcb({ dimension: 3, exploration: 0.2 }), feedback: "conversions", runs: 16, mean: 9.46, deviation: 4.9 },
  "otf-lin-ts": { policy: otfLinTs({ dimension: 3, exploration: 0.3 }), feedback: "conversions", runs: 16, mean: 16.85, deviation: 6.17 },
  "delay-lin-ucb": { policy: delayLinUcb({ dimension: 3 }), feedback: "conversions", runs: 16, mean: 10.27, deviation: 5.69 },
  "delay-lin-ts": { policy: delayLinTs({ dimension: 3 }), feedback: "conversions", runs: 16, mean: 12.93, deviation: 5.85 },
  "gp-ucb-sdf": { policy: gpUcbSdf(delayed), feedback: "conversions", runs: 8, mean: 19.67, deviation: 9.82 },
  "gp-ts-sdf": { policy: gpTsSdf({ ...delayed, exploration: 0.3 }), feedback: "conversions", runs: 8, mean: 23.81, deviation: 10.87 },
  "gp-ucb": { policy: gpUcb(arrived), feedback: "values", runs: 4, mean: 4.07, deviation: 1.13 },
  "asy-ts": { policy: asyTs(arrived), feedback: "values", runs: 4, mean: 4.88, deviation: 0.9 },
  "gp-bucb": { policy: gpBucb(arrived), feedback: "values", runs: 4, mean: 3.91, deviation: 0.99 },
  "gp-bts": { policy: gpBts(arrived), feedback: "values", runs: 4, mean: 4.74, deviation: 1.12 },
  "delay-gp-ucb": { policy: delayGpUcb({ dimension: 3, capacity: 150 }), feedback: "values", runs: 2, mean: 7.74, deviation: 1.85 },
  "delay-gp-ts": {
    policy: delayGpTs({ dimension: 3, capacity: 150, exploration: 0.5 }),
    feedback: "values",
    runs: 2,
    mean: 8.69,
    deviation: 2.49,
  },
  "delayed-zooming": { policy: delayedZooming(lipschitz), feedback: "values", actions: line, runs: 4, mean: 12.67, deviation: 3.13 },
  dlpp: { policy: dlpp({ ...lipschitz, pruneMultiplier: 2 }), feedback: "values", actions: line, runs: 4, mean: 34.29, deviation: 9.19 },
  "bpe-delay": {
    policy: bpeDelay({ ...exploring, expectedDelay: 15, xi: 2 }),
    feedback: "values",
    actions: line,
    runs: 4,
    mean: 55.65,
    deviation: 4.68,
  },
  bpe: { policy: bpe({ ...exploring, beta: 1 }), feedback: "values", actions: line, runs: 4, mean: 29.48, deviation: 3.85 },
  "mini-gp-ucb": {
    policy: miniGpUcb({ ...inLine, exploration: 0.3 }),
    feedback: "values",
    actions: line,
    runs: 8,
    mean: 3.35,
    deviation: 1.48,
  },
  "mini-gp-ei": {
    policy: miniGpEi({ ...inLine, exploration: 0.3 }),
    feedback: "values",
    actions: line,
    runs: 4,
    mean: 4.08,
    deviation: 1.25,
  },
  "gp-ei": { policy: gpEi({ ...arrived, exploration: 0.1 }), feedback: "values", runs: 2, mean: 4.13, deviation: 1.13 },
  "epsilon-greedy": {
    policy: epsilonGreedy({ dimension: 3, kernel, noiseVariance: 0.2, capacity: 150 }),
    feedback: "conversions",
    runs: 8,
    mean: 32.82,
    deviation: 12.89,
  },
};

const mostOf = ({ mean, deviation, runs }: Pick<Bounded, "mean" | "deviation" | "runs">): number =>
  mean + (4 * deviation) / Math.sqrt(runs);

it("has a scenario for every policy", () => {
  expect([...Object.keys(bounded), "uniform"].sort()).toEqual(policies.map(({ id }) => id).sort());
});

it.each(Object.entries(bounded))("%s has its own regret, but for chance, and less than half of uniform's", async (_, scenario) => {
  const most = mostOf(scenario);
  expect(await meanRegret(scenario, scenario.runs, FIRST_SEED)).toBeLessThan(most);
  expect(most).toBeLessThan((scenario.actions ? UNIFORM_ON_LINE : UNIFORM).mean / 2);
});

it.each([
  ["random actions", UNIFORM, {}],
  ["the actions of the line", UNIFORM_ON_LINE, { actions: line }],
])("uniform has the regret among %s that the others are compared with", async (_, { mean, deviation }, where) => {
  const regret = await meanRegret({ policy: uniform(), feedback: "values", ...where }, 4, FIRST_SEED);
  expect(Math.abs(regret - mean)).toBeLessThan(2 * deviation);
});

describe("conversions of which many are pending", () => {
  it("delay-gp-ucb has at most three quarters of the regret by a logistic link", async () => {
    const regret = (rewards: "gaussian" | "bernoulli"): Promise<number> =>
      meanRegret({ policy: delayGpUcb({ dimension: 3, capacity: 150, rewards }), feedback: "conversions" }, 2);
    expect(await regret("bernoulli")).toBeLessThan(0.75 * (await regret("gaussian")));
  });

  it.each([
    ["delay-gp-ucb", delayGpUcb, 22.52, 7.96],
    ["delay-gp-ts", delayGpTs, 41.91, 7.9],
  ])("%s has its own regret by a logistic link, but for chance", async (_, make, mean, deviation) => {
    const scenario = { policy: make({ dimension: 3, capacity: 100, rewards: "bernoulli" }), feedback: "conversions", rounds: 400 } as const;
    expect(await meanRegret(scenario, 2, FIRST_SEED)).toBeLessThan(mostOf({ mean, deviation, runs: 2 }));
  });
});

import { delayGpTs, delayGpUcb, uniform } from "afterclick";
import { describe, expect, it } from "vitest";
import { type Bounded, LINE } from "../policies/facts.ts";
import { facts } from "../policies/listed.ts";
import { meanRegret } from "./world.ts";

// Whether policies learn. Each has a scenario in its file of `test/policies`: 8 actions per round with hidden values, feedback late or lost. The bound is the
// policy's own mean regret in 24 runs with the seeds 1 to 24. The runs here have other seeds. Their mean may exceed that of the
// 24 by four standard errors. An unchanged policy exceeds the bound once in 30,000 times, or once in a few hundred if its
// regrets have a heavy tail.

const FIRST_SEED = 25;
/** The same for uniform choice in 24 runs, among random actions and on the line. */
const UNIFORM = { mean: 137.6, deviation: 4.7 };
const UNIFORM_ON_LINE = { mean: 269.0, deviation: 6.0 };

const bounded = Object.entries(facts).flatMap(([id, { regret }]) => (regret === "baseline" ? [] : [[id, regret] as const]));

const mostOf = ({ mean, deviation, runs }: Pick<Bounded, "mean" | "deviation" | "runs">): number =>
  mean + (4 * deviation) / Math.sqrt(runs);

it("has one baseline, uniform", () => {
  expect(Object.keys(facts).filter((id) => facts[id].regret === "baseline")).toEqual(["uniform"]);
});

it.each(bounded)("%s has its own regret, but for chance, and less than half of uniform's", async (_, scenario) => {
  const most = mostOf(scenario);
  expect(await meanRegret(scenario, scenario.runs, FIRST_SEED)).toBeLessThan(most);
  expect(most).toBeLessThan((scenario.actions ? UNIFORM_ON_LINE : UNIFORM).mean / 2);
});

it.each([
  ["random actions", UNIFORM, {}],
  ["the actions of the line", UNIFORM_ON_LINE, { actions: LINE }],
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

import { delayedZooming, miniGpUcb, Recommender, squaredExponential } from "afterclick";
import { uniformDelay } from "../../src/simulation/delay-law.ts";
import { stream } from "../../src/simulation/stream.ts";
import { play } from "../../src/simulation/world.ts";
import { cpuTime, prepared, repeated } from "../variant.ts";
import type { Workload } from "../workload.ts";

// Horizons of tens of thousands of rounds, with the settings of the papers' experiments.

export const longRunWorkloads: readonly Workload[] = [
  {
    name: "mini-gp-ucb-grid points=10648 T=10000",
    unit: "s",
    rounds: 6,
    warmUps: 0,
    peer: "afterclick",
    targets: [{ variant: "afterclick", atMost: 20 }],
    prepare: ({ quick } = {}) => prepared("s", { afterclick: repeated(() => miniGrid(quick ? 1000 : 10_000)) }),
  },
  {
    name: "zooming T=60000",
    unit: "ms",
    rounds: 7,
    warmUps: 1,
    peer: "afterclick",
    prepare: ({ quick } = {}) => prepared("ms", { afterclick: repeated(() => zooming(quick ? 10_000 : 60_000)) }),
  },
];

/**
 * MINI-GP-UCB on a Rosenbrock function over a lattice of 22^3 points. The noise is half the function's deviation.
 * **Source:** Calandriello et al. 2022, Appendix B.2.
 */
async function miniGrid(horizon: number): Promise<number> {
  const axis = Array.from({ length: 22 }, (_, i) => -5 + (10 * i) / 21);
  const points = axis.flatMap((x) => axis.flatMap((y) => axis.map((z) => [x, y, z])));
  const values = points.map(([x, y, z]) => -(100 * (x ** 2 - y) ** 2 + (x - 1) ** 2 + 100 * (y ** 2 - z) ** 2 + (y - 1) ** 2));
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
  const random = stream("bench", "mini-gp-ucb-grid");
  const options = { domain: { points }, kernel: squaredExponential({ lengthscale: 3 }), noiseVariance: 0.25 };
  const { policy } = await Recommender.create({ policy: miniGpUcb(options), window: "none", seed: 1 });
  const start = cpuTime();
  for (let round = 1; round <= horizon; round++) {
    const [{ index, features }] = policy.choose({ round });
    const impression = policy.append({ round, features });
    policy.observe({ impression, reward: (values[index] - mean) / deviation + 0.5 * random.normal() });
  }
  return cpuTime() - start;
}

/** Delayed Zooming on the triangle function of Liu, Kang and Lee 2025, with delays of 0 to 40 rounds. */
async function zooming(horizon: number): Promise<number> {
  const options = { domain: { box: [[0, 1] as [number, number]] }, horizon, sigma: 0.03, delta: 0.01, activation: "random" } as const;
  const { policy } = await Recommender.create({ policy: delayedZooming(options), window: "none", seed: 1 });
  const random = stream("bench", "zooming");
  const delays = uniformDelay(20);
  const expected = (features: Float64Array | undefined): number => 0.8 - 0.9 * Math.abs((features as Float64Array)[0] - 0.4);
  const world = {
    horizon,
    reward: (_: number, { features }: { features?: Float64Array }) => expected(features) + 0.03 * random.normal(),
    regret: () => 0,
    delay: () => delays.draw(random),
  };
  const start = cpuTime();
  play(policy, world, { offset: 0 });
  return cpuTime() - start;
}

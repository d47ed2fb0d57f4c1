import { gpUcb, Recommender, squaredExponential } from "afterclick";
import { stream } from "../../src/simulation/stream.ts";
import { local, prepared } from "../variant.ts";
import type { Workload } from "../workload.ts";

// A decision of GP-UCB among k candidates in d = 8 dimensions, after n points and after another change of a reward.

const DIMENSION = 8;
const N = 1000;
const SETS = 4;
/** Rewards change at points that are this far apart. */
const STEP = 379;

interface Choosing {
  readonly k: number;
  readonly limit: number;
  readonly lengthscale: number;
  /** Whether the expected reward is a smooth function of the features. Otherwise rewards are noise. */
  readonly isSmooth: boolean;
}

export const gpChoiceWorkloads: readonly Workload[] = [
  choosing("gp-choice n=1000 k=100 smooth", { k: 100, limit: 1, lengthscale: 1, isSmooth: true }),
  choosing("gp-choice n=1000 k=100 smooth limit=6", { k: 100, limit: 6, lengthscale: 1, isSmooth: true }),
  choosing("gp-choice n=1000 k=100 noise", { k: 100, limit: 1, lengthscale: 1, isSmooth: false }),
  choosing("gp-choice n=1000 k=100 rough", { k: 100, limit: 1, lengthscale: 0.5, isSmooth: true }),
  // No two points are neighbours, so all scores are equal.
  choosing("gp-choice n=1000 k=100 tied", { k: 100, limit: 1, lengthscale: 0.01, isSmooth: false }),
  choosing("gp-choice n=1000 k=1000 smooth", { k: 1000, limit: 1, lengthscale: 1, isSmooth: true }),
];

function choosing(name: string, asked: Choosing): Workload {
  return {
    name,
    unit: "ms",
    rounds: asked.k > 100 ? 9 : 15,
    peer: "afterclick",
    async prepare() {
      const choose = await learnt(asked);
      return prepared("ms", { afterclick: local(choose, choose()) });
    },
  };
}

async function learnt({ k, limit, lengthscale, isSmooth }: Choosing): Promise<() => Float64Array> {
  const random = stream("bench", "gp-choice", k, limit, lengthscale);
  const numbers = (length: number): Float64Array => Float64Array.from({ length }, random);
  const points = numbers(N * DIMENSION);
  const sets = Array.from({ length: SETS }, () => numbers(k * DIMENSION));
  const policy = gpUcb({ dimension: DIMENSION, kernel: squaredExponential({ lengthscale }), noiseVariance: 0.01, beta: 2 });
  const { policy: running } = await Recommender.create({ policy, window: "none", reward: { min: -10, max: 10 } });
  const rewards = new Float64Array(N);
  const impressions = Array.from(rewards, (_, i) => {
    const features = points.subarray(i * DIMENSION, (i + 1) * DIMENSION);
    const [x, y] = features;
    rewards[i] = isSmooth ? Math.sin(3 * x) + y * y + 0.1 * random.normal() : random();
    const impression = running.append({ features, round: i + 1 });
    running.observe({ impression, reward: rewards[i] });
    return impression;
  });
  let turn = 0;
  return () => {
    const at = (turn++ * STEP) % N;
    const reward = rewards[(at + 1) % N];
    running.observe({ impression: impressions[at], reward, previous: rewards[at] });
    rewards[at] = reward;
    const [{ index, score }] = running.choose({ points: sets[turn % SETS], round: N + 1, limit });
    return Float64Array.of(index, score);
  };
}

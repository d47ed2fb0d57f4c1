// Calandriello, Carratino, Lazaric, Valko, Rosasco, 2022: Scaling Gaussian Process Optimization by Evaluating a Few Unique
// Candidates Multiple Times.
import { epsilonGreedy, miniGpEi, miniGpUcb, type PolicyDescriptor, Recommender, squaredExponential } from "afterclick";
import type { Outcome } from "afterclick/research";
import { stream } from "../src/simulation/stream.ts";
import { type Curve, type Experiment, type Paper, roundsOf, type Task } from "./runs/experiment.ts";

const HORIZON = 2000;
/** Standard deviation of the noise. That of the function is 1. */
const NOISE = 0.5;
/** The paper's C. */
const THRESHOLD = 1.1;
const STEPS = 100;

/** Appendix B.2: 22 evenly spaced values per coordinate. */
const axis = Array.from({ length: 22 }, (_, i) => -5 + (10 * i) / 21);
const points = axis.flatMap((x) => axis.flatMap((y) => axis.map((z) => [x, y, z])));

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);

/** The functions to minimise, without the shifts and rotations that BBOB draws for each instance. */
const functions: Record<string, (x: readonly number[]) => number> = {
  Rosenbrock: (x) => sum(x.slice(1).map((next, i) => 100 * (x[i] ** 2 - next) ** 2 + (x[i] - 1) ** 2)),
  ellipsoid: (x) => sum(x.map((each, i) => 10 ** ((4 * i) / (x.length - 1)) * each ** 2)),
  Schaffer: (x) => {
    const radii = x.slice(1).map((next, i) => Math.hypot(x[i], next));
    return (sum(radii.map((s) => Math.sqrt(s) * (1 + Math.sin(50 * s ** 0.2) ** 2))) / radii.length) ** 2;
  },
  Rastrigin: (x) => sum(x.map((each) => 10 * (1 - Math.cos(2 * Math.PI * each)) + each ** 2)),
};

/** Rewards of the candidates: the negated function, scaled to mean 0 and standard deviation 1. */
function rewardsOf(name: string): number[] {
  const values = points.map((point) => -functions[name](point));
  const mean = sum(values) / values.length;
  const deviation = Math.sqrt(sum(values.map((each) => (each - mean) ** 2)) / values.length);
  return values.map((each) => (each - mean) / deviation);
}

const options = { domain: { points }, kernel: squaredExponential({ lengthscale: 3 }), noiseVariance: NOISE ** 2 };

interface Algorithm {
  readonly policy: () => PolicyDescriptor;
  /** Batching: none, MINI's repetition, or GP-BUCB's feedback withheld for up to log C nats. */
  readonly batches: "single" | "repeated" | "withheld";
}

/** At a threshold of 1 MINI-GP-UCB is GP-UCB with the same multiplier, and GP-BUCB if feedback is withheld. MINI-GP-EI is then GP-EI. */
const optimist = (threshold: number) => () => miniGpUcb({ ...options, threshold });
const improver = (threshold: number) => () => miniGpEi({ ...options, threshold });

const algorithms: Record<string, Algorithm> = {
  "MINI-GP-UCB": { policy: optimist(THRESHOLD), batches: "repeated" },
  "MINI-GP-EI": { policy: improver(THRESHOLD), batches: "repeated" },
  "GP-UCB": { policy: optimist(1), batches: "single" },
  "GP-EI": { policy: improver(1), batches: "single" },
  "GP-BUCB": { policy: optimist(1), batches: "withheld" },
  // Table 1.
  "epsilon-greedy": { policy: () => epsilonGreedy({ ...options, explorationScale: 1, explorationDecay: 0.5 }), batches: "single" },
};

async function run(task: Task): Promise<readonly Curve[]> {
  const { setting, algorithm, run: repeat } = task;
  const horizon = roundsOf(HORIZON, task);
  const rewards = rewardsOf(setting);
  const best = Math.max(...rewards);
  const random = stream("calandriello", setting, repeat);
  const { policy: descriptor, batches } = algorithms[algorithm];
  const { policy } = await Recommender.create({ policy: descriptor(), window: "none", seed: repeat });
  const curves = Object.fromEntries(metrics.map((metric) => [metric, [] as number[]]));
  const total = { regret: 0, batches: 0, gain: 0, width: Number.NaN };
  const evaluated = new Set<number>();
  let withheld: Outcome[] = [];
  const started = performance.now();
  for (let round = 1; round <= horizon; round++) {
    const [{ index, width, features }] = policy.choose({ round });
    // MINI keeps mean and width within a batch, so a new width marks a new batch.
    if (batches === "single" || (batches === "repeated" && width !== total.width) || (batches === "withheld" && total.gain === 0)) {
      total.batches++;
    }
    total.width = width;
    if (batches === "withheld") total.gain += 0.5 * Math.log1p(policy.predict([points[index]]).variance[0] / NOISE ** 2);
    withheld.push({ impression: policy.append({ round, features }), reward: rewards[index] + NOISE * random.normal() });
    if (batches !== "withheld" || total.gain > Math.log(THRESHOLD)) {
      for (const outcome of withheld) policy.observe(outcome);
      withheld = [];
      total.gain = 0;
    }
    total.regret += best - rewards[index];
    evaluated.add(index);
    if (round % (horizon / STEPS) > 0) continue;
    // The rewards' mean is 0, so a uniform choice loses the best reward every round.
    curves["regret over uniform's"].push(total.regret / (round * best));
    curves["cumulative regret"].push(total.regret);
    curves.batches.push(total.batches);
    curves["unique candidates"].push(evaluated.size);
    curves.seconds.push((performance.now() - started) / 1000);
  }
  const at = Array.from({ length: STEPS }, (_, i) => ((i + 1) * horizon) / STEPS);
  return metrics.map((metric) => ({ metric, at, values: curves[metric] }));
}

const metrics = ["regret over uniform's", "cumulative regret", "batches", "unique candidates", "seconds"];

const synthetic: Experiment = {
  id: "figures-3-4",
  title:
    "Calandriello 2022, Figures 3 and 4: unshifted functions on 22^3 points, noise 0.5 of their deviation, lengthscale 3, C = 1.1, F = 1",
  runs: 5,
  settings: Object.keys(functions),
  algorithms: Object.keys(algorithms),
  figures: metrics.map((metric) => ({ metric, x: "evaluation", y: metric })),
  traced: 100,
  run,
};

export const paper: Paper = {
  id: "calandriello",
  title: "Calandriello et al. 2022, Scaling Gaussian process optimization by evaluating a few unique candidates multiple times",
  experiments: [synthetic],
};

// Vakili, Ahmed, Bernacchia, Pike-Burke, 2023: Delayed Feedback in Kernel Bandits.
import { bpe, bpeDelay, gpBucb, gpUcb, gpUcbSdf, type PolicyDescriptor, Recommender, squaredExponential } from "afterclick";
import { gaussianProcess } from "afterclick/research";
import { poisson } from "../src/simulation/delay-law.ts";
import { cumulative, stream } from "../src/simulation/stream.ts";
import { play, type World } from "../src/simulation/world.ts";
import { type Curve, type Experiment, type Paper, roundsOf, type Task } from "./runs/experiment.ts";

const HORIZON = 1000;
const NOISE = 0.02;
/** Half the width of a confidence interval, in posterior deviations. BPE uses it for its bounds, the others for their bonus. */
const WIDTH = Math.sqrt(6);
/** Number of random points that an objective is fitted to. */
const KNOTS = 100;

const axis = Array.from({ length: 50 }, (_, i) => -5 + (10 * i) / 49);
const points = axis.flatMap((x) => axis.map((y) => [x, y]));

/** Section 7: lengthscales of the squared exponential, the same for the objective and the algorithms. */
const lengthscales: Record<string, number> = { f1: 0.8, f2: 1 };

const settings = Object.keys(lengthscales).flatMap((objective) => [0, 25, 50].map((mean) => ({ objective, mean })));
const nameOf = ({ objective, mean }: { objective: string; mean: number }): string => `${objective}, Poisson ${mean}`;

/** A kernel model fitted to a normal draw at random points. Every run draws a new one, because objectives differ much in difficulty. */
async function objectiveOf(name: string, repeat: number): Promise<Float64Array> {
  const random = stream("vakili", name, repeat);
  const kernel = squaredExponential({ lengthscale: lengthscales[name] });
  const model = await gaussianProcess({ dimension: 2, kernel, noiseVariance: NOISE ** 2 });
  const knots = Float64Array.from({ length: 2 * KNOTS }, () => 10 * random() - 5);
  const normals = Float64Array.from({ length: KNOTS }, () => random.normal());
  const { sample } = model.sample(knots, normals, 1);
  sample.forEach((value, i) => {
    const features = knots.slice(2 * i, 2 * i + 2);
    model.reward({ features, slot: model.append(features) }, value, 0);
  });
  return model.moments(Float64Array.from(points.flat())).mean;
}

/** u of equation 5 at xi = 9, b = 1, delta = 0.01. BPE-Delay waits this long, and almost no delay exceeds this window. */
const bound = (mean: number): number => (mean === 0 ? 0 : mean + 2 * Math.log((3 * HORIZON) / 0.01));

/** `rewardBound` is B_y of GP-UCB-SDF: the greatest absolute value of the objective. */
export interface Problem {
  readonly lengthscale: number;
  readonly mean: number;
  readonly rewardBound: number;
}

/** A lattice of 50 x 50 points over the square [-5, 5]^2. */
export const domain = { points };

const common = ({ lengthscale }: Problem) => ({
  domain,
  kernel: squaredExponential({ lengthscale }),
  noiseVariance: NOISE ** 2,
  beta: WIDTH,
});

export const algorithms: Record<string, (problem: Problem) => PolicyDescriptor> = {
  "BPE-Delay": (problem) => bpeDelay({ ...common(problem), horizon: HORIZON, expectedDelay: problem.mean }),
  BPE: (problem) => bpe({ ...common(problem), horizon: HORIZON }),
  "GP-UCB-SDF": (problem) => gpUcbSdf({ ...common(problem), rewardBound: problem.rewardBound }),
  "GP-UCB": (problem) => gpUcb(common(problem)),
  "GP-BUCB": (problem) => gpBucb(common(problem)),
};

/** Plays a policy in one of the settings. The setting fixes the window; each run draws its own objective. */
export async function trial(task: Task, policyOf: (problem: Problem) => PolicyDescriptor): Promise<readonly Curve[]> {
  const { setting, run: repeat } = task;
  const horizon = roundsOf(HORIZON, task);
  const { objective, mean } = settings.find((each) => nameOf(each) === setting) as (typeof settings)[number];
  const values = await objectiveOf(objective, repeat);
  const best = Math.max(...values);
  const problem = { lengthscale: lengthscales[objective], mean, rewardBound: Math.max(best, -Math.min(...values)) };
  const draws = { noise: stream("vakili", setting, repeat, "noise"), delay: stream("vakili", setting, repeat, "delay") };
  const law = poisson(mean);
  const world: World = {
    horizon,
    reward: (_, { index }) => values[index] + NOISE * draws.noise.normal(),
    regret: (_, { index }) => best - values[index],
    delay: () => (mean === 0 ? 0 : law.draw(draws.delay)),
  };
  // A delay of tau is Verma's d = tau + 1.
  const window = { rounds: Math.ceil(bound(mean)) + 1 };
  const { policy } = await Recommender.create({ policy: policyOf(problem), window, seed: repeat });
  const regret = cumulative(play(policy, world, { offset: 0 }));
  const at = Array.from({ length: 100 }, (_, i) => ((i + 1) * horizon) / 100);
  return [{ metric: "cumulative regret", at, values: at.map((round) => regret[round - 1]) }];
}

const delays: Experiment = {
  id: "figures-2-5",
  title: "Vakili 2023, Figures 2-5: kernel models as objectives (drawn anew in each run), all widths sqrt(6), noise 0.02",
  runs: 5,
  settings: settings.map(nameOf),
  algorithms: Object.keys(algorithms),
  figures: [{ metric: "cumulative regret", x: "round", y: "cumulative regret" }],
  traced: 100,
  run: (task) => trial(task, algorithms[task.algorithm]),
};

export const paper: Paper = { id: "vakili", title: "Vakili et al. 2023, Delayed feedback in kernel bandits", experiments: [delays] };

// Liu, Kang, Lee, 2025: Lipschitz Bandits with Stochastic Delayed Feedback.
import { delayedZooming, dlpp, type PolicyDescriptor, Recommender } from "afterclick";
import type { Choice } from "afterclick/research";
import { type DelayLaw, fixed, geometric, uniformDelay } from "../src/simulation/delay-law.ts";
import { cumulative, stream } from "../src/simulation/stream.ts";
import { play } from "../src/simulation/world.ts";
import { type Curve, type Experiment, type Paper, roundsOf, type Task } from "./runs/experiment.ts";

const HORIZON = 60_000;
const DELTA = 0.01;
const METRIC = "cumulative regret";
/** Points of a curve. */
const POINTS = 100;

/** The paper does not state its sigma. This one reproduces the regrets of Delayed Zooming. DLPP needs another for each function. */
export const SIGMA = 0.03;

export interface Reward {
  readonly dimension: number;
  /** Maximum of the function. */
  readonly best: number;
  /** Sigma that reproduces the paper's regrets of DLPP. */
  readonly dlppSigma: number;
  mean(x: ArrayLike<number>): number;
}

export const rewards: Record<string, Reward> = {
  triangle: { dimension: 1, best: 0.8, dlppSigma: 0.007, mean: (x) => 0.8 - 0.9 * Math.abs(x[0] - 0.4) },
  sine: { dimension: 1, best: 2 / 3, dlppSigma: 0.0035, mean: (x) => (2 / 3) * Math.abs(Math.sin(((5 * Math.PI) / 3) * x[0])) },
  "two-dimensional": {
    dimension: 2,
    best: 1 - 0.4 * Math.hypot(0.7, 0.7),
    dlppSigma: 0.004,
    mean: (x) => 1 - 0.7 * Math.hypot(x[0] - 0.7, x[1] - 0.8) - 0.4 * Math.hypot(x[0], x[1] - 0.1),
  },
};

const laws: Record<string, DelayLaw> = {
  "no delay": fixed(0),
  "uniform 20": uniformDelay(20),
  "uniform 50": uniformDelay(50),
  "geometric 20": geometric(20),
  "geometric 50": geometric(50),
};

/** Table 1, in the order of the laws. */
const printed: Record<string, { zooming: readonly number[]; dlpp: readonly number[] }> = {
  triangle: { zooming: [138.97, 154.55, 171.07, 159.3, 152.98], dlpp: [304.6, 314.87, 326.71, 312.44, 325.74] },
  sine: { zooming: [130.64, 137.31, 148.69, 132.88, 144.08], dlpp: [178.05, 195.35, 209.97, 186.28, 208.8] },
  "two-dimensional": {
    zooming: [1445.86, 1843.05, 1858.45, 1463.38, 1828.15],
    dlpp: [1120.64, 1159.85, 1136.46, 1120.63, 1142.55],
  },
};

export const ZOOMING = `Delayed Zooming, sigma ${SIGMA}`;
const DLPP = `DLPP, sigma ${SIGMA}`;
const DLPP_MATCHED = "DLPP, sigma of the function";

/** Standard deviation of the normal noise. The algorithm knows this value. */
function sigmaOf(algorithm: string, reward: Reward): number {
  return algorithm === DLPP_MATCHED ? reward.dlppSigma : SIGMA;
}

export function policyOf(algorithm: string, reward: Reward): PolicyDescriptor {
  const domain = { box: Array.from({ length: reward.dimension }, (): [number, number] => [0, 1]) };
  const options = { domain, horizon: HORIZON, sigma: sigmaOf(algorithm, reward), delta: DELTA };
  return algorithm === ZOOMING ? delayedZooming({ ...options, activation: "random" }) : dlpp(options);
}

const run = (task: Task): Promise<readonly Curve[]> => {
  const { setting, algorithm } = task;
  const reward = rewards[setting.split(", ")[0]];
  return trial(task, sigmaOf(algorithm, reward), policyOf(algorithm, reward));
};

/** Plays a policy that chooses in its own domain. The noise has the standard deviation `sigma`. */
export async function trial(task: Task, sigma: number, descriptor: PolicyDescriptor): Promise<readonly Curve[]> {
  const { setting, run } = task;
  const horizon = roundsOf(HORIZON, task);
  const [name, lawName] = setting.split(", ");
  const reward = rewards[name];
  const draw = (what: string) => stream("liu", setting, run, what);
  const [noise, delays] = [draw("noise"), draw("delays")];
  const mean = ({ features }: Choice): number => reward.mean(features as Float64Array);
  const world = {
    horizon,
    reward: (_: number, choice: Choice) => mean(choice) + sigma * noise.normal(),
    regret: (_: number, choice: Choice) => reward.best - mean(choice),
    delay: () => laws[lawName].draw(delays),
  };
  const { policy } = await Recommender.create({ policy: descriptor, window: "none", seed: draw("seed").below(2 ** 31) });
  const regret = cumulative(play(policy, world, { offset: 0 }));
  const at = Array.from({ length: POINTS }, (_, i) => ((i + 1) * horizon) / POINTS);
  return [{ metric: METRIC, at, values: at.map((round) => regret[round - 1]) }];
}

function table1(setting: string, algorithm: string, _: string, at: number): number | null {
  const [name, law] = setting.split(", ");
  const row = algorithm === ZOOMING ? printed[name].zooming : printed[name].dlpp;
  return at === HORIZON ? row[Object.keys(laws).indexOf(law)] : null;
}

function experiment(id: string, functions: readonly string[], runs: number): Experiment {
  const matched = functions.map((name) => `${rewards[name].dlppSigma} (${name})`).join(", ");
  return {
    id,
    title: `Table 1 and Fig. 1, ${functions.join(" and ")}; noise and both algorithms at sigma ${SIGMA}, DLPP also at sigma ${matched}`,
    runs,
    settings: functions.flatMap((name) => Object.keys(laws).map((law) => `${name}, ${law}`)),
    algorithms: [ZOOMING, DLPP, DLPP_MATCHED],
    figures: [{ metric: METRIC, x: "round", y: METRIC }],
    run,
    paperValue: table1,
  };
}

export const paper: Paper = {
  id: "liu",
  title: "Liu, Kang, Lee, 2025: Lipschitz Bandits with Stochastic Delayed Feedback",
  experiments: [experiment("one-dimensional", ["triangle", "sine"], 30), experiment("two-dimensional", ["two-dimensional"], 6)],
};

import { readFile } from "node:fs/promises";
import {
  asyTs,
  gpBts,
  gpBucb,
  gpTsSdf,
  gpUcb,
  gpUcbSdf,
  type PolicyDescriptor,
  Recommender,
  squaredExponential,
  uniform,
} from "afterclick";
import { gaussianProcess, type Kernel } from "afterclick/research";
import { csvParse } from "d3-dsv";
import { type DelayLaw, fixed, poisson } from "../src/simulation/delay-law.ts";
import { cumulative, type Stream, stream } from "../src/simulation/stream.ts";
import { play, type Taken, type World } from "../src/simulation/world.ts";
import { type Curve, type Experiment, type Paper, roundsOf, type Task } from "./runs/experiment.ts";

export interface Model {
  readonly kernel: Kernel;
  readonly noiseVariance: number;
  readonly refit?: { readonly every: number; readonly until?: number; readonly noise?: boolean; readonly pending?: boolean };
  readonly domain?: { readonly points: readonly (readonly number[])[] };
  readonly dimension?: number;
}

/** beta = 1 and B_y = 1 in all experiments (appendix C). */
export const algorithms: Record<string, (model: Model) => PolicyDescriptor> = {
  "GP-UCB-SDF": gpUcbSdf,
  "GP-UCB": gpUcb,
  "GP-BUCB": gpBucb,
  "GP-TS-SDF": gpTsSdf,
  "asy-TS": asyTs,
  "GP-BTS": gpBts,
  uniform: () => uniform(),
};
const optimistic = ["GP-UCB-SDF", "GP-UCB", "GP-BUCB"];
const sampling = ["GP-TS-SDF", "asy-TS", "GP-BTS"];

interface Tuning {
  readonly horizon: number;
  readonly law: DelayLaw;
  readonly window: number;
  readonly points: readonly (readonly number[])[];
  /** Noise-free value of each point. The synthetic experiments scale it to 0 .. 1. */
  readonly values: Float64Array;
  readonly noise: number;
  readonly model: Model;
  /** Number of candidates, drawn anew for each query. Default: every point. */
  readonly sampled?: number;
}

/** Plays a policy on a finite set of points. The simple regret counts only feedback that has arrived by each iteration, as in the paper. */
async function tune(
  tuning: Tuning,
  algorithm: string,
  seed: number,
  random: Record<"noise" | "delay" | "candidates", Stream>,
): Promise<Curve[]> {
  const { horizon, law, window, points, values, noise, sampled } = tuning;
  const model = sampled ? { ...tuning.model, dimension: points[0].length } : { ...tuning.model, domain: { points } };
  const { policy } = await Recommender.create({ policy: algorithms[algorithm](model), window: { rounds: window }, seed });
  let shown: number[] = [];
  const place = ({ index }: Taken): number => (sampled ? shown[index] : index);
  const best = Math.max(...values);
  const known = new Float64Array(horizon).fill(-Infinity);
  let value = 0;
  const initial = random.candidates.below(points.length);
  const world: World = {
    horizon,
    ...(!sampled && {
      forced: (round: number) => (round === 1 ? { index: initial, features: Float64Array.from(points[initial]) } : undefined),
    }),
    ...(sampled && {
      candidates() {
        shown = Array.from({ length: sampled }, () => random.candidates.below(points.length));
        return shown.map((each) => ({ features: points[each] }));
      },
    }),
    regret: (_, choice) => best - values[place(choice)],
    reward(_, choice) {
      value = values[place(choice)];
      return value + noise * random.noise.normal();
    },
    delay(round) {
      const delay = law.draw(random.delay);
      // With a delay of 0 the feedback of iteration t arrives at its end.
      const end = round + delay;
      if (end <= horizon) known[end - 1] = Math.max(known[end - 1], value);
      return delay;
    },
  };
  // Only the SDF policies have a window. The baselines use all feedback.
  const regret = play(policy, world, { offset: 1, window: algorithm.endsWith("SDF") ? window : undefined });
  const at = Array.from({ length: horizon }, (_, i) => i + 1);
  let incumbent = Math.min(...values);
  const simple = at.map((round) => {
    incumbent = Math.max(incumbent, known[round - 1]);
    return best - incumbent;
  });
  return [
    { metric: "simple regret", at, values: simple },
    { metric: "cumulative regret", at, values: cumulative(regret) },
  ];
}

const streams = (...names: (string | number)[]): Record<"noise" | "delay" | "candidates", Stream> => ({
  noise: stream(...names, "noise"),
  delay: stream(...names, "delay"),
  candidates: stream(...names, "candidates"),
});

/** Appendix C.1: a draw from a Gaussian process of lengthscale 0.02 on 1,000 points of [0, 1], scaled to 0 .. 1. */
const LENGTHSCALE = 0.02;
const grid = Array.from({ length: 1000 }, (_, i) => [i / 999]);

async function objective(run: number): Promise<Float64Array> {
  const process = await gaussianProcess({ dimension: 1, kernel: squaredExponential({ lengthscale: LENGTHSCALE }) });
  const random = stream("verma objective", run);
  const normals = Float64Array.from(grid, () => random.normal());
  const { sample } = process.sample(Float64Array.from(grid.flat()), normals, 1);
  const least = Math.min(...sample);
  const range = Math.max(...sample) - least;
  return sample.map((each) => (each - least) / range);
}

function synthetic(
  id: string,
  title: string,
  settings: Record<string, { law: DelayLaw; window: number }>,
  names: readonly string[],
): Experiment {
  return {
    id,
    title: `Verma 2022, ${title}: SE 0.02 on 1,000 points, prior variance 1/4, noise sd 0.01`,
    runs: 20,
    settings: Object.keys(settings),
    algorithms: names,
    figures: [{ metric: "simple regret", x: "iteration", y: "simple regret" }],
    traced: 20,
    async run(task) {
      const { setting, algorithm, run } = task;
      // Values in 0 .. 1 have a variance of at most 1/4. The paper does not print the prior variance.
      const model = { kernel: squaredExponential({ lengthscale: LENGTHSCALE, variance: 0.25 }), noiseVariance: 1e-4 };
      const values = await objective(run);
      const tuning = { horizon: roundsOf(150, task), points: grid, values, noise: 0.01, model, ...settings[setting] };
      return tune(tuning, algorithm, run, streams("verma", setting, run));
    },
  };
}

const twice = (mean: number): { law: DelayLaw; window: number } => ({ law: poisson(mean), window: 2 * mean });
const bothLaws = { "Poisson 10": twice(10), "fixed 10": { law: fixed(10), window: 20 } };

/** Section 6.2: tunes a model's hyper-parameters over a given grid. The validation error is one minus the accuracy. */
function tuningOf(id: string, title: string, dataFile: string): Experiment {
  return {
    id,
    title: `Verma 2022, ${title}: hyper-parameters refitted every 10 queries, 500 candidates drawn for each query`,
    runs: 10,
    settings: Object.keys(bothLaws),
    algorithms: [...optimistic, ...sampling],
    figures: [{ metric: "validation error (%)", x: "iteration", y: "validation error (%)" }],
    dataFiles: [dataFile],
    async run({ setting, algorithm, run, files }: Task) {
      const rows = csvParse(await readFile(files[0], "utf8"));
      const coordinates = rows.columns.filter((name) => name.endsWith("_unit"));
      const points = rows.map((row) => coordinates.map((name) => Number(row[name])));
      const values = Float64Array.from(rows, ({ accuracy }) => Number(accuracy));
      const kernel = squaredExponential({ lengthscale: 0.1 });
      const model = { kernel, noiseVariance: 1e-4, refit: { every: 10 } };
      const tuning = { horizon: 100, points, values, noise: 0, model, sampled: 500, ...bothLaws[setting as keyof typeof bothLaws] };
      const [simple, total] = await tune(tuning, algorithm, run, streams(id, setting, run));
      const best = Math.max(...values);
      const error = Float64Array.from(simple.values, (regret) => 100 * (1 - best + regret));
      return [{ metric: "validation error (%)", at: simple.at, values: error }, total];
    },
    // The authors' own stored runs, at 100 iterations.
    paperValue: (setting, algorithm, metric) =>
      id === "svm-pima" && setting === "Poisson 10" && metric.startsWith("validation")
        ? ({ "GP-UCB-SDF": 24.3, "GP-UCB": 29.0, "GP-BUCB": 26.7 }[algorithm] ?? null)
        : null,
  };
}

/** Rounds of each task. */
const TASK = 30;

/** A configuration in which the order is the paper's. The paper does not print its own. */
const reference: Tasks = {
  model: {
    kernel: squaredExponential({ lengthscale: 1, variance: 0.25 }),
    noiseVariance: 1e-3,
    refit: { every: 10, until: 150, noise: true, pending: true },
  },
  inOrder: true,
  random: 5,
};

const firstTasks: Experiment = {
  id: "figure-4a",
  title: "Verma 2022, Figure 4a: the first 20 tasks, Poisson 3, m = 6; kernel and noise refitted until round 150, pending outcomes imputed",
  runs: 50,
  settings: ["20 tasks"],
  algorithms: [...optimistic, "uniform"],
  figures: [{ metric: "cumulative regret", x: "iteration", y: "cumulative regret" }],
  dataFiles: ["tst-svm.csv"],
  run: (task) => playTasks(task, algorithms[task.algorithm], { ...reference, window: windowOf(task.algorithm) }),
};

/** Section 6.3: 50 tasks one after the other, 30 rounds each. The task's meta-features are the context. */
const multiTask: Experiment = {
  id: "multi-task",
  title: "Verma 2022, Figure 4 a-b: multi-task contextual SVM tuning, Poisson 3, m = 6, hyper-parameters refitted every 10 queries",
  runs: 3,
  settings: ["20 tasks", "50 tasks"],
  algorithms: [...optimistic, ...sampling, "uniform"],
  figures: [{ metric: "cumulative regret", x: "iteration", y: "cumulative regret" }],
  dataFiles: ["tst-svm.csv"],
  run: (task) => playTasks(task, algorithms[task.algorithm], { window: windowOf(task.algorithm) }),
};

/** Only the SDF policies have a window. The baselines use all feedback. */
export const windowOf = (algorithm: string): number | undefined => (algorithm.endsWith("SDF") ? 6 : undefined);

/** How the tasks are played. */
interface Tasks {
  /** In rounds. */
  readonly window?: number;
  /** Default: a short lengthscale, a fixed noise, and refits to known outcomes every 10 rounds. */
  readonly model?: Omit<Model, "domain" | "dimension">;
  /** Whether tasks come in the order of the file. Default: each run has its own order. */
  readonly inOrder?: boolean;
  /** Rounds of random choices to begin with. */
  readonly random?: number;
}

const shortScale = { kernel: squaredExponential({ lengthscale: 0.1 }), noiseVariance: 1e-2, refit: { every: 10 } };

/** Plays a policy on the tasks one after the other. The features are the task's, followed by the action's. */
export async function playTasks(
  { setting, run, files }: Task,
  policyOf: (model: Model) => PolicyDescriptor,
  { window, model = shortScale, inOrder = false, random: begun = 0 }: Tasks = {},
): Promise<Curve[]> {
  const rows = csvParse(await readFile(files[0], "utf8"));
  const tasks = [...new Set(rows.map(({ task }) => task))].slice(0, Number.parseInt(setting, 10));
  const features = [/^meta\d$/, /^h\d$/].flatMap((pattern) => rows.columns.filter((name) => pattern.test(name)));
  const byTask = tasks.map((name) =>
    rows
      .filter(({ task }) => task === name)
      .map((row) => ({ features: features.map((each) => Number(row[each])), accuracy: Number(row.accuracy) })),
  );
  const random = streams("verma multi-task", setting, run);
  const keyed = byTask.map((task, i) => ({ task, key: inOrder ? i : random.candidates() }));
  const order = keyed.sort((a, b) => a.key - b.key).map(({ task }) => task);
  const taskOf = (round: number): (typeof byTask)[number] => order[Math.floor((round - 1) / TASK)];
  const policyDescriptor = policyOf({ ...model, dimension: features.length });
  const { policy } = await Recommender.create({ policy: policyDescriptor, window: window ? { rounds: window } : "none", seed: run });
  const world: World = {
    horizon: TASK * order.length,
    candidates: taskOf,
    forced: (round) => (round <= begun ? { index: random.candidates.below(taskOf(round).length) } : undefined),
    reward: (round, { index }) => taskOf(round)[index].accuracy,
    regret: (round, { index }) => Math.max(...taskOf(round).map(({ accuracy }) => accuracy)) - taskOf(round)[index].accuracy,
    delay: () => poisson(3).draw(random.delay),
  };
  const regret = play(policy, world, { offset: 1, window });
  const at = Array.from({ length: order.length }, (_, i) => TASK * (i + 1));
  const total = cumulative(regret);
  return [{ metric: "cumulative regret", at, values: at.map((round) => total[round - 1]) }];
}

export const paper: Paper = {
  id: "verma",
  title: "Verma et al. 2022, Bayesian optimization under stochastic delayed feedback",
  experiments: [
    synthetic("figure-1a", "Figure 1a, delays", Object.fromEntries([2, 5, 10, 15, 20, 30].map((mean) => [`mean ${mean}`, twice(mean)])), [
      "GP-UCB-SDF",
    ]),
    synthetic(
      "figure-1b",
      "Figure 1b, windows",
      Object.fromEntries([5, 10, 20, 40].map((window) => [`m = ${window}`, { law: poisson(10), window }])),
      ["GP-UCB-SDF"],
    ),
    synthetic("figure-1cd", "Figure 1c-d", bothLaws, optimistic),
    synthetic("figure-5", "Figure 5", bothLaws, sampling),
    tuningOf("svm-pima", "Figure 2a-d, SVM on Pima diabetes", "svm-pima-grid.csv"),
    tuningOf("lr-breast-cancer", "Figure 3, logistic regression on breast cancer", "lr-breast-cancer-grid.csv"),
    firstTasks,
    multiTask,
  ],
};

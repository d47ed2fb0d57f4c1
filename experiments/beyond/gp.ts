// Delay-aware Gaussian-process policies on the papers' own benchmarks, beside the papers' algorithms in the same runs. The policies
// get the features, the domain and the number of context features. All other options keep their defaults.
import { delayGpTs, delayGpUcb, type PolicyDescriptor } from "afterclick";
import * as liu from "../liu.ts";
import type { Experiment, Task } from "../runs/experiment.ts";
import * as vakili from "../vakili.ts";
import * as verma from "../verma.ts";

const UCB = "delay-aware GP-UCB";
const TS = "delay-aware GP-TS";
const METRIC = "cumulative regret";
const figures = [{ metric: METRIC, x: "round", y: METRIC }];

/** Six context features describe the task, and six features describe the candidate. */
const tasks = { dimension: 12, contextDimension: 6 };

const multiTask: Experiment = {
  id: "verma-multi-task",
  title: "Verma's multi-task experiment (50 tasks, Poisson 3): policies of this project beside GP-UCB-SDF",
  runs: 10,
  settings: ["50 tasks"],
  algorithms: [UCB, "GP-UCB-SDF"],
  figures,
  dataFiles: ["tst-svm.csv"],
  run(task) {
    if (task.algorithm === UCB) return verma.playTasks(task, () => delayGpUcb(tasks));
    return verma.playTasks(task, verma.algorithms[task.algorithm], { window: 6 });
  },
};

const sampling: Experiment = {
  ...multiTask,
  id: "verma-multi-task-sampling",
  title: "Verma's multi-task experiment (20 tasks, Poisson 3), by sampling",
  runs: 5,
  settings: ["20 tasks"],
  algorithms: [TS, "GP-TS-SDF", "asy-TS"],
  run(task) {
    if (task.algorithm === TS) return verma.playTasks(task, () => delayGpTs(tasks));
    return verma.playTasks(task, verma.algorithms[task.algorithm], { window: verma.windowOf(task.algorithm) });
  },
};

const objectives: Experiment = {
  id: "vakili",
  title: "Vakili's objectives (kernel models drawn anew in each run): a policy of this project beside those there",
  runs: 10,
  settings: ["f1, Poisson 25", "f1, Poisson 50", "f2, Poisson 25", "f2, Poisson 50"],
  algorithms: [UCB, ...Object.keys(vakili.algorithms)],
  figures,
  run(task) {
    const { algorithm } = task;
    return vakili.trial(task, algorithm === UCB ? () => delayGpUcb({ domain: vakili.domain }) : vakili.algorithms[algorithm]);
  },
};

/** As fine as Delayed Zooming's own grid of the interval. */
const interval = { points: Array.from({ length: 1001 }, (_, i) => [i / 1000]) };

const lipschitz: Experiment = {
  id: "liu",
  title: `Liu's functions of one variable, noise ${liu.SIGMA}, on 1,001 points: a policy of this project beside Delayed Zooming`,
  runs: 10,
  settings: ["triangle", "sine"].flatMap((name) => ["no delay", "geometric 20", "geometric 50"].map((law) => `${name}, ${law}`)),
  algorithms: [UCB, liu.ZOOMING],
  figures,
  traced: 100,
  run(task) {
    const { setting, algorithm } = task;
    const [name] = setting.split(", ");
    const policy = algorithm === UCB ? delayGpUcb({ domain: interval }) : liu.policyOf(algorithm, liu.rewards[name]);
    return liu.trial(task, liu.SIGMA, policy);
  },
};

/** Maximum number of rows of the factor. The last value has room for every point. */
const budgets: Record<string, number> = { "64 rows": 64, "128 rows": 128, "256 rows": 256, exact: 2000 };

const budget: Experiment = {
  ...multiTask,
  id: "budget",
  runs: 5,
  title: "A budget of rows: Verma's multi-task experiment (20 tasks), delay-aware GP-UCB",
  settings: ["20 tasks"],
  algorithms: Object.keys(budgets),
  run: (task: Task) => verma.playTasks(task, (): PolicyDescriptor => delayGpUcb({ ...tasks, capacity: budgets[task.algorithm] })),
};

/** Cheapest first. */
export const experiments: readonly Experiment[] = [objectives, lipschitz, budget, sampling, multiTask];

import { squaredExponential } from "afterclick";
import { gaussianProcess } from "afterclick/research";
import { stream } from "../../src/simulation/stream.ts";
import { compileCore } from "../core.ts";
import { GaussianProcess } from "../peers/typescript/gaussian-process.ts";
import { type ProgramInputs, programs } from "../program.ts";
import { cpuTime, local, prepared, type Variant } from "../variant.ts";
import type { Target, Workload } from "../workload.ts";

// A Gaussian process of n points in d = 8 dimensions: appending points, scoring candidates, and updating for a late reward.

const DIMENSION = 8;
const LENGTHSCALE = 1;
const NOISE_VARIANCE = 0.01;

interface Inputs {
  readonly n: number;
  readonly k: number;
  /** n x d, row-major. */
  readonly points: Float64Array;
  readonly rewards: Float64Array;
  /** k x d, row-major. */
  readonly candidates: Float64Array;
}

type Process = Awaited<ReturnType<typeof gaussianProcess>>;

export const gaussianProcessWorkloads: readonly Workload[] = [
  {
    name: `gp-append n=1000 d=${DIMENSION}`,
    unit: "ms",
    rounds: 9,
    peer: "afterclick",
    targets: [{ variant: "afterclick", peer: "c", atLeast: 1 / 1.1 }],
    async prepare() {
      const inputs = inputsOf("gp-append", 1000, 20);
      return prepared("ms", {
        afterclick: { run: growing(inputs), answer: moments(inputs, await learnt(inputs))() },
        ...(await programs(programInputs("gp-append", inputs))),
        typescript: local(() => plainLearnt(inputs), moments(inputs, plainLearnt(inputs))()),
      });
    },
  },
  asking("gp-score", 100, 100, moments),
  asking("gp-score", 500, 100, moments, [
    { variant: "afterclick", atMost: 3 },
    { variant: "afterclick", peer: "numpy", atLeast: 0.4 },
  ]),
  asking("gp-score", 1000, 100, moments, [{ variant: "afterclick", peer: "numpy", atLeast: 1 / 1.1 }]),
  asking("late-conversion", 1000, 1, converting),
];

/** A workload that runs `work` on a process of n points and k candidates. */
function asking(program: string, n: number, k: number, work: typeof moments, targets: readonly Target[] = []): Workload {
  return {
    name: `${program} n=${n}${k > 1 ? ` k=${k}` : ""}`,
    unit: "ms",
    rounds: 15,
    peer: "afterclick",
    targets,
    async prepare() {
      const inputs = inputsOf(program, n, k);
      const subject = work(inputs, await learnt(inputs));
      const plain = work(inputs, plainLearnt(inputs));
      return prepared("ms", {
        afterclick: local(subject, subject()),
        ...(await programs(programInputs(program, inputs))),
        typescript: local(plain, plain()),
      });
    },
  };
}

function inputsOf(name: string, n: number, k: number): Inputs {
  const random = stream("bench", name, n, k);
  const numbers = (length: number): Float64Array => Float64Array.from({ length }, random);
  return { n, k, points: numbers(n * DIMENSION), rewards: numbers(n), candidates: numbers(k * DIMENSION) };
}

function programInputs(workload: string, { n, k, points, rewards, candidates }: Inputs): ProgramInputs {
  return { workload, numbers: [DIMENSION, n, k], arrays: [Float64Array.of(LENGTHSCALE, NOISE_VARIANCE), points, rewards, candidates] };
}

const at = (points: Float64Array, row: number): Float64Array => points.subarray(row * DIMENSION, (row + 1) * DIMENSION);

async function empty(n: number, module?: WebAssembly.Module): Promise<Process> {
  const kernel = squaredExponential({ lengthscale: LENGTHSCALE });
  return gaussianProcess({ dimension: DIMENSION, kernel, noiseVariance: NOISE_VARIANCE, capacity: n, module });
}

/** The operations of a process that the workloads use: afterclick's, or the TypeScript peer's. */
interface Learning {
  reward(row: number, reward: number, previous: number): void;
  /** Posterior means, followed by variances. */
  moments(points: Float64Array): Float64Array;
}

async function learnt({ n, points, rewards }: Inputs): Promise<Learning> {
  const process = await empty(n);
  const reward: Learning["reward"] = (row, reward, previous) => process.reward({ features: at(points, row), slot: row }, reward, previous);
  for (let row = 0; row < n; row++) process.append(at(points, row));
  for (let row = 0; row < n; row++) reward(row, rewards[row], 0);
  return {
    reward,
    moments(points) {
      const { mean, deviation } = process.moments(points);
      const moments = new Float64Array(2 * mean.length);
      moments.set(mean);
      for (let c = 0; c < mean.length; c++) moments[mean.length + c] = deviation[c] * deviation[c];
      return moments;
    },
  };
}

function plainLearnt({ n, points, rewards }: Inputs): Learning {
  const process = new GaussianProcess({ dimension: DIMENSION, lengthscale: LENGTHSCALE, noiseVariance: NOISE_VARIANCE, capacity: n });
  for (let row = 0; row < n; row++) process.append(at(points, row));
  for (let row = 0; row < n; row++) process.reward(row, rewards[row]);
  return process;
}

function moments({ candidates }: Inputs, process: Learning): () => Float64Array {
  return () => process.moments(candidates);
}

/** Changes the reward of the first row to the next of all rewards, then predicts a candidate. */
function converting({ n, rewards, candidates }: Inputs, process: Learning): () => Float64Array {
  let turn = 0;
  let previous = rewards[0];
  return () => {
    const reward = rewards[++turn % n];
    process.reward(0, reward, previous);
    previous = reward;
    return process.moments(candidates);
  };
}

/** Appends all points to a new process. Creating the process is not timed. */
function growing({ n, points }: Inputs): Variant["run"] {
  const module = compileCore();
  return async (times) => {
    let seconds = 0;
    for (let i = 0; i < times; i++) {
      const process = await empty(n, await module);
      const start = cpuTime();
      for (let row = 0; row < n; row++) process.append(at(points, row));
      seconds += cpuTime() - start;
    }
    return seconds;
  };
}

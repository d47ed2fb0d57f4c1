import { gpTsSdf, gpUcbSdf, type PolicyDescriptor, Recommender, squaredExponential } from "afterclick";
import { stream } from "../../src/simulation/stream.ts";
import { compileCore } from "../core.ts";
import type { GridInputs } from "../inputs.ts";
import { playGrid } from "../peers/typescript/grid.ts";
import { programs } from "../program.ts";
import { short } from "../statistics.ts";
import { cpuTime, local, type Missing, prepared, repeated, type Variant } from "../variant.ts";
import type { Finding, Target, Workload } from "../workload.ts";

// Whole runs of GP-UCB-SDF and GP-TS-SDF over 1,000 fixed points.

const COUNT = 1000;
/** Rounds of the paper's runs. In longer runs, slow peers and those that refit would take minutes. */
const SHORT = 150;
/** Rounds per measured block. */
const BLOCK = 50;
/** Greatest fitted exponent that counts as linear. */
const LINEAR = 1.05;

export const gridWorkloads: readonly Workload[] = [
  optimistic(SHORT, 9, [
    { variant: "afterclick", atMost: 10 },
    { variant: "afterclick", peer: "numpy", atLeast: 40 },
    { variant: "afterclick", peer: "c", atLeast: 1 / 1.25 },
  ]),
  optimistic(1000, 7, []),
  {
    name: `gp-ts-sdf-grid points=${COUNT} rounds=${SHORT}`,
    unit: "s",
    rounds: 7,
    warmUps: 0,
    peer: "afterclick",
    async prepare({ quick } = {}) {
      const inputs = inputsOf(quick ? BLOCK : SHORT);
      const module = await compileCore();
      const run = (policy: PolicyDescriptor) => async (): Promise<number> => {
        const { blocks } = await recommended(policy, inputs, module);
        return blocks.reduce((sum, block) => sum + block, 0);
      };
      // The two samplers draw different numbers of one distribution, so there is no answer to compare.
      return prepared("s", {
        afterclick: repeated(run(gpTsSdf({ ...options(inputs), sampler: "pathwise" }))),
        "afterclick-joint": repeated(run(gpTsSdf(options(inputs)))),
      });
    },
  },
];

/** Random points in the unit square. On a lattice many scores would be equal up to rounding. */
function inputsOf(rounds: number): GridInputs {
  const random = stream("bench", "grid");
  const points = Float64Array.from({ length: 2 * COUNT }, random);
  const values = Float64Array.from(
    { length: COUNT },
    (_, i) => 0.5 + 0.25 * (Math.sin(9 * points[2 * i]) + Math.cos(7 * points[2 * i + 1])),
  );
  return { dimension: 2, points, values, rounds, window: 20, delay: 10, lengthscale: 0.2, noiseVariance: 0.01, beta: 1 };
}

function options({ points, lengthscale, noiseVariance, beta }: GridInputs) {
  const domain = { points: Array.from({ length: COUNT }, (_, i) => [points[2 * i], points[2 * i + 1]]) };
  return { domain, kernel: squaredExponential({ lengthscale }), noiseVariance, beta };
}

function optimistic(rounds: number, runs: number, targets: readonly Target[]): Workload {
  return {
    name: `gp-ucb-sdf-grid points=${COUNT} rounds=${rounds}`,
    unit: "ms",
    rounds: runs,
    warmUps: 1,
    peer: "afterclick",
    targets,
    async prepare({ alone } = {}) {
      const inputs = inputsOf(rounds);
      const module = await compileCore();
      const policy = gpUcbSdf(options(inputs));
      const { answer } = await recommended(policy, inputs, module);
      const costs: Float64Array[] = [];
      const run = async (times: number): Promise<number> => {
        let seconds = 0;
        for (let i = 0; i < times; i++) {
          const { blocks } = await recommended(policy, inputs, module);
          costs.push(blocks);
          seconds += blocks.reduce((sum, block) => sum + block, 0);
        }
        return seconds;
      };
      const variants = await prepared("ms", { afterclick: { run, answer }, ...(!alone && (await peers(inputs))) });
      return { ...variants, findings: () => (rounds > SHORT && costs.length > 0 ? [growth(costs)] : []) };
    },
  };
}

async function peers(inputs: GridInputs): Promise<Record<string, Variant | Missing>> {
  const { dimension, points, values, rounds, window, delay, lengthscale, noiseVariance, beta } = inputs;
  const numbers = [dimension, COUNT, rounds, window, delay];
  const arrays = [Float64Array.of(lengthscale, noiseVariance, beta), points, values];
  const program = { workload: "gp-ucb-sdf-grid", numbers, arrays };
  if (rounds > SHORT) return programs(program, ["c"]);
  return { ...(await programs(program)), typescript: local(() => playGrid(inputs), playGrid(inputs)) };
}

/** Plays a run through the recommender. Returns each round's choice and score, and the seconds of each block. */
async function recommended(policy: PolicyDescriptor, { values, rounds, window, delay }: GridInputs, module: WebAssembly.Module) {
  const recommender = await Recommender.create({ policy, window: { rounds: window }, seed: 1, module });
  const answer = new Float64Array(2 * rounds);
  const blocks = new Float64Array(rounds / BLOCK);
  const ids: string[] = [];
  let before = cpuTime();
  for (let round = 1; round <= rounds; round++) {
    const { action } = recommender.recommend({});
    ids.push(action.impressionId);
    answer[2 * round - 2] = action.index;
    answer[2 * round - 1] = action.score;
    const due = round - delay;
    if (due > 0) recommender.convert({ impressionId: ids[due - 1], reward: values[answer[2 * due - 2]] });
    if (round % BLOCK > 0) continue;
    const now = cpuTime();
    blocks[round / BLOCK - 1] = now - before;
    before = now;
  }
  return { answer, blocks };
}

/** Fits the exponent of a round's cost in the number of rounds: the slope in logarithms of the blocks' medians over runs. */
function growth(costs: readonly Float64Array[]): Finding {
  const x = Array.from(costs[0], (_, block) => Math.log((block + 0.5) * BLOCK));
  const y = x.map((_, block) => Math.log(costs.map((blocks) => blocks[block]).sort((a, b) => a - b)[costs.length >> 1]));
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const deviations = x.map((each) => each - mean(x));
  const slope = mean(deviations.map((each, i) => each * y[i])) / mean(deviations.map((each) => each ** 2));
  return { text: `afterclick: a round costs n^${short(slope)}, wanted n^1`, verdict: slope <= LINEAR ? "yes" : "no" };
}

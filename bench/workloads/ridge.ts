import { stream } from "../../src/simulation/stream.ts";
import { CoreRidge } from "../core.ts";
import type { RidgePosterior, ScoringInputs } from "../inputs.ts";
import { mlMatrixScoring } from "../peers/ml-matrix.ts";
import { Ridge } from "../peers/typescript/ridge.ts";
import { programs } from "../program.ts";
import { local, type Missing, prepared, type Variant } from "../variant.ts";
import type { Target, Workload } from "../workload.ts";

// Means and widths of k candidates under a ridge posterior.

const targets: Record<string, readonly Target[]> = {
  "ridge-score d=32 k=100": [
    { variant: "afterclick", peer: "c", atLeast: 0.9 },
    { variant: "afterclick", peer: "numpy", atLeast: 1 },
    { variant: "afterclick-copied", peer: "ml-matrix", atLeast: 10 },
  ],
  "ridge-score d=64 k=1000": [{ variant: "afterclick", peer: "numpy", atLeast: 1 }],
  "ridge-score d=128 k=1000": [{ variant: "afterclick", peer: "numpy", atLeast: 1 }],
};

export const ridgeWorkloads: readonly Workload[] = [16, 32, 64, 128].flatMap((d) => [100, 1000].map((k) => workload(d, k)));

function workload(d: number, k: number): Workload {
  const name = `ridge-score d=${d} k=${k}`;
  return {
    name,
    unit: "us",
    rounds: 25,
    peer: "afterclick",
    targets: targets[name],
    prepare: async () => prepared("us", await variants(inputsOf(d, k))),
  };
}

function inputsOf(d: number, k: number): ScoringInputs {
  const random = stream("bench", "ridge-score", d, k);
  const n = 4 * d;
  const vectors = (count: number): Float64Array => Float64Array.from({ length: count * d }, () => random.normal() / Math.sqrt(d));
  return { d, k, n, shown: vectors(n), rewards: Float64Array.from({ length: n }, random), candidates: vectors(k) };
}

/**
 * "afterclick" has the candidates in its own memory, as C and NumPy do. "afterclick-copied" also copies candidates in and results
 * out, as a call from JavaScript does.
 */
async function variants(inputs: ScoringInputs): Promise<Record<string, Variant | Missing>> {
  const { d, k, n, shown, rewards, candidates } = inputs;
  const features = new Float64Array((n + k) * d);
  features.set(shown);
  features.set(candidates, n * d);
  const core = await CoreRidge.create(d, features, k);
  const scores = scored(core, inputs);
  const plain = scored(new Ridge(d, features, k), inputs);
  const library = mlMatrixScoring(inputs);
  const copied = (): readonly Float64Array[] => {
    core.features.set(candidates, n * d);
    core.score(n, k);
    return [core.means.slice(), core.norms.slice()];
  };
  return {
    afterclick: scores,
    "afterclick-copied": local(copied),
    ...(await programs({ workload: "ridge-score", numbers: [d, k, n], arrays: [shown, rewards, candidates] })),
    typescript: plain,
    "ml-matrix": local(library, library()),
  };
}

/** Teaches a posterior the impressions and scores the candidates. The candidates' rows follow the impressions' rows. */
function scored(posterior: RidgePosterior, { k, n, rewards }: ScoringInputs): Variant {
  rewards.forEach((reward, row) => {
    posterior.append(row);
    posterior.reward(row, reward);
  });
  posterior.score(n, k);
  const answer = Float64Array.from([...posterior.means, ...posterior.norms]);
  return local(() => posterior.score(n, k), answer);
}

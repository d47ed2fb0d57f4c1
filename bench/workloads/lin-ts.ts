import { delayLinTs, otfLinTs, type PolicyDescriptor, Recommender } from "afterclick";
import { stream } from "../../src/simulation/stream.ts";
import { Ridge } from "../peers/typescript/ridge.ts";
import { local, prepared, type Variant } from "../variant.ts";
import type { Workload } from "../workload.ts";

// A round of linear Thompson sampling: choose among k candidates, append the choice, observe the conversion of an earlier choice.

const DIMENSION = 32;
const K = 50;
/** Delay of every conversion, in rounds. */
const DELAY = 20;
const WINDOW = 500;
const SETS = 8;
const PLAYED = 5000;
/** Share of the impressions that convert. */
const RATE = 0.2;

export const linTsWorkloads: readonly Workload[] = [
  {
    name: `lin-ts-round d=${DIMENSION} k=${K}`,
    unit: "us",
    rounds: 25,
    peer: "afterclick",
    targets: [{ variant: "afterclick", peer: "typescript", atLeast: 1 / 2 }],
    async prepare() {
      // The variants draw other numbers, so there is no answer to compare.
      return prepared("us", {
        afterclick: played(await recommending(delayLinTs({ dimension: DIMENSION }))),
        "otf-lin-ts": played(await recommending(otfLinTs({ dimension: DIMENSION }))),
        typescript: played(plain()),
      });
    },
  },
];

/** Measures later rounds: in the first ones ridges are chosen again and again, and the code is cold. */
function played(round: () => void): Variant {
  for (let i = 0; i < PLAYED; i++) round();
  return local(round);
}

const candidatesOf = (): Float64Array => {
  const random = stream("bench", "lin-ts-round");
  return Float64Array.from({ length: SETS * K * DIMENSION }, () => random.normal() / Math.sqrt(DIMENSION));
};

/** Rounds through the recommender with its ledger. */
async function recommending(policy: PolicyDescriptor): Promise<() => void> {
  const recommender = await Recommender.create({ policy, window: { rounds: WINDOW }, seed: 1 });
  const candidates = candidatesOf();
  const converts = stream("bench", "lin-ts-round", "conversions");
  const sets = Array.from({ length: SETS }, (_, set) => candidates.subarray(set * K * DIMENSION, (set + 1) * K * DIMENSION));
  const ids: string[] = new Array(DELAY);
  let round = 0;
  return () => {
    const { action } = recommender.recommend({ points: sets[round % SETS] });
    if (round >= DELAY && converts() < RATE) recommender.convert({ impressionId: ids[round % DELAY], reward: 1 });
    ids[round % DELAY] = action.impressionId;
    round++;
  };
}

/** Rounds on a posterior alone, without ids, checks and ledger. */
function plain(): () => void {
  const candidates = candidatesOf();
  const posterior = new Ridge(DIMENSION, candidates, K);
  const converts = stream("bench", "lin-ts-round", "conversions");
  const { normal } = stream("bench", "lin-ts-round", "draws");
  const rows = new Int32Array(DELAY);
  const normals = new Float64Array(DIMENSION);
  let round = 0;
  return () => {
    const first = (round % SETS) * K;
    for (let j = 0; j < DIMENSION; j++) normals[j] = normal();
    const parameter = posterior.sample(normals);
    let index = 0;
    let score = Number.NEGATIVE_INFINITY;
    for (let c = 0; c < K; c++) {
      let sum = 0;
      for (let j = 0, at = (first + c) * DIMENSION; j < DIMENSION; j++) sum += parameter[j] * candidates[at + j];
      if (sum > score) [index, score] = [c, sum];
    }
    posterior.append(first + index);
    if (round >= DELAY && converts() < RATE) posterior.reward(rows[round % DELAY], 1);
    rows[round % DELAY] = first + index;
    round++;
  };
}

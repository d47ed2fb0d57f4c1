import { otfLinUcb, Recommender } from "afterclick";
import { stream } from "../../src/simulation/stream.ts";
import { CoreRidge } from "../core.ts";
import type { RidgePosterior } from "../inputs.ts";
import { Ridge } from "../peers/typescript/ridge.ts";
import { programs } from "../program.ts";
import { local, type Missing, prepared, type Variant } from "../variant.ts";
import type { Target, Workload } from "../workload.ts";

// A round of OTFLinUCB: choose among k candidates, append the choice, observe the conversion of an earlier choice.

/** Attribution window, in rounds. */
const WINDOW = 500;
/** Delay of every conversion, in rounds. */
const DELAY = 20;
/** Numbers of candidate sets and of rewards. A run uses them in turn. */
const SETS = 8;
const REWARDS = 64;

interface Inputs {
  readonly d: number;
  readonly k: number;
  /** Rounds played for the answer. The measured rounds follow them. */
  readonly rounds: number;
  /** SETS x k x d, row-major. */
  readonly candidates: Float64Array;
  readonly rewards: Float64Array;
}

const targets: Record<string, readonly Target[]> = {
  "otflinucb-round d=5 k=10": [{ variant: "afterclick", peer: "typescript", atLeast: 1 / 3 }],
  "otflinucb-round d=32 k=100": [
    { variant: "afterclick-core", atMost: 15 },
    { variant: "afterclick-core", peer: "typescript", atLeast: 5 },
  ],
};

export const otfLinUcbWorkloads: readonly Workload[] = [
  // The ledger remembers 2 x WINDOW rounds. The answer covers half as many more.
  workload(5, 10, 3 * WINDOW),
  workload(32, 100, 3 * WINDOW),
  workload(128, 1000, 100),
];

function workload(d: number, k: number, rounds: number): Workload {
  const name = `otflinucb-round d=${d} k=${k}`;
  return {
    name,
    unit: "us",
    rounds: 25,
    peer: "afterclick",
    targets: targets[name],
    async prepare() {
      const random = stream("bench", "otflinucb-round", d, k);
      const candidates = Float64Array.from({ length: SETS * k * d }, () => random.normal() / Math.sqrt(d));
      const rewards = Float64Array.from({ length: REWARDS }, random);
      return prepared("us", await variants({ d, k, rounds, candidates, rewards }));
    },
  };
}

async function variants(inputs: Inputs): Promise<Record<string, Variant | Missing>> {
  const { d, k, rounds, candidates, rewards } = inputs;
  const core = await CoreRidge.create(d, candidates, k);
  const numbers = [d, k, SETS, REWARDS, WINDOW, DELAY, rounds];
  return {
    afterclick: played(await recommending(inputs), rounds),
    "afterclick-core": played(bandit(core, inputs), rounds),
    ...(await programs({ workload: "otflinucb-round", numbers, arrays: [candidates, rewards] })),
    typescript: played(bandit(new Ridge(d, candidates, k), inputs), rounds),
  };
}

/** Plays a round. Returns index and score of the chosen candidate. */
type Round = () => { readonly index: number; readonly score: number };

function played(round: Round, rounds: number): Variant {
  const answer = Array.from({ length: rounds }, round).flatMap(({ index, score }) => [index, score]);
  return local(round, Float64Array.from(answer));
}

/** Rounds through the recommender with its ledger. Candidates are a matrix. */
async function recommending({ d, k, candidates, rewards }: Inputs): Promise<Round> {
  const recommender = await Recommender.create({ policy: otfLinUcb({ dimension: d }), window: { rounds: WINDOW }, seed: 1 });
  const sets = Array.from({ length: SETS }, (_, set) => candidates.subarray(set * k * d, (set + 1) * k * d));
  const ids: string[] = new Array(DELAY);
  let round = 0;
  return () => {
    const { action } = recommender.recommend({ points: sets[round % SETS] });
    if (round >= DELAY) recommender.convert({ impressionId: ids[round % DELAY], reward: rewards[(round - DELAY) % REWARDS] });
    ids[round % DELAY] = action.impressionId;
    round++;
    return action;
  };
}

/** Rounds on a posterior alone, without ids, checks and ledger. Source: Vernade et al. 2020, Alg. 1, with the released width. */
function bandit(posterior: RidgePosterior, { d, k, rewards }: Inputs): Round {
  const rows = new Int32Array(DELAY);
  const widths = new Float64Array(WINDOW + 1);
  let open = 0;
  let round = 0;
  return () => {
    const place = round % widths.length;
    open -= widths[place];
    const first = (round % SETS) * k;
    posterior.score(first, k);
    const alpha = Math.sqrt(2 * Math.log(10) + d * Math.log(1 + (round + 1) / d) + 1) + open;
    const { means, norms } = posterior;
    let index = 0;
    let score = Number.NEGATIVE_INFINITY;
    for (let c = 0; c < k; c++) {
      const upper = means[c] + alpha * norms[c] * norms[c];
      if (upper > score) [index, score] = [c, upper];
    }
    widths[place] = norms[index] * norms[index];
    open += widths[place];
    posterior.append(first + index);
    if (round >= DELAY) posterior.reward(rows[round % DELAY], rewards[(round - DELAY) % REWARDS]);
    rows[round % DELAY] = first + index;
    round++;
    return { index, score };
  };
}

// Options of the delay-aware linear policies: forgetting in a world that changes, and rewards whose log-odds are linear.
import { delayLinTs, type PolicyDescriptor, Recommender } from "afterclick";
import { geometric } from "../../src/simulation/delay-law.ts";
import { cumulative, type Stream, stream } from "../../src/simulation/stream.ts";
import { converting, play, type World } from "../../src/simulation/world.ts";
import { type Curve, type Experiment, roundsOf } from "../runs/experiment.ts";

const ACTIONS = 10;
const DELAY = geometric(100);
const window = 500;

/** Ten random actions in each round. An action with features x converts with probability `rate(x, round)`. */
function randomActions(horizon: number, draw: (random: Stream) => number[], rate: Rate, names: (string | number)[]): World {
  const draws = { actions: stream(...names, "actions"), reward: stream(...names, "reward"), delay: stream(...names, "delay") };
  let actions: number[][] = [];
  return {
    horizon,
    candidates() {
      actions = Array.from({ length: ACTIONS }, () => draw(draws.actions));
      return actions.map((features) => ({ features }));
    },
    reward: (round, { index }) => Number(draws.reward() < rate(actions[index], round)),
    regret: (round, { index }) => Math.max(...actions.map((each) => rate(each, round))) - rate(actions[index], round),
    delay: () => DELAY.draw(draws.delay),
  };
}

type Rate = (features: readonly number[], round: number) => number;

const product = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, each, i) => sum + each * b[i], 0);
const scaled = (values: readonly number[]): number[] => values.map((each) => each / Math.hypot(...values));

const CHANGE = 4000;
export const forgetting: Record<string, PolicyDescriptor> = {
  "delay-lin-ts": delayLinTs({ dimension: 5 }),
  "nothing forgotten": delayLinTs({ dimension: 5, forgetting: null }),
  "half-life 1,000": delayLinTs({ dimension: 5, forgetting: { halfLife: 1000 } }),
};

const changing: Experiment = {
  id: "changing",
  title: "Vernade's setting, other parameters from round 4,001 on, or the same ones: regret from there",
  runs: 20,
  settings: ["changed", "the same"],
  algorithms: Object.keys(forgetting),
  figures: [],
  async run(task) {
    const { setting, algorithm, run } = task;
    const change = roundsOf(2 * CHANGE, task) / 2;
    const names = ["beyond", "changing", setting, run];
    const random = stream(...names, "parameters");
    const uniform = (each: Stream): number[] => scaled(Array.from({ length: 5 }, () => each()));
    const [before, other] = [uniform(random), uniform(random)];
    const rate: Rate = (x, round) => product(x, setting === "changed" && round > change ? other : before);
    const { policy } = await Recommender.create({ policy: forgetting[algorithm], window: { rounds: window }, seed: run });
    const regret = cumulative(play(policy, converting(randomActions(2 * change, uniform, rate, names)), { offset: 0, window }));
    return [{ metric: "regret after the change", at: [2 * change], values: [regret[2 * change - 1] - regret[change - 1]] }];
  },
};

const DIMENSION = 8;
const HORIZON = 10_000;
const links: Record<string, PolicyDescriptor> = {
  "expected reward": delayLinTs({ dimension: DIMENSION }),
  "log-odds": delayLinTs({ dimension: DIMENSION, rewards: "bernoulli" }),
};
/** The rate of an average action, and the standard deviation of log-odds. */
const rates: Record<string, { base: number; spread: number }> = {
  "rate 1 %, spread 0.5": { base: 0.01, spread: 0.5 },
  "rate 2 %, spread 1": { base: 0.02, spread: 1 },
  "rate 2 %, spread 2": { base: 0.02, spread: 2 },
  "rate 5 %, spread 0.5": { base: 0.05, spread: 0.5 },
  "rate 5 %, spread 3": { base: 0.05, spread: 3 },
};

const logOdds: Experiment = {
  id: "log-odds",
  title: "Conversions whose log-odds are linear, 10,000 rounds: regret, and how right the predicted chances of other actions are then",
  runs: 20,
  settings: Object.keys(rates),
  algorithms: Object.keys(links),
  figures: [],
  async run(task): Promise<readonly Curve[]> {
    const { setting, algorithm, run } = task;
    const horizon = roundsOf(HORIZON, task);
    const { base, spread } = rates[setting];
    const names = ["beyond", "log-odds", setting, run];
    const random = stream(...names, "parameters");
    const theta = scaled(Array.from({ length: DIMENSION - 1 }, () => random.normal())).map((each) => each * spread * Math.sqrt(DIMENSION));
    const draw = (each: Stream): number[] => [0.5, ...Array.from(theta, () => each.normal() / Math.sqrt(DIMENSION))];
    const rate: Rate = ([, ...x]) => 1 / (1 + ((1 - base) / base) * Math.exp(-product(x, theta)));
    const { policy } = await Recommender.create({ policy: links[algorithm], window: { rounds: window }, seed: run });
    const regret = cumulative(play(policy, converting(randomActions(horizon, draw, rate, names)), { offset: 0, window }));
    const others = Array.from({ length: 1000 }, () => draw(random));
    const { mean } = policy.predict(others);
    const truth = others.map((each) => rate(each, horizon));
    const average = (value: (i: number) => number): number => truth.reduce((sum, _, i) => sum + value(i), 0) / truth.length;
    const measured = {
      regret: regret[horizon - 1],
      "predicted rate over the true one": average((i) => mean[i]) / average((i) => truth[i]),
      "root of the mean square error": Math.sqrt(average((i) => (mean[i] - truth[i]) ** 2)),
      "share of predictions outside (0, 1)": average((i) => Number(mean[i] <= 0 || mean[i] >= 1)),
    };
    return Object.entries(measured).map(([metric, value]) => ({ metric, at: [horizon], values: [value] }));
  },
};

export const experiments: readonly Experiment[] = [changing, logOdds];

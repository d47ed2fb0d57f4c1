import { otfLinTs, otfLinUcb, type PolicyDescriptor, Recommender, uniform } from "afterclick";
import { type DelayLaw, geometric, logNormalMixture } from "../src/simulation/delay-law.ts";
import { cumulative, stream } from "../src/simulation/stream.ts";
import { type Player, play, type World } from "../src/simulation/world.ts";
import { type Curve, type Experiment, type Paper, roundsOf } from "./runs/experiment.ts";

const DIMENSION = 5;
const ACTIONS = 10;
const options = { dimension: DIMENSION, delta: 0.1 } as const;

export const algorithms: Record<string, PolicyDescriptor> = {
  // As printed, with the norms of equation 3. Algorithm 2 prints the norms of the O(m) buffer.
  "OTFLinUCB printed": otfLinUcb({ ...options, ridge: 1, width: "theory", norms: "exact" }),
  "OTFLinUCB released": otfLinUcb({ ...options, ridge: 1, width: "released" }),
  "OTFLinTS printed": otfLinTs({ ...options, ridge: 1, width: "theory", norms: "exact" }),
  "OTFLinTS printed, buffered": otfLinTs({ ...options, ridge: 1, width: "theory" }),
  "OTFLinTS released": otfLinTs({ ...options, width: "released" }),
  // The printed rule with a narrower width: the worker's former default.
  "OTFLinTS narrowed": otfLinTs({ ...options, width: "theory", exploration: 0.25, widthCap: 1 }),
  uniform: uniform(),
};

/** The parameter of section 8. */
const equal = new Float64Array(DIMENSION).fill(1 / Math.sqrt(DIMENSION));

/** Section 8: actions uniform on [0, 1]^d, normalised; theta = 1 / sqrt(d) in every coordinate; Bernoulli conversions. */
export function world(horizon: number, law: Pick<DelayLaw, "draw">, names: (string | number)[], theta: ArrayLike<number> = equal): World {
  const draws = { actions: stream(...names, "actions"), reward: stream(...names, "reward"), delay: stream(...names, "delay") };
  let rates: number[] = [];
  return {
    horizon,
    candidates() {
      const candidates = Array.from({ length: ACTIONS }, () => {
        const raw = Array.from({ length: DIMENSION }, () => draws.actions());
        const norm = Math.hypot(...raw);
        return { features: raw.map((each) => each / norm) };
      });
      rates = candidates.map(({ features }) => features.reduce((sum, each, i) => sum + each * theta[i], 0));
      return candidates;
    },
    reward: (_, { index }) => Number(draws.reward() < rates[index]),
    regret: (_, { index }) => Math.max(...rates) - rates[index],
    delay: () => law.draw(draws.delay),
  };
}

/** Plays a policy and returns its regret curve. */
export async function regretOf(descriptor: PolicyDescriptor, window: number, played: World, seed: number): Promise<readonly Curve[]> {
  const { policy } = await Recommender.create({ policy: descriptor, window: { rounds: window }, seed });
  return regretCurve(policy, window, played);
}

/** Plays an algorithm, of the SDK or not, and returns its regret curve. */
export function regretCurve(player: Player, window: number, played: World): readonly Curve[] {
  const regret = cumulative(play(player, played, { offset: 0, window }));
  const at = Array.from({ length: 100 }, (_, i) => ((i + 1) * played.horizon) / 100);
  return [{ metric: "cumulative regret", at, values: at.map((round) => regret[round - 1]) }];
}

export const figures = [{ metric: "cumulative regret", x: "round", y: "cumulative regret" }];

export const settings: Record<string, { window: number; mean: number }> = {
  "m = 500, mean 100": { window: 500, mean: 100 },
  "m = 100, mean 100": { window: 100, mean: 100 },
  "m = 100, mean 500": { window: 100, mean: 500 },
};

const wellBehaved: Experiment = {
  id: "figure-1",
  title: "Vernade 2020, Figure 1: geometric delays",
  runs: 50,
  settings: Object.keys(settings),
  algorithms: Object.keys(algorithms),
  figures,
  run(task) {
    const { setting, algorithm, run: repeat } = task;
    const { window, mean } = settings[setting];
    return regretOf(algorithms[algorithm], window, world(roundsOf(3000, task), geometric(mean), ["vernade", setting, repeat]), repeat);
  },
  // Section 8 gives one number: "roughly R(T) = 100" for OTFLinUCB in the two settings with mean 100.
  paperValue: (setting, algorithm) => (setting !== "m = 100, mean 500" && algorithm === "OTFLinUCB released" ? 100 : null),
};

/**
 * Replaces the delays of the Criteo data, which the paper does not print. The unit is a hundredth of the logged seconds. A fifth of
 * the delays are short (median 5); the rest are long (median 3000), so that many exceed the window.
 */
export const heavyTail = logNormalMixture([
  { weight: 0.2, mu: Math.log(5), sigma: 1.5 },
  { weight: 0.8, mu: Math.log(3000), sigma: 1.2 },
]);

const heavyTailed: Experiment = {
  id: "figure-3",
  title: "Vernade 2020, Figure 3: heavy-tailed delays (a stated mixture of log-normals in place of the Criteo data), m = 2000",
  runs: 20,
  settings: ["log-normal mixture"],
  algorithms: Object.keys(algorithms),
  figures,
  run(task) {
    const { setting, algorithm, run: repeat } = task;
    return regretOf(algorithms[algorithm], 2000, world(roundsOf(10_000, task), heavyTail, ["vernade", setting, repeat]), repeat);
  },
};

export const paper: Paper = {
  id: "vernade",
  title: "Vernade et al. 2020, Linear bandits with stochastic delayed feedback",
  experiments: [wellBehaved, heavyTailed],
};

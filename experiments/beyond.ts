// This project's own policies and estimates, on the papers' problems and beside the papers' algorithms.

import { readFile } from "node:fs/promises";
import { delayLinTs, delayLinUcb, otfLinTs, otfLinUcb, type PolicyDescriptor, Recommender, uniform } from "afterclick";
import { DelayEstimate } from "afterclick/research";
import { type DelayLaw, fixed, geometric, logNormalMixture, uniformDelay } from "../src/simulation/delay-law.ts";
import { type Stream, stream } from "../src/simulation/stream.ts";
import { concealed, converting, type World } from "../src/simulation/world.ts";
import { bootstrap } from "./beyond/bootstrap.ts";
import { coverage } from "./beyond/coverage.ts";
import { DIMENSION, digitsWorld } from "./beyond/digits.ts";
import { experiments as gaussianProcesses } from "./beyond/gp.ts";
import { experiments as linearOptions } from "./beyond/linear.ts";
import { rhythm } from "./beyond/rhythms.ts";
import { type Curve, type Experiment, type Paper, roundsOf, type Task } from "./runs/experiment.ts";
import { figures, heavyTail, regretCurve, regretOf, settings, world } from "./vernade.ts";

/** The default configuration of this project's policies, beside the paper's algorithms and the worker's former default. */
const linear = (dimension: number): Record<string, PolicyDescriptor> => ({
  "delay-lin-ts": delayLinTs({ dimension }),
  "delay-lin-ucb": delayLinUcb({ dimension }),
  "OTFLinUCB released": otfLinUcb({ dimension }),
  "OTFLinTS released": otfLinTs({ dimension }),
  // The sampling deviation is a quarter of the norm. Pending impressions count as zeros, without correction.
  "LinTS, pending as zero": otfLinTs({ dimension, width: "theory", exploration: 0.25, widthCap: 1 }),
  uniform: uniform(),
});

/** The default that knows no delays, in three settings. Its search for changes of rates takes late conversions for a change. */
const blind = (dimension: number): Record<string, PolicyDescriptor> => ({
  "delay-lin-ts, pending as zero, forgetting changes": delayLinTs({ dimension, forgetting: "changes" }),
  "delay-lin-ts, pending as zero, forgetting null": delayLinTs({ dimension, forgetting: null }),
  // Half of the default's exploration.
  "delay-lin-ts, pending as zero, forgetting null, exploration 0.11": delayLinTs({ dimension, forgetting: null, exploration: 0.11 }),
});
const BLIND = Object.keys(blind(1));
/** Policies that take a pending impression for a zero. */
export const AS_ZERO = [...BLIND, "LinTS, pending as zero"];

const algorithms = [...Object.keys(linear(1)), ...BLIND];
const ratios = [{ metric: "cumulative regret", of: "delay-lin-ts", to: AS_ZERO }];

async function regretIn(
  played: World,
  { dimension, window }: { readonly dimension: number; readonly window: number },
  { algorithm, run }: Task,
): Promise<readonly Curve[]> {
  const descriptor = blind(dimension)[algorithm];
  if (!descriptor) return regretOf(linear(dimension)[algorithm], window, played, run);
  const { policy } = await Recommender.create({ policy: descriptor, window: { rounds: window }, seed: run });
  return regretCurve(concealed(policy), window, played);
}

const vernade: Experiment = {
  id: "vernade",
  title: "Vernade's setting, geometric delays",
  runs: 50,
  settings: Object.keys(settings),
  algorithms,
  figures,
  ratios,
  run(task) {
    const { window, mean } = settings[task.setting];
    return regretIn(
      converting(world(roundsOf(3000, task), geometric(mean), ["vernade", task.setting, task.run])),
      { dimension: 5, window },
      task,
    );
  },
};

const heavyTailed: Experiment = {
  id: "heavy-tail",
  title: "Vernade's setting, delays by a mixture of log-normals, m = 2000",
  runs: 10,
  settings: ["log-normal mixture"],
  algorithms,
  figures,
  ratios,
  run: (task) =>
    regretIn(
      converting(world(roundsOf(10_000, task), heavyTail, ["vernade", task.setting, task.run])),
      { dimension: 5, window: 2000 },
      task,
    ),
};

const digitDelays: Record<string, DelayLaw> = { "geometric 200": geometric(200), "no delay": fixed(0) };

const digits: Experiment = {
  id: "digits",
  title: "Digits as a bandit, window 1,000: mistakes in one pass",
  runs: 10,
  settings: Object.keys(digitDelays),
  // With as many features as here, the default does not search for changes.
  algorithms: algorithms.filter((name) => name !== BLIND[0]),
  figures,
  ratios,
  dataFiles: ["digits.csv"],
  async run(task) {
    const played = converting(
      digitsWorld(await readFile(task.files[0], "utf8"), digitDelays[task.setting], ["beyond", "digits", task.run]),
    );
    return regretIn(played, { dimension: DIMENSION, window: 1000 }, task);
  },
};

const MEAN = 100;
const laws: Record<string, DelayLaw> = {
  geometric: geometric(MEAN),
  uniform: uniformDelay(MEAN),
  "log-normal": logNormalMixture([{ weight: 1, mu: Math.log(MEAN) - 0.5, sigma: 1 }]),
};
/** Least follow-up of an impression, in rounds. */
const followUps: Record<string, number> = { "follow-up 3 to 6 means": 3 * MEAN, "follow-up up to 3 means": 0 };

/** Greatest distance between the estimated distribution and the true one below its 95 % quantile, from 500 conversions. */
function supDistance(law: DelayLaw, followUp: number, random: Stream): number {
  const estimate = new DelayEstimate({ window: 10 * MEAN });
  const end = 3 * MEAN + followUp;
  const conversions: { shownAt: number; at: number }[] = [];
  while (conversions.length < 500) {
    const shownAt = Math.floor(random() * 3 * MEAN);
    estimate.show(shownAt);
    const at = shownAt + law.draw(random);
    if (random() < 0.1 && at <= end) conversions.push({ shownAt, at });
  }
  for (const conversion of conversions) estimate.convert(conversion);
  let distance = 0;
  for (let delay = 0; law.cdf(delay) <= 0.95; delay++) {
    distance = Math.max(distance, Math.abs(estimate.below(delay + 1) - law.cdf(delay)));
  }
  return distance;
}

const delays: Experiment = {
  id: "delays",
  title: "Distribution of delays from 500 conversions: greatest distance below the 95 % quantile",
  runs: 50,
  settings: Object.keys(laws),
  algorithms: Object.keys(followUps),
  figures: [],
  async run({ setting, algorithm, run }) {
    const distance = supDistance(laws[setting], followUps[algorithm], stream("beyond", "delays", setting, run));
    return [{ metric: "sup distance", at: [500], values: [distance] }];
  },
};

/** One impression per time unit. A tenth of them convert. */
const RATE = 0.1;
const HEALTHY = 5000;

/** Whether a false alarm comes in 5,000 impressions, and the conversions expected between a cut after them and the alarm. */
function silences(law: DelayLaw, random: Stream): { alarms: number; expected: number } {
  const estimate = new DelayEstimate({ window: 10 * MEAN });
  const due = new Map<number, number[]>();
  let alarms = 0;
  for (let now = 0; ; now++) {
    estimate.show(now);
    if (random() < RATE) {
      const at = now + law.draw(random);
      if (at - now <= 10 * MEAN) due.set(at, [...(due.get(at) ?? []), now]);
    }
    if (now < HEALTHY) for (const shownAt of due.get(now) ?? []) estimate.convert({ shownAt, at: now });
    due.delete(now);
    if (now % 5 !== 0) continue;
    const { alarm } = estimate.silence(now);
    if (alarm && now < HEALTHY) alarms = 1;
    if (now >= HEALTHY && (alarm || now > 2 * HEALTHY)) return { alarms, expected: (now - HEALTHY) * RATE };
  }
}

const alarm: Experiment = {
  id: "alarm",
  title: "Alarm for conversions that no longer get through: false ones in 500 conversions, and expected conversions until the right one",
  runs: 1000,
  settings: Object.keys(laws),
  algorithms: ["silence"],
  figures: [],
  async run({ setting, run }): Promise<readonly Curve[]> {
    const { alarms, expected } = silences(laws[setting], stream("beyond", "alarm", setting, run));
    return [
      { metric: "false alarms", at: [HEALTHY], values: [alarms] },
      { metric: "expected conversions until the alarm", at: [HEALTHY], values: [expected] },
    ];
  },
};

export const paper: Paper = {
  id: "beyond",
  title: "Beyond the papers: policies and estimates that learn the delay",
  experiments: [vernade, heavyTailed, bootstrap, digits, ...linearOptions, delays, alarm, rhythm, ...gaussianProcesses, coverage],
};

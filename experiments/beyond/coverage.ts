// Coverage of the off-policy estimators' intervals in a world whose truth is known. This experiment reproduces no paper.
import { evaluate, type LoggedDecision, otfLinTs, Recommender } from "afterclick";
import { isTooFew, vectorAt } from "afterclick/research";
import { geometric } from "../../src/simulation/delay-law.ts";
import { type Stream, stream } from "../../src/simulation/stream.ts";
import type { Curve, Experiment, Task } from "../runs/experiment.ts";

const CONTEXTS = 20;
const ACTIONS = 5;
const CONTEXT_FEATURES = 4;
const DIMENSION = CONTEXT_FEATURES + ACTIONS;
const DECISIONS = 2000;
const HORIZON_MS = 1000;

interface Setting {
  /** Range of the logging policy's log-odds. 0 is uniform. */
  readonly sharpness: number;
  /** Mean chance of a conversion. */
  readonly rate: number;
  /** In ms. If absent, conversions come at once. */
  readonly meanDelay?: number;
}

const settings: Record<string, Setting> = {
  "uniform log": { sharpness: 0, rate: 0.1 },
  "skewed log": { sharpness: 2, rate: 0.1 },
  "more skewed log": { sharpness: 4, rate: 0.1 },
  "skewed log, few conversions": { sharpness: 2, rate: 0.03 },
  "uniform log, delays": { sharpness: 0, rate: 0.1, meanDelay: 150 },
  "skewed log, delays": { sharpness: 2, rate: 0.1, meanDelay: 150 },
};

/** Per context: the actions' features, their conversion rates, and the action probabilities of the logging policy and of a given one. */
function world({ sharpness, rate }: Setting) {
  const draw = stream("coverage", "world");
  const table = (spread: number) => Array.from({ length: CONTEXTS }, () => softmax(Array.from({ length: ACTIONS }, () => spread * draw())));
  return {
    points: Array.from({ length: CONTEXTS }, () => pointsIn(Array.from({ length: CONTEXT_FEATURES }, () => draw() - 0.5))),
    rates: Array.from({ length: CONTEXTS }, () => Array.from({ length: ACTIONS }, () => rate * (0.2 + 1.6 * draw()))),
    given: table(4),
    logged: table(sharpness),
  };
}

type World = ReturnType<typeof world>;

function softmax(scores: readonly number[]): number[] {
  const odds = scores.map(Math.exp);
  const sum = odds.reduce((total, each) => total + each, 0);
  return odds.map((each) => each / sum);
}

/** Features of the actions in a context: the context's features and a one-hot action. The truth has interactions, which this model lacks. */
function pointsIn(features: readonly number[]): Float64Array {
  const rows = Array.from({ length: ACTIONS }, (_, action) => [
    ...features,
    ...Array.from({ length: ACTIONS }, (_, a) => Number(a === action)),
  ]);
  return Float64Array.from(rows.flat());
}

interface Drawn extends LoggedDecision {
  readonly context: number;
}

function drawLog({ points, rates, logged }: World, meanDelay: number | undefined, draw: Stream): Drawn[] {
  return Array.from({ length: DECISIONS }, (_, i) => {
    const context = draw.below(CONTEXTS);
    const index = pick(logged[context], draw());
    const shownAt = (i * HORIZON_MS) / DECISIONS;
    const delay = meanDelay === undefined ? 0 : geometric(meanDelay).draw(draw);
    const conversions = draw() < rates[context][index] ? [{ at: shownAt + delay, reward: 1 }] : [];
    return {
      context,
      shownAt,
      count: ACTIONS,
      points: points[context],
      index,
      probability: logged[context][index],
      conversions,
    };
  });
}

function pick(chances: readonly number[], uniform: number): number {
  let left = uniform;
  for (const [index, chance] of chances.entries()) {
    left -= chance;
    if (left < 0) return index;
  }
  return chances.length - 1;
}

/** Action probabilities in each context of a Thompson policy. It has learnt the first half of the log, and only conversions before its end. */
async function learntPolicy({ points }: World, log: readonly Drawn[], windowMs: number, seed: number): Promise<ArrayLike<number>[]> {
  const policy = otfLinTs({ dimension: DIMENSION, width: "theory", exploration: 0.25, widthCap: 1 });
  const recommender = await Recommender.create({ policy, window: { ms: windowMs }, seed });
  const half = log.slice(0, log.length / 2);
  const now = log[log.length / 2].shownAt;
  half.forEach(({ shownAt, points, index, count }, i) => {
    recommender.register({ impressionId: `${i}`, features: points && vectorAt(points, index, count), now: shownAt });
  });
  half.forEach(({ conversions = [] }, i) => {
    for (const { at, reward } of conversions) if (at < now) recommender.convert({ impressionId: `${i}`, at, reward });
  });
  const request = { round: half.length + 1, now, draws: 100 };
  return points.map((each) => recommender.policy.chances({ ...request, points: each }));
}

async function run({ setting, algorithm, run: repeat }: Task): Promise<readonly Curve[]> {
  const { meanDelay } = settings[setting];
  const made = world(settings[setting]);
  const log = drawLog(made, meanDelay, stream("coverage", setting, repeat));
  const windowMs = HORIZON_MS / 2;
  const chances = algorithm === "given" ? made.given : await learntPolicy(made, log, windowMs, repeat);
  const inTime = meanDelay === undefined ? 1 : geometric(meanDelay).cdf(windowMs);
  const expectedReward = (policy: readonly ArrayLike<number>[]): number =>
    policy.flatMap((each, context) => Array.from(each, (chance, a) => chance * made.rates[context][a])).reduce((a, b) => a + b, 0) *
    (inTime / CONTEXTS);
  const policy = (decision: LoggedDecision): ArrayLike<number> => chances[(decision as Drawn).context];
  const evaluation = await evaluate({ log, policy, asOf: HORIZON_MS, window: { ms: windowMs } });
  const truth = expectedReward(chances);
  const metric = (name: string, value: number): Curve => ({ metric: name, at: [DECISIONS], values: [value] });
  return (["logged", "ips", "snips", "doublyRobust"] as const).flatMap((name) => {
    const figure = evaluation[name];
    if (isTooFew(figure)) return [];
    const { value, low, high } = figure;
    const known = name === "logged" ? expectedReward(made.logged) : truth;
    return [
      metric(`${name} covers (%)`, 100 * Number(low <= known && known <= high)),
      metric(`${name} over truth`, value / known),
      metric(`${name} width over truth`, (high - low) / known),
    ];
  });
}

export const coverage: Experiment = {
  id: "intervals",
  title: "Off-policy evaluation: how often nominal 95 % intervals hold the truth",
  runs: 1000,
  settings: Object.keys(settings),
  algorithms: ["given", "learnt"],
  figures: [],
  run,
};

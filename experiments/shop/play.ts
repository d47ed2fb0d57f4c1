import type { Points } from "afterclick/research";
import { vectorAt } from "afterclick/research";
import { cumulative } from "../../src/simulation/stream.ts";
import type { Curve } from "../runs/experiment.ts";
import type { Learner } from "./learner.ts";
import { DAY_MS, type Shop, type Visit } from "./shop.ts";

/**
 * The feedback that a learner gets, and its time.
 *
 * - `delivered`: impressions at once, conversions when they are delivered, with their time.
 * - `as zero`: the same, but each conversion is said to have come at once. The learner sees no reason to doubt a silent impression.
 * - `waiting`: an impression and its outcome together, once nothing more can come.
 * - `no delay`: an impression and its outcome together, at once.
 */
export type Feedback = "delivered" | "as zero" | "waiting" | "no delay";

interface Impression {
  readonly id: string;
  readonly index: number;
  readonly features: Float64Array;
  readonly shownAt: number;
  /** What comes inside the window, in order: a conversion, and a refund. */
  readonly outcomes: readonly Outcome[];
}

/** The reward of an impression from a time on. */
interface Outcome {
  readonly at: number;
  readonly reward: number;
}

/** The features of all products for a visitor. */
export type Featurize = (visit: Pick<Visit, "context" | "points">) => Points;

export interface Played {
  /** The chosen product of each round. */
  readonly choices: Int32Array;
  /** The expected reward of the chosen product, in each round. */
  readonly expected: Float64Array;
  /** The expected reward of the best product less that of the chosen one, in each round. */
  readonly regret: Float64Array;
}

/** Day 1 of 1970. Times are positive. */
const START_MS = DAY_MS;

/** Plays a learner in a shop. */
export function play(learner: Learner, shop: Shop, featurize: Featurize, feedback: Feedback): Played {
  const { horizon, stepMs, products } = shop;
  const choices = new Int32Array(horizon);
  const expected = new Float64Array(horizon);
  const regret = new Float64Array(horizon);
  const due: (() => void)[][] = [];
  const later: Later = (time, event) => {
    const round = Math.ceil((time - START_MS) / stepMs);
    due[round] ??= [];
    due[round].push(event);
  };
  const meet = (round: number, now: number): { visit: Visit; points: Points; index: number } => {
    for (;;) {
      const visit = shop.visit(round);
      const points = featurize(visit);
      const index = learner.choose(points, now, round);
      if (visit.logged === undefined || visit.logged === index) return { visit, points, index };
    }
  };
  for (let round = 1; round <= horizon; round++) {
    const shownAt = START_MS + round * stepMs;
    for (const event of due[round] ?? []) event();
    delete due[round];
    const { visit, points, index } = meet(round, shownAt);
    const values = valuesOf(visit);
    choices[round - 1] = index;
    expected[round - 1] = values[index];
    regret[round - 1] = greatest(values) - values[index];
    const features = vectorAt(points, index, products.length);
    tell[feedback](learner, { id: `${round}`, index, features, shownAt, outcomes: outcomesOf(shop, visit, index, shownAt) }, shop, later);
  }
  return { choices, expected, regret };
}

/** The expected reward of each product, after refunds. */
function valuesOf({ rates, amounts, refund }: Visit): ArrayLike<number> {
  if (!amounts) return rates;
  return Float64Array.from(rates, (rate, i) => rate * amounts[i] * (1 - (refund?.shares[i] ?? 0)));
}

/** Calls `event` before the first choice from `time` on. */
type Later = (time: number, event: () => void) => void;
type Tell = (learner: Learner, impression: Impression, shop: Shop, later: Later) => void;

function settle(learner: Learner, { id, outcomes, ...shown }: Impression, now: number): void {
  learner.show(id, { ...shown, now });
  const last = outcomes.at(-1);
  if (last) learner.convert(id, now, last.reward, 0);
}

/** @param asIfAt the time that the learner is told of the outcome at a place. */
function deliver(asIfAt: (impression: Impression, place: number) => number): Tell {
  return (learner, impression, shop, later) => {
    const { id, outcomes, shownAt, ...shown } = impression;
    learner.show(id, { ...shown, now: shownAt });
    outcomes.forEach(({ at, reward }, place) => {
      const convert = () => learner.convert(id, asIfAt(impression, place), reward, outcomes[place - 1]?.reward ?? 0);
      // The choice of a round knows what came before it, not what comes with it.
      later(Math.max(deliveredAt(shop, at), shownAt + 1), convert);
    });
  };
}

const tell: Readonly<Record<Feedback, Tell>> = {
  delivered: deliver(({ outcomes }, place) => outcomes[place].at),
  // A later report has a later time.
  "as zero": deliver(({ shownAt }, place) => shownAt + place),
  waiting(learner, impression, shop, later) {
    const closed = deliveredAt(shop, impression.shownAt + shop.windowMs);
    later(closed, () => settle(learner, impression, closed));
  },
  "no delay": (learner, impression) => settle(learner, impression, impression.shownAt),
};

function greatest(values: ArrayLike<number>): number {
  let most = values[0];
  for (let i = 1; i < values.length; i++) most = Math.max(most, values[i]);
  return most;
}

function outcomesOf({ groups, windowMs }: Shop, visit: Visit, index: number, now: number): Outcome[] {
  const { rates, luck, delaysMs, amounts, refund } = visit;
  const delay = delaysMs[groups?.[index] ?? 0];
  if (luck >= rates[index]) return [];
  const outcomes = [{ at: now + delay, reward: amounts?.[index] ?? 1 }];
  if (refund && refund.luck < refund.shares[index]) outcomes.push({ at: now + delay + refund.afterMs, reward: 0 });
  return outcomes.filter(({ at }) => at - now <= windowMs);
}

function deliveredAt({ batchMs }: Shop, at: number): number {
  return batchMs === undefined ? at : Math.ceil(at / batchMs) * batchMs;
}

/** Rounds of the curves. */
const POINTS = 100;
const WEEK_MS = 7 * DAY_MS;

/** The mean expected reward so far, by round. */
export function rewardCurve(metric: string, { expected }: Played): Curve {
  const total = cumulative(expected);
  const at = Array.from({ length: POINTS }, (_, i) => Math.round(((i + 1) * expected.length) / POINTS));
  return { metric, at, values: at.map((round) => total[round - 1] / round) };
}

/** Regret, mistakes, stuck runs and the traffic of slow products, each at the rounds of its curve. */
export function curvesOf({ choices, regret }: Played, shop: Shop): Curve[] {
  const { horizon, groups, stepMs, oneBest } = shop;
  const total = cumulative(regret);
  const mistakes = cumulative(regret.map((each) => Number(each > 0)));
  const at = Array.from({ length: POINTS }, (_, i) => Math.round(((i + 1) * horizon) / POINTS));
  const curves: Curve[] = [
    { metric: "cumulative regret", at, values: at.map((round) => total[round - 1]) },
    { metric: "share of mistakes", at, values: at.map((round) => mistakes[round - 1] / round) },
  ];
  if (oneBest) {
    const last = regret.subarray(horizon - horizon / 10);
    const right = last.filter((each) => each === 0).length;
    curves.push({ metric: "stuck", at: [horizon], values: [Number(right < last.length / 2)] });
  }
  if (!groups) return curves;
  const share = (from: number, to: number): number => {
    const shown = choices.subarray(from, to);
    return shown.filter((index) => groups[index] === 1).length / shown.length;
  };
  const week = Math.round(WEEK_MS / stepMs);
  const weeks = Array.from({ length: Math.floor(horizon / week) }, (_, i) => (i + 1) * week);
  curves.push({ metric: "share of slow products, by week", at: weeks, values: weeks.map((end) => share(end - week, end)) });
  curves.push({ metric: "share of slow products, from the second week on", at: [horizon], values: [share(week, horizon)] });
  return curves;
}

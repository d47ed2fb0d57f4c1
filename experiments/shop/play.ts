import type { Points } from "afterclick";
import { vectorAt } from "../../src/publication/featurizer.ts";
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
  /** The time of the conversion. Absent if none comes inside the window. */
  readonly at?: number;
}

/** The features of all products for a visitor. */
export type Featurize = (visit: Pick<Visit, "context" | "points">) => Points;

export interface Played {
  /** The chosen product of each round. */
  readonly choices: Int32Array;
  /** The rate of the best product less that of the chosen one, in each round. */
  readonly regret: Float64Array;
}

/** Day 1 of 1970. Times are positive. */
const START_MS = DAY_MS;

/** Plays a learner in a shop. */
export function play(learner: Learner, shop: Shop, featurize: Featurize, feedback: Feedback): Played {
  const { horizon, stepMs, products } = shop;
  const choices = new Int32Array(horizon);
  const regret = new Float64Array(horizon);
  const due: (() => void)[][] = [];
  const later: Later = (time, event) => {
    const round = Math.ceil((time - START_MS) / stepMs);
    due[round] ??= [];
    due[round].push(event);
  };
  for (let round = 1; round <= horizon; round++) {
    const shownAt = START_MS + round * stepMs;
    for (const event of due[round] ?? []) event();
    delete due[round];
    const visit = shop.visit(round);
    const points = featurize(visit);
    const index = learner.choose(points, shownAt, round);
    choices[round - 1] = index;
    regret[round - 1] = greatest(visit.rates) - visit.rates[index];
    const features = vectorAt(points, index, products.length);
    tell[feedback](learner, { id: `${round}`, index, features, shownAt, at: convertedAt(shop, visit, index, shownAt) }, shop, later);
  }
  return { choices, regret };
}

/** Calls `event` before the first choice from `time` on. */
type Later = (time: number, event: () => void) => void;
type Tell = (learner: Learner, impression: Impression, shop: Shop, later: Later) => void;

function settle(learner: Learner, { id, at, ...shown }: Impression, now: number): void {
  learner.show(id, { ...shown, now });
  if (at !== undefined) learner.convert(id, now);
}

/** @param asIfAt the time that the learner is told. */
function deliver(asIfAt: (impression: Required<Impression>) => number): Tell {
  return (learner, impression, shop, later) => {
    const { id, at, shownAt, ...shown } = impression;
    learner.show(id, { ...shown, now: shownAt });
    if (at === undefined) return;
    // The choice of a round knows what came before it, not what comes with it.
    later(Math.max(deliveredAt(shop, at), shownAt + 1), () => learner.convert(id, asIfAt({ ...impression, at })));
  };
}

const tell: Readonly<Record<Feedback, Tell>> = {
  delivered: deliver(({ at }) => at),
  "as zero": deliver(({ shownAt }) => shownAt),
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

function convertedAt({ groups, windowMs }: Shop, { rates, luck, delaysMs }: Visit, index: number, now: number): number | undefined {
  const delay = delaysMs[groups?.[index] ?? 0];
  return luck < rates[index] && delay <= windowMs ? now + delay : undefined;
}

function deliveredAt({ batchMs }: Shop, at: number): number {
  return batchMs === undefined ? at : Math.ceil(at / batchMs) * batchMs;
}

/** Rounds of the curves. */
const POINTS = 100;
const WEEK_MS = 7 * DAY_MS;

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

import type { LoggedDecision } from "afterclick";
import { solved } from "./dense.ts";

/** A decision among candidates that are given as numbers, if they have features. */
export interface PlainDecision extends Omit<LoggedDecision, "points"> {
  readonly points?: Float64Array;
}

/** Input of the plain evaluation. Decisions are in order of time, and all were shown by `asOf`. */
export interface PlainRequest {
  readonly log: readonly PlainDecision[];
  readonly policy: (decision: PlainDecision, place: number) => readonly number[];
  readonly asOf: number;
  readonly windowMs: number;
  readonly split: number;
  readonly reward: { readonly min: number; readonly max: number };
  /** Share of conversions that have arrived by an age. Default: the product limit of the log's conversions. */
  readonly maturity?: (age: number) => number;
}

interface SeenConversion {
  readonly place: number;
  readonly delay: number;
  readonly bound: number;
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);

/** F(age): the product, over delays above the age, of the share of smaller delays among conversions that could have had this delay. */
export function productLimit(seen: readonly SeenConversion[], age: number, weightOf: (i: number) => number = () => 1): number {
  const later = [...new Set(seen.map(({ delay }) => delay))].filter((delay) => delay > age);
  const total = (of: (each: SeenConversion) => boolean): number => sum(seen.map((each, i) => (of(each) ? weightOf(i) : 0)));
  return later.reduce((product, u) => {
    return product * (1 - total(({ delay }) => delay === u) / total(({ delay, bound }) => delay <= u && u <= bound));
  }, 1);
}

/** Twice the log likelihood ratio of a mean of 0: the maximum over x of sum log(1 + x m), where no 1 + x m is negative. */
function deviance(moments: readonly number[], extremes: readonly number[]): number {
  const [low, high] = [Math.min(0, ...moments, ...extremes), Math.max(0, ...moments, ...extremes)];
  if (low === 0 || high === 0) return low === high ? 0 : Number.POSITIVE_INFINITY;
  let [from, to] = [-1 / high, -1 / low];
  for (let step = 0; step < 60; step++) {
    const x = (from + to) / 2;
    if (sum(moments.map((m) => m / (1 + x * m))) > 0) from = x;
    else to = x;
  }
  return 2 * sum(moments.map((m) => Math.log(1 + ((from + to) / 2) * m)));
}

/** 97.5 % quantile of Student's t, by its expansion in 1 / freedom. */
export function studentAt975(freedom: number): number {
  const z = 1.959963984540054;
  return z + (z ** 3 + z) / (4 * freedom) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2);
}

/**
 * The ratio of two sums with its interval: the extreme ratios whose root of the deviance is at most the quantile of Student's t, with twice
 * as many degrees of freedom as there are effective terms.
 */
function interval(terms: readonly { value: number; least: number; most: number; share: number }[]) {
  const value = sum(terms.map((each) => each.value)) / sum(terms.map(({ share }) => share));
  const of = (ratio: number): number => {
    const moments = terms.map((each) => each.value - each.share * ratio);
    const extremes = terms.flatMap(({ least, most, share }) => [least - share * ratio, most - share * ratio]);
    return deviance(moments, extremes);
  };
  const own = terms.map((each) => each.value - each.share * value);
  const effective = sum(own.map((m) => m * m)) ** 2 / sum(own.map((m) => m ** 4)) || terms.length;
  const limit = studentAt975(2 * effective) ** 2;
  const end = (side: number): number => {
    let [inside, outside] = [0, 1];
    while (of(value + side * outside) < limit) outside *= 2;
    for (let step = 0; step < 32; step++) {
      const middle = (inside + outside) / 2;
      if (of(value + side * middle) < limit) inside = middle;
      else outside = middle;
    }
    return value + side * inside;
  };
  return { value, low: end(-1), high: end(1) };
}

/** Expected reward of each candidate by ridge regression on decisions and rewards, or by their mean without features. */
function rewardModel(seen: readonly { decision: PlainDecision; reward: number }[], { min, max }: PlainRequest["reward"]) {
  const within = (value: number): number => Math.min(Math.max(value, min), max);
  const rowOf = ({ points, count }: PlainDecision, i: number): number[] => {
    const d = (points?.length ?? 0) / count;
    return Array.from((points as Float64Array).subarray(i * d, (i + 1) * d));
  };
  const d = seen[0]?.decision.points ? seen[0].decision.points.length / seen[0].decision.count : 0;
  if (d === 0) {
    const mean = within(sum(seen.map(({ reward }) => reward)) / Math.max(seen.length, 1));
    return ({ count }: PlainDecision): number[] => Array(count).fill(mean);
  }
  const rows = seen.map(({ decision, reward }) => ({ x: rowOf(decision, decision.index), reward }));
  const v = Float64Array.from({ length: d * d }, (_, at) => {
    const [i, j] = [Math.floor(at / d), at % d];
    return Number(i === j) + sum(rows.map(({ x }) => x[i] * x[j]));
  });
  const theta = solved(
    v,
    Array.from({ length: d }, (_, i) => sum(rows.map(({ x, reward }) => reward * x[i]))),
  );
  return (decision: PlainDecision): number[] =>
    Array.from({ length: decision.count }, (_, i) => within(sum(rowOf(decision, i).map((each, j) => each * theta[j]))));
}

/** The four estimates with their intervals, by their definitions. */
export function plainEvaluation({ log, policy, asOf, windowMs, split, reward, maturity }: PlainRequest) {
  const seen = log.flatMap(({ shownAt, conversions = [] }, place): SeenConversion[] => {
    const bound = Math.min(asOf - shownAt, windowMs);
    const said = conversions.filter(({ reward }) => reward !== 0);
    return said.map(({ at }) => ({ place, delay: at - shownAt, bound })).filter(({ delay }) => delay <= bound);
  });
  const matured = (age: number): number => (maturity ? (age >= windowMs ? 1 : maturity(age)) : productLimit(seen, age));
  const all = log.map((decision, place) => {
    const age = Math.min(asOf - decision.shownAt, windowMs);
    const inTime = (decision.conversions ?? []).filter(({ at }) => at - decision.shownAt <= age);
    return { decision, place, age, maturity: matured(age), reward: sum(inTime.map(({ reward }) => reward)) };
  });
  // Rewards of several conversions may exceed the range together.
  const rewards = all.map((each) => each.reward);
  const range = { min: Math.min(reward.min, ...rewards), max: Math.max(reward.max, ...rewards) };
  const cut = Math.floor(split * log.length);
  const old = all.filter((each) => each.maturity >= 0.2);
  const learnt = old.filter(({ place }) => place < cut).map((each) => ({ ...each, reward: each.reward / each.maturity }));
  const expected = rewardModel(learnt, range);
  const rows = old
    .filter(({ place }) => place >= cut)
    .map((each) => {
      const { decision, place } = each;
      const [chances, means] = [policy(decision, place), expected(decision)];
      const ofPolicy = sum(means.map((mean, i) => mean * chances[i]));
      return { ...each, weight: chances[decision.index] / decision.probability, expected: means[decision.index], ofPolicy };
    });
  type Row = (typeof rows)[number];
  /** Number of decisions for which one of a sampled log stands. */
  const standing = ({ decision: { kept = 1 } }: Row): number => 1 / kept;
  const estimate = (weight: (row: Row) => number, base: (row: Row) => number, share: (row: Row) => number) => {
    const total = (weightOf: (i: number) => number): number =>
      sum(
        rows.map((row) => (standing(row) * weight(row) * row.reward) / (maturity ? row.maturity : productLimit(seen, row.age, weightOf))),
      );
    // Derivative of the sum by the weight of a conversion in the product limit, as a central difference.
    const step = 1e-4;
    const slope = (i: number): number => (total((j) => 1 + step * Number(i === j)) - total((j) => 1 - step * Number(i === j))) / (2 * step);
    const drift = log.map(() => 0);
    if (!maturity) for (const [i, { place }] of seen.entries()) drift[place] += slope(i);
    const terms = drift.map((each) => ({ value: each, least: each, most: each, share: 0 }));
    for (const row of rows) {
      const own = (weight(row) * row.reward) / row.maturity;
      const term = terms[row.place];
      term.value += standing(row) * (base(row) + own);
      term.least += standing(row) * (base(row) + Math.min(own, weight(row) * range.min));
      term.most += standing(row) * (base(row) + Math.max(own, weight(row) * range.max));
      term.share = standing(row) * share(row);
    }
    return interval(terms);
  };
  return {
    logged: estimate(
      () => 1,
      () => 0,
      () => 1,
    ),
    ips: estimate(
      ({ weight }) => weight,
      () => 0,
      () => 1,
    ),
    snips: estimate(
      ({ weight }) => weight,
      () => 0,
      ({ weight }) => weight,
    ),
    doublyRobust: estimate(
      ({ weight }) => weight,
      (row) => row.ofPolicy - row.weight * row.expected,
      () => 1,
    ),
    decisions: { learnt: cut, evaluated: rows.length, tooYoung: log.length - cut - rows.length },
  };
}

import { delayLinTs, delayLinUcb, Recommender, type Window } from "afterclick";
import type { DelayLinUcbOptions } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { dot, type PlainPrior, PlainRidge } from "../../../support/reference/plain-ridge.ts";
import { dyadicVectors, stream } from "../../../support/scenario.ts";

// Compares the delay-aware linear policies with a plain model: lists of all impressions, with sums and solves by definition.

type Plain = ConstructorParameters<typeof PlainRidge>[0];

const WIDE = 0.7;
const logistic = (x: number): number => 1 / (1 + Math.exp(-x));

/** Plays a history with delays into both models, and compares them every few impressions. */
async function compared(
  options: Partial<DelayLinUcbOptions>,
  window: Plain["window"],
  { rounds = 150, priors = {} }: { readonly rounds?: number; readonly priors?: Readonly<Record<number, PlainPrior>> } = {},
): Promise<void> {
  const { forgetting, ...others } = options;
  const settings = { dimension: 3, ...options, exploration: WIDE };
  const { policy } = await Recommender.create({ policy: delayLinUcb(settings), window: window as Window });
  const plain = new PlainRidge({ dimension: 3, ...others, ...(typeof forgetting === "object" && forgetting), window } as Plain);
  const random = stream(rounds);
  const unit = window !== "none" && "ms" in window ? window.ms / 64 : 1;
  const due = new Map<number, (() => void)[]>();
  const points = [...dyadicVectors(random, 2, 3), [1, 0.5, -0.25]];
  agree(policy, plain, points, 0);
  for (let round = 1; round <= rounds; round++) {
    const prior = priors[round];
    if (prior) {
      policy.prior(prior.points.map((features, i) => ({ features: [...features], sales: prior.sales[i], views: prior.views[i] })));
      plain.prior(prior);
      agree(policy, plain, points, round - 1);
    }
    for (const convert of due.get(round) ?? []) convert();
    const x = [1, ...dyadicVectors(random, 1, 2)[0]];
    const time = unit * round;
    const impression = policy.append({ features: x, round, now: time });
    const other = plain.append(x, time);
    const chance = 0.35 + 0.5 * x[1];
    const reward = Math.floor(4096 * random()) / 4096;
    const when = round + 1 + Math.floor(25 * random() * random());
    const convert = (): void => {
      policy.observe({ impression, reward });
      plain.observe(other, reward);
      if (when % 5 > 0) return;
      policy.observe({ impression, reward: reward / 2, previous: reward });
      plain.observe(other, reward / 2);
    };
    if (random() < chance) due.set(when, [...(due.get(when) ?? []), convert]);
    if (round % 10 === 0 || round < 5) agree(policy, plain, points, round);
  }
}

/** The factor on deviations after a number of impressions. */
function widening(plain: PlainRidge, impressions: number): number {
  return WIDE * Math.sqrt(Math.log(2 + impressions / Math.max(plain.features(), 1)));
}

function agree(policy: Recommender["policy"], plain: PlainRidge, points: number[][], round: number): void {
  const { mean, variance } = policy.predict(points);
  const candidates = points.map((features) => ({ features }));
  const choices = policy.choose({ candidates, round: round + 1, limit: points.length });
  for (const [i, point] of points.entries()) {
    const { mean: level, deviation } = plain.latent(point);
    const { mean: stated, width, score } = choices.find(({ index }) => index === i) as (typeof choices)[number];
    const rate = logistic(level);
    const bernoulli = plain.options.rewards === "bernoulli";
    expect(mean[i]).toBeCloseTo(bernoulli ? rate : level, 9);
    expect(Math.sqrt(variance[i])).toBeCloseTo(deviation * (bernoulli ? rate * (1 - rate) : 1), 9);
    expect(stated).toBeCloseTo(mean[i], 9);
    const bonus = widening(plain, round) * deviation;
    expect(width).toBeCloseTo(bernoulli ? logistic(level + bonus) - rate : bonus, 9);
    expect(score).toBeCloseTo(stated + width, 9);
  }
}

describe("a delay-aware linear policy is the regression of its definition", () => {
  it.each<[string, Partial<DelayLinUcbOptions>]>([
    ["by evidence", {}],
    ["by evidence, of noise that is thought to be small, and a greater ridge", { rewardVariance: 0.01, ridge: 0.5 }],
    ["by a fixed ridge", { shrinkage: "fixed" }],
    ["forgetting", { forgetting: { halfLife: 20 } }],
    ["of log-odds", { rewards: "bernoulli" }],
    ["of log-odds by evidence", { rewards: "bernoulli", shrinkage: "evidence" }],
    ["of log-odds, forgetting", { rewards: "bernoulli", forgetting: { halfLife: 30 } }],
    ["with a constant and blocks", { blocks: [0, 1, 4] }],
    ["with blocks of effects and of shared interactions", { blocks: [1, 2, 3] }],
    ["with one block that has its level found", { blocks: [1, 1, 1] }],
    ["with interactions and a level", { blocks: [1, 1, 4] }],
    ["with blocks and a fixed ridge", { blocks: [0, 3, 4], shrinkage: "fixed" }],
    ["with blocks, forgetting", { blocks: [0, 3, 4], forgetting: { halfLife: 20 } }],
    ["of log-odds with blocks, by evidence", { blocks: [0, 2, 255], rewards: "bernoulli", shrinkage: "evidence" }],
    [
      "of log-odds with blocks, by evidence, forgetting",
      { blocks: [1, 2, 4], rewards: "bernoulli", shrinkage: "evidence", forgetting: { halfLife: 30 } },
    ],
  ])("%s", async (_, options) => {
    await compared(options, { rounds: 40 });
  });

  it.each<[string, Plain["window"], number]>([
    ["a window of as many rounds as two youngest cohorts have", { rounds: 130 }, 220],
    ["a window of ms", { ms: 1 << 15 }, 110],
    ["no window", "none", 90],
  ])("in %s", async (_, window, rounds) => {
    await compared({}, window, { rounds });
  });

  it.each<[string, Partial<DelayLinUcbOptions>]>([
    ["without blocks", {}],
    ["by a fixed ridge", { shrinkage: "fixed" }],
    ["with a constant and blocks", { blocks: [0, 1, 4] }],
    ["with a constant and a shared interaction", { blocks: [0, 1, 3] }],
    ["with interactions and a level that is found", { blocks: [1, 1, 4] }],
    ["with blocks, forgetting", { blocks: [0, 3, 4], forgetting: { halfLife: 20 } }],
    ["of log-odds", { rewards: "bernoulli" }],
    ["of log-odds with blocks, by evidence", { blocks: [0, 1, 3], rewards: "bernoulli", shrinkage: "evidence" }],
  ])("with a prior, early, and another one later: %s", async (_, options) => {
    const points = [[1, 0.5, 0], [1, -0.25, 0.5], [1, 0.125, -0.5], [1, 0, 0]]; // biome-ignore format: one line
    const early = { points, sales: [30, 4, 0, 11], views: [3, 1, 2, 0] };
    const late = { points: points.slice(1), sales: [2, 40, 3000], views: [200, 100, 50_000] };
    await compared(options, { rounds: 40 }, { priors: { 1: early, 62: late } });
  });
});

describe("a delay-aware linear policy", () => {
  const points = [
    [1, 0.5, -0.25],
    [0.5, -1, 0.75],
  ];

  /** Both models after so many impressions, in a window of 40 rounds, with some conversions. */
  async function both(factory: typeof delayLinTs, options: Partial<DelayLinUcbOptions>, rounds: number, dimension = 3) {
    const window = { rounds: 40 };
    const recommender = await Recommender.create({ policy: factory({ dimension, ...options }), window, seed: 3 });
    const plain = new PlainRidge({ dimension, ...options, window } as Plain);
    const random = stream(rounds);
    const pairs = Array.from({ length: rounds }, (_, i) => {
      const features = dyadicVectors(random, 1, dimension)[0];
      return [recommender.policy.append({ features, round: i + 1 }), plain.append(features, i + 1)] as const;
    });
    return { policy: recommender.policy, plain, pairs };
  }

  it("learns delays as they are told, corrected and taken back", async () => {
    const { policy, plain, pairs } = await both(delayLinUcb, {}, 50);
    const check = (): void => {
      const { mean } = policy.predict(points);
      for (const [i, point] of points.entries()) expect(mean[i]).toBeCloseTo(plain.latent(point).mean, 9);
    };
    for (const [place, delay] of [3, 5, 1, 8, 0, 2].entries()) {
      const [impression, other] = pairs[7 * place + 2];
      policy.observe({ impression, reward: 0.75, delay: { after: delay } });
      plain.observe(other, 0.75, delay);
    }
    check();
    const means = [policy.predict(points).mean];
    for (const [before, after] of [[1, 12] as const, [12, undefined] as const]) {
      const [impression, other] = pairs[16];
      const reward = after === undefined ? 0 : 0.5;
      policy.observe({ impression, reward, previous: other.reward, delay: { before, after } });
      Object.assign(other, { delay: after, reward });
      check();
      means.push(policy.predict(points).mean);
    }
    expect(new Set(means.map(String)).size).toBe(3);
  });

  it("of more than 128 features takes its mean anew with every second impression, and moves it in between", async () => {
    const dimension = 130;
    const { policy, plain, pairs } = await both(delayLinUcb, {}, 6, dimension);
    const point = dyadicVectors(stream(1), 1, dimension)[0];
    const mean = (): number => policy.predict([point]).mean[0];
    for (const place of [1, 3, 5]) {
      policy.observe({ impression: pairs[place][0], reward: 0.5 });
      plain.observe(pairs[place][1], 0.5);
    }
    const show = (round: number): number[] => {
      const features = dyadicVectors(stream(round), 1, dimension)[0];
      policy.append({ features, round });
      plain.append(features, round);
      return features;
    };
    show(7);
    show(8);
    const taken = plain.inverse();
    const parameter = plain.parameter();
    expect(mean()).toBeCloseTo(plain.latent(point).mean, 9);
    // The inverse of a matrix and x x^T, by Sherman and Morrison.
    const x = show(9);
    const u = taken.map((row) => dot(row, x));
    const own = 1 + dot(x, u);
    const before = dot(point, parameter) - (dot(point, u) * dot(x, parameter)) / own;
    expect(mean()).toBeCloseTo(before, 9);
    policy.observe({ impression: pairs[4][0], reward: 0.5 });
    plain.observe(pairs[4][1], 0.5);
    const moved = taken.map((row, i) => dot(row, pairs[4][1].x) - (u[i] * dot(u, pairs[4][1].x)) / own);
    expect(mean()).toBeCloseTo(before + 0.5 * dot(moved, point), 9);
    show(10);
    expect(mean()).toBeCloseTo(plain.latent(point).mean, 9);
  });

  it("of more than 128 features and a fixed ridge has a mean that is a function of its sums", async () => {
    const { policy, plain, pairs } = await both(delayLinUcb, { shrinkage: "fixed" }, 5, 130);
    policy.observe({ impression: pairs[1][0], reward: 0.5 });
    plain.observe(pairs[1][1], 0.5);
    const { x } = pairs[4][1];
    expect(policy.predict([x]).mean[0]).toBeCloseTo(plain.latent(x).mean, 9);
  });

  it.each(["linear", "bernoulli"] as const)("draws about its mean, by its covariance: %s", async (rewards) => {
    const { policy, plain, pairs } = await both(delayLinTs, { rewards, exploration: WIDE }, 60);
    for (const place of [2, 9, 15, 30, 44]) {
      policy.observe({ impression: pairs[place][0], reward: 1 });
      plain.observe(pairs[place][1], 1);
    }
    const candidates = points.map((features) => ({ features }));
    const normals = [0.3, -1.2, 0.8];
    const factor = cholesky(plain.information());
    // Solves L^T y = z, from the last row up.
    const drawn: number[] = [];
    for (const i of [2, 1, 0])
      drawn[i] = (normals[i] - [0, 1, 2].reduce((sum, j) => (j > i ? sum + factor[j][i] * drawn[j] : sum), 0)) / factor[i][i];
    const one = policy.choose({ candidates, round: 61, normals, limit: 2 });
    for (const { index, score } of one) {
      expect(score).toBeCloseTo(plain.latent(points[index]).mean + widening(plain, 60) * plain.spread() * dot(drawn, points[index]), 9);
    }
    const draws = 2000;
    const uniforms = Array.from({ length: draws }, (_, i) => (i + 0.5) / draws);
    const scores = uniforms.map((each) => policy.choose({ candidates: [candidates[0]], round: 61, draws, uniforms: [each] })[0].score);
    const { mean, deviation } = plain.latent(points[0]);
    // Shared samples are in single precision.
    expect(scores.reduce((sum, each) => sum + each, 0) / draws).toBeCloseTo(mean, 7);
    const variance = scores.reduce((sum, each) => sum + (each - mean) ** 2, 0) / draws;
    expect(Math.sqrt(variance) / (widening(plain, 60) * deviation)).toBeCloseTo(1, 1);
  });
});

/** The lower Cholesky factor: L with L L^T = a. */
function cholesky(a: readonly (readonly number[])[]): number[][] {
  const factor = a.map((row) => row.map(() => 0));
  for (const [i, row] of a.entries()) {
    for (let j = 0; j <= i; j++) {
      const left = row[j] - dot(factor[i], factor[j]);
      factor[i][j] = i === j ? Math.sqrt(left) : left / factor[j][j];
    }
  }
  return factor;
}

// One regression for each goal, and the value of an action as their product along the funnel.

import type { Core } from "../../core/core.ts";
import type { DrawStage } from "../../core/core-draws.ts";
import type { SnapshotReader, SnapshotWriter } from "../../values/snapshot.ts";
import type { CandidateRows, Ranked, SampleRequest } from "../candidates.ts";
import { isInMs, type Moment, type Window } from "../delay/window.ts";
import type { Average, Interval } from "../linear/interval.ts";
import { MaturingRidge, type MaturingRidgeOptions } from "../linear/maturing-ridge.ts";
import type { RateChange } from "../linear/rate-changes.ts";
import { drawnList } from "../linear/ridge.ts";
import type { AppendedImpression, Moments, ReportedDelay } from "../posterior.ts";
import { type Scores, sampled } from "../ranking.ts";
import type { GoalChange, LearntGoal } from "./goal.ts";
import { goalsOf, type ProductGoals } from "./product-goals.ts";
import { folded, type Progress, progressOf, type Stage, stagesOf } from "./stages.ts";
import { productOf, sumOf, type Uncertain } from "./uncertain.ts";

/**
 * The expected reward of one goal at a point, and its average over the impressions of the product: of those that reached the goal before
 * it, if there is one.
 */
export interface Factor extends Interval {
  readonly goal: string;
  readonly after?: string;
  /** Set for the amount of those that reached the goal. The other factor of such a goal is the share that reaches it. */
  readonly amount?: true;
  /** Number of amounts so far that were above the greatest one that counts wholly, and the part of their sum that does not count. */
  readonly clipped?: number;
  readonly clippedSum?: number;
  /** Amounts that the product lacks for an interval: fewer than ten have come, so `high` is infinite. Absent if there are enough. */
  readonly missing?: number;
}

/** Rewards of a stage that another one comes after. */
const REACHED = { min: 0, max: 1 };
/** Options of the regression of amounts. */
const AMOUNTS = { rewards: "linear", forgetting: null } as const;

/**
 * One regression for each goal, each with its own distribution of delays.
 *
 * The value of x is the sum over goals of their weight times E[goal | x]. A goal after another is a stage of a funnel:
 * E[purchase | x] = E[click | x] E[purchase | click, x]. The second factor is learnt from the impressions that were clicked, from the click
 * on: its impressions are the clicks, and its delays are counted from them. So the early signal, which has matured, carries what it
 * knows, and nothing is assumed about the ratio of purchases to clicks.
 *
 * Regressions are independent, so the variance of a product is exact (see `productOf`).
 */
export class GoalRidges {
  /** As `MaturingRidge.orderInvariant`, of all regressions. */
  readonly orderInvariant: boolean;
  readonly #stages: readonly Stage[];
  /** One for each stage that matters. */
  readonly #ridges: readonly (MaturingRidge | undefined)[];
  readonly #window: Window;
  readonly #dimension: number;
  readonly #core: Core;

  constructor(core: Core, window: Window, options: MaturingRidgeOptions, goals: readonly LearntGoal[]) {
    this.#core = core;
    this.#window = window;
    this.#dimension = options.dimension;
    this.#stages = stagesOf(goals);
    const { forgetting } = options;
    if (forgetting !== null && forgetting !== "changes" && goals.some(({ after }) => after !== undefined)) {
      throw new RangeError('forgetting: expected "changes" or null with a goal after another, got a half-life');
    }
    this.#ridges = this.#stages.map(({ goal, amounts, children, matters }) => {
      if (!matters) return undefined;
      // Amounts are known with the conversion, so nothing of them is pending.
      if (amounts) return new MaturingRidge(core, goal.window, { ...options, ...AMOUNTS, amounts: goal.value, knownDelay: 0 });
      const reward = children.length > 0 ? REACHED : options.reward;
      return new MaturingRidge(core, goal.window, { ...options, reward, knownDelay: goal.delay });
    });
    this.orderInvariant = this.#used().every(([ridge]) => ridge.orderInvariant);
  }

  #used(): [MaturingRidge, Stage, number][] {
    return this.#stages.flatMap((stage, i): [MaturingRidge, Stage, number][] => {
      const ridge = this.#ridges[i];
      return ridge ? [[ridge, stage, i]] : [];
    });
  }

  /** `examination`: the weight of the place. An impression that reached a stage was examined, so later stages count it wholly. */
  append(features: Float64Array, moment: Moment, examination: number): number {
    let slot = 0;
    for (const [ridge, { parent }] of this.#used()) {
      if (parent === undefined) slot = ridge.append(features, moment, examination);
      else ridge.advance(moment);
    }
    return slot;
  }

  observe(
    impression: AppendedImpression,
    _reward: number,
    _previous: number | undefined,
    _delay: ReportedDelay | undefined,
    goals: GoalChange | undefined,
  ): void {
    const { before, after } = goals as GoalChange;
    const [earlier, now] = [before, after].map((outcomes) => progressOf(this.#stages, outcomes));
    for (const [ridge, , i] of this.#used()) this.#learn(ridge, impression, earlier[i], now[i]);
  }

  /** Replaces what an impression told of a stage. */
  #learn(ridge: MaturingRidge, impression: AppendedImpression, before: Progress | undefined, after: Progress | undefined): void {
    if (before && after && before.start === after.start) {
      if (before.value === after.value && before.delay === after.delay) return;
      ridge.observe(this.#started(impression, before), after.value ?? 0, before.value, { before: before.delay, after: after.delay });
      return;
    }
    if (before) ridge.remove(this.#started(impression, before), before.value, before.delay);
    if (!after) return;
    const started = this.#started(impression, after);
    // Only impressions move the clock, so that it does not depend on the order of events.
    ridge.append(impression.features, started, 1, impression);
    if (after.value !== undefined) ridge.observe(started, after.value, undefined, { after: after.delay });
  }

  /** The impression as a stage counts it: shown when the stage started. */
  #started(impression: AppendedImpression, { start }: Progress): AppendedImpression {
    if (start === 0) return impression;
    const { features, slot, round, now } = impression;
    return isInMs(this.#window) ? { features, slot, round, now: (now as number) + start } : { features, slot, round: round + start };
  }

  /** Products that sell more reach the first stages more often. Later stages are shares of these. */
  prior(points: Float64Array, sales: Float64Array, views: Float64Array): void {
    for (const [ridge, { parent }] of this.#used()) if (parent === undefined) ridge.prior(points, sales, views);
  }

  regroup(blocks: readonly number[]): void {
    for (const [ridge] of this.#used()) ridge.regroup(blocks);
  }

  /** As `MaturingRidge.change`: the most probable of all goals. */
  get change(): RateChange | undefined {
    const changes = this.#used().flatMap(([{ change }]) => change ?? []);
    return changes.reduce<RateChange | undefined>((most, each) => (most && most.probability >= each.probability ? most : each), undefined);
  }

  /** Scores are draws of the value: each draw multiplies draws of the factors. */
  sampleScores(request: SampleRequest, exploration: number): Scores | Ranked {
    const used = this.#used();
    const normalsOf = (place: number) => interleaved(request, this.#dimension, place, used.length);
    if (request.draws > 0 && used.every(([ridge]) => ridge.scores.isLinear)) {
      const stages = used.map(([ridge, { weight, parent, children }], place): DrawStage => {
        const own = ridge.scores.stage(request, exploration, normalsOf(place));
        return { ...own, weight, parent: used.findIndex(([, , i]) => i === parent), isProbability: children.length > 0 };
      });
      return drawnList(this.#core, stages, request);
    }
    const samples = this.#stages.map((): Float64Array | undefined => undefined);
    used.forEach(([ridge, , i], place) => {
      samples[i] = ridge.scores.samples(request, exploration, normalsOf(place));
    });
    const values = folded<Float64Array>(this.#stages, (i, later) => {
      const { weight, children } = this.#stages[i];
      return (samples[i] as Float64Array).map((own, at) => {
        const inner = later.reduce((sum, each) => sum + each[at], weight);
        return (children.length > 0 ? probable(own) : own) * inner;
      });
    });
    const [first, ...others] = values;
    return sampled(
      first.map((own, at) => others.reduce((sum, each) => sum + each[at], own)),
      request,
    );
  }

  means(candidates: CandidateRows): Float64Array {
    return this.#combined(candidates.count, (ridge) => {
      const mean = ridge.means(candidates);
      return { mean, deviation: new Float64Array(mean.length) };
    }).mean;
  }

  upper(points: Float64Array, exploration: number): { readonly mean: Float64Array; readonly width: Float64Array } {
    const { mean, deviation } = this.#combined(points.length / this.#dimension, (ridge) => {
      const { mean, width } = ridge.upper(points, exploration);
      return { mean, deviation: width };
    });
    return { mean, width: deviation };
  }

  predict(points: Float64Array): Moments {
    return this.#combined(points.length / this.#dimension, (ridge) => ridge.predict(points));
  }

  #combined(count: number, momentsOf: (ridge: MaturingRidge) => Moments): Moments {
    const factors = this.#ridges.map((ridge) => {
      if (!ridge) return undefined;
      // Copied, because the next call may overwrite the moments.
      const { mean, deviation } = momentsOf(ridge);
      return { mean: mean.slice(), deviation: deviation.slice() };
    });
    const [mean, deviation] = [new Float64Array(count), new Float64Array(count)];
    for (let at = 0; at < count; at++) {
      const value = this.#value((i) => {
        const { mean, deviation } = factors[i] as Moments;
        return { mean: mean[at], below: deviation[at], above: deviation[at] };
      });
      mean[at] = value.mean;
      deviation[at] = value.above;
    }
    return { mean, deviation };
  }

  #value(factorOf: (stage: number) => Uncertain): Uncertain {
    const values = folded<Uncertain>(this.#stages, (i, later) => {
      const { weight, children } = this.#stages[i];
      const own = factorOf(i);
      const factor = children.length > 0 ? { ...own, mean: probable(own.mean) } : own;
      return productOf(factor, sumOf([{ mean: weight, below: 0, above: 0 }, ...later]));
    });
    return sumOf(values);
  }

  /**
   * See `Policy.interval`. A goal after another is counted per impression of the product: each impression that reached the goal before it
   * stands for as many as there are for one that did.
   */
  interval(points: Float64Array): Interval[] {
    const [{ mean }, all] = [this.predict(points), this.#products(points)];
    return Array.from(mean, (each, i) => ({ mean: each, ...all[i].value }));
  }

  /** See `Policy.factors`. */
  factors(points: Float64Array): Factor[][] {
    const all = this.#products(points);
    const parts = this.#used().map(([ridge, { goal, amounts }, i]) => ({
      ...{ i, goal: goal.name, mean: ridge.predict(points).mean.slice() },
      ...(amounts && { amount: true as const, clipped: ridge.clipped?.count, clippedSum: ridge.clipped?.sum }),
      ...(!amounts && goal.after !== undefined && { after: goal.after }),
    }));
    return all.map(({ factors, missing }, at) =>
      parts.map(({ i, mean, ...part }) => ({
        ...part,
        ...(missing[i] > 0 && { missing: missing[i] }),
        mean: mean[at],
        ...(factors[i] as Average),
      })),
    );
  }

  /** The averages of the product of each point. */
  #products(points: Float64Array): ProductGoals[] {
    const used = this.#used();
    const keys = used[0]?.[0].keys(points) ?? [];
    const averages = this.#ridges.map((ridge) => ridge?.averages());
    const known = new Map(keys.map((key) => [key, goalsOf(key, this.#stages, averages)]));
    return keys.map((key) => known.get(key) as ProductGoals);
  }

  /** The sums of each regression, in the order of the goals. */
  statistics(): Float64Array {
    const parts = this.#used().map(([ridge]) => ridge.statistics());
    const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  refactor(): void {
    for (const [ridge] of this.#used()) ridge.refactor();
  }

  /** Adds the sums of others with the same goals, which lose theirs. Call `refactor` afterwards. */
  merge(other: GoalRidges): void {
    this.#ridges.forEach((ridge, i) => void ridge?.merge(other.#ridges[i] as MaturingRidge));
  }

  save(writer: SnapshotWriter): void {
    for (const [ridge] of this.#used()) ridge.save(writer);
  }

  load(reader: SnapshotReader): void {
    for (const [ridge] of this.#used()) ridge.load(reader);
  }

  publish(writer: SnapshotWriter): void {
    for (const [ridge] of this.#used()) ridge.publish(writer);
  }

  loadPublished(reader: SnapshotReader): void {
    for (const [ridge] of this.#used()) ridge.loadPublished(reader);
  }
}

/** The share that reaches a stage. An estimate of it may be outside 0 to 1. */
function probable(share: number): number {
  return Math.min(Math.max(share, 0), 1);
}

/**
 * The normals of one of several regressions. The rows of all regressions take turns, so fewer rows are the first of more.
 */
function interleaved({ normals }: SampleRequest, dimension: number, place: number, count: number): SampleRequest["normals"] {
  return (wanted) => {
    const all = normals(wanted * count);
    const own = new Float64Array(wanted);
    for (let row = 0; row * dimension < wanted; row++) {
      const start = (row * count + place) * dimension;
      own.set(all.subarray(start, start + dimension), row * dimension);
    }
    return own;
  };
}

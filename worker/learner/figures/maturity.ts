// Figures about delays: pending impressions by age, laws of delays, and alarms for silence.

import { type DelayDistribution, DelayEstimate, type Expected, tooFew } from "afterclick/research";
import { reportTimeOf } from "../../../src/values/report-time.ts";
import { addedReports, completeUntil, lastUpload } from "../../domain/figures/reports.ts";
import { type Windows, windowOf } from "../../domain/model/goals.ts";
import type { TooFewFigure } from "../../protocol/figures.ts";
import type { Bar, Delay, Metrics } from "../../protocol/metrics-answer.ts";
import { type ModelCounts, meanTime, REACH, SETTLED } from "../../rpc/model-counts.ts";
import { type Cohort, closedAt, type History, knownAt, type Part, partOf } from "./known-part.ts";

/** Bars of the histogram of pending impressions by age. */
const AGES = 24;
/** Most points of the delay distribution that a page draws. */
const POINTS = 40;
/** Shares of conversions whose delays are stated, and the number of conversions with which a band can exclude the shares beyond. */
const QUANTILES = [
  { share: 0.25, needed: 10 },
  { share: 0.5, needed: 5 },
  { share: 0.75, needed: 10 },
  { share: 0.9, needed: 25 },
  { share: 0.95, needed: 50 },
];
const DAY_MS = 86_400_000;
/** Windows that are compared with the model's, in ms. */
const ADVISED = [1, 3, 7, 14, 30].map((days) => days * DAY_MS);
/** Conversions whose window has closed that a share needs: who still converts, what a window would catch. A band is then half of all. */
const FEW = { still: 5, window: 15 };
/** Standard normal quantile of a two-sided interval of 95 %. */
const NORMAL95 = 1.96;
/** Rounding of sums is no conversion. */
const ROUNDING = 1e-9;
/** Greatest chance at which no report since the last one is odd, of a source that does not report at once. */
const ODD = 0.01;

/**
 * Counts pending impressions by age, and estimates the delay distribution: that of the first conversions, and that of each declared goal
 * within its own window.
 *
 * Estimates are computed from counts on request. They are therefore right after a restart, a rollback, an erasure or a repeated delivery,
 * and they forget what the log forgets. Delays use the timestamps of the events. Figures are as of the moment until which these are
 * reported, except the silence: it uses the learner's clock, so any arriving conversion ends it.
 *
 * **Cost:** linear in the steps and cells that are counted: some thousands, however many impressions and conversions there are.
 */
export function maturity(counts: ModelCounts, config: Windows, now: number): Pick<Metrics, "pendingByAge" | "delay" | "goals"> {
  const { ms: windowMs } = config.window;
  const shown = counts.steps.map((step): Cohort => ({ ...step, shownAt: meanTime(step) }));
  const history = { shown, earlier: counts.earlier, windowMs, now };
  const goals = Object.entries(config.goals ?? {}).map(([goal, { value }]) => {
    const own = windowOf(config, goal);
    return { goal, windowMs: own, currency: value?.currency ?? null, delay: delayOf(history, partOf(counts.goals[goal], own)) };
  });
  // Whichever goal comes first may be one that is reported late.
  const until = Math.min(now, ...goals.flatMap(({ delay }) => delay?.completeUntil ?? []));
  return {
    pendingByAge: pendingByAge(shown, windowMs, now),
    delay: delayOf(history, partOf(counts.first, windowMs), config.goals ? until : undefined),
    goals: config.goals && goals,
  };
}

/** Time since which an estimate tells the times of impressions apart. The silence is as of the latest conversion. */
function needed({ windowMs, latestAt }: Part, now: number): number {
  return Math.max(latestAt ?? 0, now - (SETTLED - 1) * windowMs) - windowMs;
}

function pendingByAge(shown: readonly Cohort[], windowMs: number, now: number): Bar[] {
  const counts = new Array<number>(AGES).fill(0);
  for (const { shownAt, impressions, observed } of shown) {
    if (now - shownAt > windowMs) continue;
    counts[Math.min(AGES - 1, Math.max(0, Math.floor(((now - shownAt) * AGES) / windowMs)))] += impressions - observed;
  }
  return counts.map((count, i) => ({ fromMs: (i * windowMs) / AGES, toMs: ((i + 1) * windowMs) / AGES, count }));
}

/** @param until the moment until which conversions are reported. Default: as the reports of the part tell it. */
function delayOf(history: History, part: Part, until?: number): Delay | null {
  const { now } = history;
  // A silence may last many windows of a goal. An estimate keeps impressions for two, so it gets the model's window.
  const patient = estimateOf(history, { ...part, windowMs: history.windowMs });
  const since = part.arrivedAt ?? now;
  const silence = { since, ...patient.silence(now, since) };
  const reportTime = reportTimeOf(part.quarters, history.shown);
  const moment =
    until ?? momentOf(part, patient, { now, alarm: silence.alarm, byReport: reportTime !== null, reach: REACH * history.windowMs });
  const { history: known, part: own, missingMs } = (reportTime === null ? knownAt : closedAt)(history, part, moment);
  const isSame = known === history && part.windowMs === history.windowMs;
  const estimate = isSame ? patient : estimateOf(known, own);
  const { conversions, followed } = estimate;
  const { rate, low, high } = estimate.rateInterval();
  // No impression has been followed for its window or converted.
  if (Number.isNaN(rate)) return null;
  const within = part.conversions.filter(({ at, shownAt }) => at - shownAt <= own.windowMs);
  const [before, come] = [own.conversions, within].map((each) => each.reduce((sum, { count }) => sum + count, 0));
  const [impressions, all] = [known, history].map(impressionsOf);
  const figure = figureOf(estimate, part.windowMs, missingMs);
  const toCome = toComeOf(estimate, moment, { shown: all - impressions, converted: come - before });
  const quantiles = QUANTILES.map(({ share, needed }) => ({ share, delayMs: figure(needed, () => estimate.quantile(share)) }));
  return {
    completeUntil: Math.round(moment),
    reportTime,
    impressions,
    conversions,
    rateSoFar: conversions / impressions,
    followedMs: followed,
    rate,
    rateInterval: [low, high],
    toCome: toCome.expected,
    toComeInterval: [toCome.low, toCome.high],
    window95Ms: quantiles[quantiles.length - 1].delayMs,
    quantiles,
    windows: windowsOf(estimate, part.windowMs, figure),
    distribution: conversions > 0 && missingMs === 0 ? pointsOf(estimate, figure) : [],
    silence,
  };
}

const impressionsOf = ({ shown, earlier }: History): number =>
  [...shown.map(({ impressions }) => impressions), ...Object.values(earlier)].reduce((sum, count) => sum + count, 0);

/** What tells a moment beside the reports. */
interface Looked {
  readonly now: number;
  readonly alarm: boolean;
  /** Whether times are those of reports. */
  readonly byReport: boolean;
  /** Longest time for which the moment may stay. */
  readonly reach: number;
}

/** The moment until which the conversions of a part are reported. */
function momentOf(part: Part, estimate: DelayEstimate, { now, alarm, byReport, reach }: Looked): number {
  const reports = addedReports(part.reports);
  if (!reports) return now;
  const isSilent = (time: number, atOnce: boolean): boolean => (atOnce ? alarm : estimate.silence(time, reports.last).chance < ODD);
  const until = completeUntil(reports, now, isSilent);
  return Math.max((byReport && lastUpload(reports, now)) || until, now - reach);
}

/**
 * Conversions to come. Those of impressions shown after the moment are all to come, and some of them are known already.
 * @param later impressions and conversions after the moment.
 */
function toComeOf(estimate: DelayEstimate, moment: number, later: { readonly shown: number; readonly converted: number }): Expected {
  const [open, { rate, low, high }] = [estimate.toComeInterval(moment), estimate.rateInterval()];
  const expected = open.expected + rate * later.shown - later.converted;
  const scatter = NORMAL95 * Math.sqrt(rate * later.shown);
  const end = (half: number, side: 1 | -1): number => Math.max(0, expected + side * Math.hypot(half, scatter));
  return {
    expected: Math.max(0, expected),
    low: Math.floor(end(open.expected - open.low + (rate - low) * later.shown, -1) + ROUNDING),
    high: Math.ceil(end(open.high - open.expected + (high - rate) * later.shown, 1) - ROUNDING),
  };
}

/** States a figure of the whole window, or how many conversions it needs more. */
type Figure = (needed: number, figure: () => number) => number | TooFewFigure;

/** Conversions count whose window has closed: others tell nothing of late delays. */
function figureOf({ closed, followed }: DelayEstimate, windowMs: number, missingMs: number): Figure {
  if (missingMs > 0) return () => tooFew(missingMs / DAY_MS, "days");
  return (needed, figure) => {
    // Products that differ may be too young though others' conversions are enough.
    if (closed >= needed && followed >= windowMs) return figure();
    return tooFew(needed - closed, "conversions whose window has closed");
  };
}

/** The estimate of a part, within the part's window. */
function estimateOf({ shown, earlier, now }: History, part: Part): DelayEstimate {
  const estimate = new DelayEstimate({ window: part.windowMs });
  for (const [product, count] of Object.entries(earlier)) estimate.show(Math.max(0, now - 2 * SETTLED * part.windowMs), count, product);
  showRecent(estimate, shown, { windowMs: part.windowMs, matured: needed(part, now) });
  for (const { meanAt: _, ...conversion } of part.conversions) estimate.convert(conversion);
  for (const time of part.arrivals) estimate.arrive(time);
  estimate.advance(now);
  return estimate;
}

/** Adds impressions by product and cohort, in order of time. Those before `matured` count as one cohort, at their mean time. */
function showRecent(estimate: DelayEstimate, steps: readonly Cohort[], { windowMs, matured }: { windowMs: number; matured: number }): void {
  const { cohort: length } = DelayEstimate.grid(windowMs);
  const cohorts = Map.groupBy(steps, ({ shownAt }) => (shownAt < matured ? 0 : Math.floor(shownAt / length)));
  for (const own of cohorts.values()) {
    const [{ shownAt: first }] = own;
    const sums = new Map<string, { count: number; elapsed: number }>();
    for (const { shownAt, groups } of own) {
      for (const [product, count] of Object.entries(groups)) {
        const sum = sums.get(product) ?? { count: 0, elapsed: 0 };
        sums.set(product, { count: sum.count + count, elapsed: sum.elapsed + count * (shownAt - first) });
      }
    }
    for (const [product, { count, elapsed }] of sums) estimate.show(first + elapsed / count, count, product);
  }
}

/** The conversions of this window that shorter ones would have caught, and the share of impressions that convert in them. */
function windowsOf(estimate: DelayEstimate, windowMs: number, figure: Figure): Delay["windows"] {
  return ADVISED.filter((ms) => ms <= windowMs).map((ms) => {
    const own = ms === windowMs;
    const few = own ? 0 : FEW.window;
    const caught = own ? 1 : estimate.below(ms);
    return {
      windowMs: ms,
      caught: own ? 1 : figure(few, () => caught),
      ...(own ? { low: 1, high: 1 } : bandAt(estimate.distribution(), ms)),
      rate: figure(few, () => caught * estimate.rate()),
    };
  });
}

/**
 * The band at a delay inside a bin, between those at the bin's ends. The conversions of the bin may lie anywhere in it as far as they
 * are more than in the bins beside it.
 */
function bandAt({ delays, probability, low, high }: DelayDistribution, delay: number): { readonly low: number; readonly high: number } {
  const bin = delays.findIndex((end) => end >= delay);
  if (bin < 0) return { low: 0, high: 1 };
  const at = (values: ArrayLike<number>, place: number): number => (place < 0 ? 0 : values[place]);
  const mass = (place: number): number => at(probability, place) - at(probability, place - 1);
  const own = mass(bin);
  const uneven = Math.min(own, Math.max(Math.abs(own - mass(bin - 1)), Math.abs(own - mass(bin + 1))));
  const from = at(delays, bin - 1);
  const part = (delay - from) / (delays[bin] - from);
  const between = (values: ArrayLike<number>): number => at(values, bin - 1) + (values[bin] - at(values, bin - 1)) * part;
  return {
    low: Math.max(between(low) - part * uneven, at(low, bin - 1)),
    high: Math.min(between(high) + (1 - part) * uneven, high[bin]),
  };
}

/** At most `POINTS` points of the distribution, evenly thinned, from just below the shortest observed delay up to the longest known. */
function pointsOf(estimate: DelayEstimate, figure: Figure): Delay["distribution"] {
  const { delays, probability, low, high } = estimate.distribution(estimate.followed);
  const last = delays.findIndex((delay) => delay >= estimate.followed);
  const first = Math.max(probability.findIndex((each) => each > probability[0]) - 1, 0);
  const step = Math.ceil((last - first + 1) / POINTS);
  const points: Delay["distribution"][number][] = [];
  for (let i = last; i >= first; i -= step) {
    const stillConverts = figure(FEW.still, () => estimate.stillConverts(delays[i]));
    points.unshift({ delayMs: delays[i], probability: probability[i], low: low[i], high: high[i], stillConverts });
  }
  return points;
}

// Figures about delays: pending impressions by age, laws of delays, and alarms for silence.

import { type DelayDistribution, DelayEstimate, type DelayedConversion, tooFew } from "afterclick";
import { type Windows, windowOf } from "../../domain/model/goals.ts";
import type { TooFewFigure } from "../../protocol/figures.ts";
import type { Bar, Delay, Metrics } from "../../protocol/metrics-answer.ts";
import { type GoalCounts, type ModelCounts, meanTime, SETTLED, type StepCounts } from "../../rpc/model-counts.ts";

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
/** Windows that are compared with the model's, in ms. */
const ADVISED = [1, 3, 7, 14, 30].map((days) => days * 86_400_000);
/** Conversions whose window has closed that a rate needs, and the share that a window would catch. A band is then half as wide as all. */
const FEW = { rate: 5, window: 15 };
/**
 * Counts pending impressions by age, and estimates the delay distribution: that of the first conversions, and that of each declared goal
 * within its own window.
 *
 * Estimates are computed from counts on request. They are therefore right after a restart, a rollback, an erasure or a repeated delivery,
 * and they forget what the log forgets. Delays use the timestamps of the events. The silence uses the learner's clock, so any arriving
 * conversion ends it.
 *
 * **Cost:** linear in the steps and cells that are counted: some thousands, however many impressions and conversions there are.
 */
export function maturity(counts: ModelCounts, config: Windows, now: number): Pick<Metrics, "pendingByAge" | "delay" | "goals"> {
  const { ms: windowMs } = config.window;
  const shown = counts.steps.map((step): Cohort => ({ ...step, shownAt: meanTime(step) }));
  const history = { shown, earlier: counts.earlier, windowMs };
  return {
    pendingByAge: pendingByAge(shown, windowMs, now),
    delay: delayOf(history, partOf(counts.first, windowMs), now),
    goals:
      config.goals &&
      Object.entries(config.goals).map(([goal, { value }]) => {
        const part = partOf(counts.goals[goal], windowOf(config, goal));
        return { goal, windowMs: part.windowMs, currency: value?.currency ?? null, delay: delayOf(history, part, now) };
      }),
  };
}

/** Impressions that were shown in one step of time, at their mean time. */
interface Cohort extends StepCounts {
  readonly shownAt: number;
}

/** The impressions shown in the last windows, and the number of earlier ones. */
interface History {
  readonly shown: readonly Cohort[];
  readonly earlier: number;
  /** The window of the model. */
  readonly windowMs: number;
}

/** The conversions behind one estimate. */
interface Part extends GoalCounts {
  readonly windowMs: number;
  readonly conversions: readonly DelayedConversion[];
}

function partOf(counts: GoalCounts, windowMs: number): Part {
  const { cohort: length } = DelayEstimate.grid(windowMs);
  const latest = counts.latestAt ?? undefined;
  const conversions = counts.delays.map(({ cohort, count, delay }) => {
    // Whole milliseconds keep the delay exact.
    const shownAt = Math.ceil(cohort * length);
    return { shownAt, at: shownAt + delay / count, count, latest, arrivedAt: null };
  });
  return { ...counts, windowMs, conversions };
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

function delayOf(history: History, part: Part, now: number): Delay | null {
  const { windowMs, arrivedAt } = part;
  if (part.delays.length === 0) return null;
  const estimate = estimateOf(history, part, now);
  // A silence may last many windows of a goal. An estimate keeps impressions for two, so it gets the model's window.
  const patient = windowMs === history.windowMs ? estimate : estimateOf(history, { ...part, windowMs: history.windowMs }, now);
  const { conversions, followed } = estimate;
  const impressions = history.shown.reduce((sum, cohort) => sum + cohort.impressions, history.earlier);
  const figure = figureOf(estimate);
  const { rate, low, high } = estimate.rateInterval();
  const stated = figure(FEW.rate, () => rate);
  const quantiles = QUANTILES.map(({ share, needed }) => ({ share, delayMs: figure(needed, () => estimate.quantile(share)) }));
  const since = arrivedAt ?? now;
  return {
    impressions,
    conversions,
    rateSoFar: conversions / impressions,
    followedMs: followed,
    rate: stated,
    rateInterval: typeof stated === "number" ? [low, high] : null,
    toCome: figure(FEW.rate, () => estimate.toCome(now)),
    window95Ms: quantiles[quantiles.length - 1].delayMs,
    quantiles,
    windows: windowsOf(estimate, windowMs),
    distribution: pointsOf(estimate),
    silence: { since, ...patient.silence(now, since) },
  };
}

/** States a figure, or how many conversions it needs more. Those count whose window has closed: others tell nothing of late delays. */
function figureOf({ closed }: DelayEstimate): (needed: number, figure: () => number) => number | TooFewFigure {
  return (needed, figure) => (closed >= needed ? figure() : tooFew(needed - closed, "conversions whose window has closed"));
}

/** The estimate of a part, within the part's window. */
function estimateOf({ shown, earlier }: History, part: Part, now: number): DelayEstimate {
  const estimate = new DelayEstimate({ window: part.windowMs });
  const matured = needed(part, now);
  if (earlier > 0) estimate.show(Math.max(0, now - 2 * SETTLED * part.windowMs), earlier);
  showRecent(estimate, shown, matured);
  for (const conversion of part.conversions) estimate.convert(conversion);
  for (const time of part.arrivals) estimate.arrive(time);
  estimate.advance(now);
  return estimate;
}

/** Adds cohorts in order of time. Those before `matured` count as one, at their mean time. */
function showRecent(estimate: DelayEstimate, cohorts: readonly Cohort[], matured: number): void {
  const settled = cohorts.filter(({ shownAt }) => shownAt < matured);
  if (settled.length > 0) {
    const [{ shownAt: first }] = settled;
    const count = settled.reduce((sum, { impressions }) => sum + impressions, 0);
    const elapsed = settled.reduce((sum, { impressions, shownAt }) => sum + impressions * (shownAt - first), 0);
    estimate.show(first + elapsed / count, count);
  }
  for (const { shownAt, impressions } of cohorts.slice(settled.length)) estimate.show(shownAt, impressions);
}

/** The conversions of this window that shorter ones would have caught, and the share of impressions that convert in them. */
function windowsOf(estimate: DelayEstimate, windowMs: number): Delay["windows"] {
  const figure = figureOf(estimate);
  return ADVISED.filter((ms) => ms <= windowMs).map((ms) => {
    const own = ms === windowMs;
    const few = own ? 0 : FEW.window;
    const caught = own ? 1 : estimate.below(ms);
    return {
      windowMs: ms,
      caught: figure(few, () => caught),
      ...(own ? { low: 1, high: 1 } : bandAt(estimate.distribution(), ms)),
      rate: figure(Math.max(few, FEW.rate), () => caught * estimate.rate()),
    };
  });
}

/**
 * The band at a delay inside a bin, between those at the bin's ends. The conversions of the bin may lie anywhere in it as far as they
 * are more than in the bins beside it.
 */
function bandAt({ delays, probability, low, high }: DelayDistribution, delay: number): { readonly low: number; readonly high: number } {
  const bin = delays.findIndex((end) => end >= delay);
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
function pointsOf(estimate: DelayEstimate): Delay["distribution"] {
  const { delays, probability, low, high } = estimate.distribution(estimate.followed);
  const figure = figureOf(estimate);
  const last = delays.findIndex((delay) => delay >= estimate.followed);
  const first = Math.max(probability.findIndex((each) => each > probability[0]) - 1, 0);
  const step = Math.ceil((last - first + 1) / POINTS);
  const points: Delay["distribution"][number][] = [];
  for (let i = last; i >= first; i -= step) {
    const stillConverts = figure(FEW.rate, () => estimate.stillConverts(delays[i]));
    points.unshift({ delayMs: delays[i], probability: probability[i], low: low[i], high: high[i], stillConverts });
  }
  return points;
}

import { DelayEstimate, type DelayedConversion } from "afterclick";
import { type Windows, windowOf } from "../domain/goals.ts";
import type { Bar, Delay, Metrics } from "../protocol/answers.ts";
import { type GoalCounts, type ModelCounts, meanTime, type StepCounts } from "../rpc/model-counts.ts";
import { SETTLED } from "./counts.ts";

/** Bars of the histogram of pending impressions by age. */
const AGES = 24;
/** Most points of the delay distribution that a page draws. */
const POINTS = 40;
/** Shares of conversions whose delays are stated. */
const QUANTILES = [0.25, 0.5, 0.75, 0.9, 0.95];
/** Windows that are compared with the model's, in ms. */
const ADVISED = [1, 3, 7, 14, 30].map((days) => days * 86_400_000);
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

/** Time since which an estimate tells the times of impressions apart. */
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
  const { conversions } = estimate;
  const impressions = history.shown.reduce((sum, cohort) => sum + cohort.impressions, history.earlier);
  const toCome = estimate.toCome(now);
  const since = arrivedAt ?? now;
  return {
    impressions,
    conversions,
    rateSoFar: conversions / impressions,
    rate: estimate.rate(),
    toCome,
    window95Ms: estimate.quantile(),
    quantiles: QUANTILES.map((share) => ({ share, delayMs: estimate.quantile(share) })),
    windows: windowsOf(estimate, windowMs),
    distribution: pointsOf(estimate, windowMs),
    silence: { since, ...patient.silence(now, since) },
  };
}

/** The estimate of a part, within the part's window. */
function estimateOf({ shown, earlier }: History, part: Part, now: number): DelayEstimate {
  const estimate = new DelayEstimate({ window: part.windowMs });
  const matured = needed(part, now);
  if (earlier > 0) estimate.show(Math.max(0, now - 2 * SETTLED * part.windowMs), earlier);
  showRecent(estimate, shown, matured);
  for (const conversion of part.conversions) estimate.convert(conversion);
  for (const time of part.arrivals) estimate.arrive(time);
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
  const { delays, probability, low, high } = estimate.distribution();
  return ADVISED.filter((ms) => ms <= windowMs).map((ms) => {
    const bin = delays.findIndex((end) => end >= ms);
    const caught = estimate.below(ms);
    return {
      windowMs: ms,
      caught,
      low: Math.max(caught - (probability[bin] - low[bin]), 0),
      high: Math.min(caught + (high[bin] - probability[bin]), 1),
      rate: caught * estimate.rate(),
    };
  });
}

/** At most `POINTS` points of the distribution, evenly thinned, from just below the shortest observed delay up to the window. */
function pointsOf(estimate: DelayEstimate, windowMs: number): Delay["distribution"] {
  const { delays, probability, low, high } = estimate.distribution();
  const last = delays.findIndex((delay) => delay >= windowMs);
  const first = Math.max(probability.findIndex((each) => each > probability[0]) - 1, 0);
  const step = Math.ceil((last - first + 1) / POINTS);
  const points: Delay["distribution"][number][] = [];
  for (let i = last; i >= first; i -= step) {
    const delayMs = delays[i];
    points.unshift({ delayMs, probability: probability[i], low: low[i], high: high[i], stillConverts: estimate.stillConverts(delayMs) });
  }
  return points;
}

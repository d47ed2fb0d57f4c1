// Hazards backwards in time, from cohorts that were followed for part of a bin. `delay-law.ts` makes laws of them.

import type { Cohort } from "./cohorts.ts";
import type { Delays } from "./delays.ts";
import type { Events } from "./pooled-laws.ts";

/** Least share of a bin in which a cohort was followed that had a conversion there. */
const LEAST = 0.1;
/** Most steps of the search for a hazard, and its precision. */
const STEPS = 60;
const PRECISE = 1e-12;

/** Conversions of impressions of one cohort. */
export interface Part {
  /** Conversions by bin. Those beyond the window count in its last bin. */
  readonly counts: Float64Array;
  /** Number of impressions. */
  readonly shown: number;
  readonly ages: Ages;
}

/** Ages of a cohort's impressions: spread evenly below their mean, and evenly above it. */
interface Ages {
  readonly least: number;
  readonly mean: number;
  readonly most: number;
}

/** Conversions of one cohort, and how long its impressions have been followed. */
export interface Followed extends Part {
  /** The share of each bin in which the impressions were followed. */
  readonly exposure: Float64Array;
}

/** The share of the conversions before the end of a bin that come within the bin. */
export interface Hazards {
  /** Relative mass of each bin. */
  readonly mass: Float64Array;
  /** Conversions in each bin, and those before it among the conversions that could have been observed in it. */
  readonly events: Float64Array;
  readonly before: Float64Array;
}

/** The cohorts as of a time, and those before them as one. `bins`: bins of the window. */
export function partsOf({ cohorts, settled }: Delays, bins: number, now: number): Part[] {
  const folded = (all: Float64Array): Float64Array => {
    const counts = all.slice(0, bins);
    for (let b = bins; b < all.length; b++) counts[bins - 1] += all[b];
    return counts;
  };
  const agesOf = (cohort: Cohort): Ages => {
    const most = Math.max(now - cohort.start * cohorts.unit, 0);
    const least = Math.max(now - (cohort.start + cohort.length) * cohorts.unit, 0);
    return { least, mean: Math.min(Math.max(cohorts.age(cohort, now), least), most), most };
  };
  const always = { least: Number.MAX_VALUE, mean: Number.MAX_VALUE, most: Number.MAX_VALUE };
  return [
    ...cohorts.list.map((cohort) => ({ counts: folded(cohort.sums.values), shown: cohort.count, ages: agesOf(cohort) })),
    { counts: folded(settled), shown: 0, ages: always },
  ];
}

/** Adds for how much of each bin the cohorts were followed. */
export function followedIn(parts: readonly Part[], ends: Float64Array): Followed[] {
  return parts.map((part) => {
    const exposure = ends.map((end, b) => {
      const share = spread(part.ages, (least, most) => meanShare(least, most, b === 0 ? 0 : ends[b - 1], end));
      // A conversion proves that its bin was followed, although the mean age of its cohort may not show it.
      return part.counts[b] > 0 ? Math.max(share, LEAST) : share;
    });
    return { ...part, exposure };
  });
}

/** The share of a cohort's impressions that are at least this old. */
export function olderShare(ages: Ages, age: number): number {
  return spread(ages, (least, most) => (least >= age ? 1 : most <= age ? 0 : (most - age) / (most - least)));
}

/** Mean of a value over the ages of a cohort. `mean` is that over ages that are spread evenly between two bounds. */
function spread({ least, mean, most }: Ages, meanOf: (least: number, most: number) => number): number {
  const older = most > least ? (mean - least) / (most - least) : 0;
  return (1 - older) * meanOf(least, mean) + older * meanOf(mean, most);
}

/** The share of a bin that was followed, if delays are spread evenly in it, and ages between two bounds. */
function meanShare(least: number, most: number, from: number, to: number): number {
  if (least >= to) return 1;
  const share = (age: number): number => Math.min(Math.max((age - from) / (to - from), 0), 1);
  if (!(most > least)) return share(least);
  const sum = (age: number): number => ((to - from) * share(age) * share(age)) / 2 + Math.max(age - to, 0);
  return (sum(most) - sum(least)) / (most - least);
}

/**
 * The reverse hazards of right-truncated delays, from the shortest delay on. A conversion is at risk in a bin by the share of the bin in
 * which its cohort was followed. If all cohorts were followed for whole bins or not at all, these are the reverse product limit.
 */
export function hazardsOf(parts: readonly Followed[], bins: number): Hazards {
  const [mass, events, before] = Array.from({ length: 3 }, () => new Float64Array(bins));
  const rows = parts.filter(({ counts }) => counts.some((count) => count > 0)).map((part) => ({ ...part, seen: 0, visible: 0 }));
  let [sum, total] = [0, 0];
  for (let b = 0; b < bins; b++) {
    const atRisk: Risk[] = [];
    for (const row of rows) {
      events[b] += row.counts[b];
      if (row.visible > 0) {
        // Young cohorts could show less than the whole mass before this bin.
        const odds = (row.exposure[b] * sum) / row.visible;
        atRisk.push({ count: row.seen + row.counts[b], odds });
        before[b] += row.seen * odds;
      }
      row.seen += row.counts[b];
    }
    if (events[b] > 0 && total === 0) mass[b] = 1;
    else if (events[b] > 0) {
      // At most one survivor is added. Otherwise the oldest conversion alone would make all shorter delays impossible.
      const unseen = Math.min(Math.max(total - before[b], 0), 1);
      const odds = oddsOf(events[b], [...atRisk, { count: unseen, odds: 1 }]);
      mass[b] = sum * odds;
      before[b] = Math.max(events[b] / odds - unseen, 0);
    }
    for (const row of rows) row.visible += mass[b] * row.exposure[b];
    sum += mass[b];
    total += events[b];
  }
  return { mass, events, before };
}

/**
 * Conversions of a product in each bin, and those at risk there: the number of which the common hazard makes the expected events. The
 * common law says how much of the mass before a bin each cohort could show.
 */
export function eventsOf(parts: readonly Followed[], { mass }: Hazards): Events {
  const [events, risk] = [new Float64Array(mass.length), new Float64Array(mass.length)];
  let sum = 0;
  const rows = parts.filter(({ counts }) => counts.some((count) => count > 0)).map((part) => ({ ...part, seen: 0, visible: 0 }));
  for (let b = 0; b < mass.length; b++) {
    sum += mass[b];
    for (const row of rows) {
      const own = mass[b] * row.exposure[b];
      row.seen += row.counts[b];
      row.visible += own;
      events[b] += row.counts[b];
      if (own > 0) risk[b] += (row.seen * row.exposure[b] * sum) / row.visible;
    }
  }
  return { events, risk };
}

interface Risk {
  readonly count: number;
  readonly odds: number;
}

/** The odds at which the expected number of events is the observed one. */
function oddsOf(events: number, risks: readonly Risk[]): number {
  const expected = (odds: number): number => risks.reduce((sum, risk) => sum + (risk.count * odds * risk.odds) / (1 + odds * risk.odds), 0);
  let [low, high] = [0, 1];
  while (expected(high) < events && high < Number.MAX_SAFE_INTEGER) [low, high] = [high, 2 * high];
  for (let step = 0; step < STEPS && high - low > PRECISE * high; step++) {
    const middle = (low + high) / 2;
    if (expected(middle) < events) low = middle;
    else high = middle;
  }
  return high;
}

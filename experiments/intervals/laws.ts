// Laws of delays in simulated shops. Times are in ms.
import type { Stream } from "../../src/simulation/stream.ts";

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** The law of the time from an impression to its conversion. */
export interface Law {
  readonly windowMs: number;
  /** The time of a conversion of an impression that is shown at this time. */
  at(shownAt: number, random: Stream): number;
  /** P(delay <= x), over impressions at all hours of the day. */
  below(x: number): number;
}

/** P(standard normal < x), to 1e-7. **Source:** Abramowitz and Stegun 26.2.17. */
export function normalBelow(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x));
  const powers = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
  const tail = (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * powers.reduceRight((sum, each) => (sum + each) * t, 0);
  return x < 0 ? tail : 1 - tail;
}

const WEEK = 7 * DAY;
const delayed = (windowMs: number, draw: (random: Stream) => number, below: Law["below"]): Law => ({
  windowMs,
  at: (shownAt, random) => shownAt + Math.floor(draw(random)),
  below: (x) => (x < 0 ? 0 : below(x)),
});

export const exponential = (mean: number, windowMs: number): Law =>
  delayed(
    windowMs,
    (random) => -Math.log(1 - random()) * mean,
    (x) => 1 - Math.exp(-x / mean),
  );

const lognormal = (median: number): Law =>
  delayed(
    WEEK,
    (random) => median * Math.exp(1.5 * random.normal()),
    (x) => (x === 0 ? 0 : normalBelow(Math.log(x / median) / 1.5)),
  );

const SHAPE = 0.4;
function weibull(median: number): Law {
  const scale = median / Math.LN2 ** (1 / SHAPE);
  return delayed(
    WEEK,
    (random) => scale * (-Math.log(1 - random())) ** (1 / SHAPE),
    (x) => 1 - Math.exp(-((x / scale) ** SHAPE)),
  );
}

/** With a tail that reaches far beyond any window. */
const pareto = (median: number): Law =>
  delayed(
    WEEK,
    (random) => median / 4 / (1 - random()) ** 2,
    (x) => (x <= median / 4 ? 0 : 1 - Math.sqrt(median / 4 / x)),
  );

const within = (from: number, to: number, x: number): number => Math.min(Math.max((x - from) / (to - from), 0), 1);

/** A share of conversions within two hours, the others after a week. */
const hourOrWeek = (soon: number): Law =>
  delayed(
    2 * WEEK,
    (random) => (random() < soon ? 2 * HOUR * random() : WEEK + (random() - 0.5) * DAY),
    (x) => soon * within(0, 2 * HOUR, x) + (1 - soon) * within(WEEK - DAY / 2, WEEK + DAY / 2, x),
  );

/** Parts of a day at which the law of conversions in batches is averaged. */
const PARTS = 96;

/** Conversions that are reported at the next midnight, with the time of the report. */
function batched({ windowMs, at, below }: Law): Law {
  return {
    windowMs,
    at: (shownAt, random) => Math.ceil(at(shownAt, random) / DAY) * DAY,
    below(x) {
      const hours = Array.from({ length: PARTS }, (_, i) => ((i + 0.5) / PARTS) * DAY);
      return hours.reduce((sum, hour) => sum + below(Math.floor((x + hour) / DAY) * DAY - hour), 0) / PARTS;
    },
  };
}

/** The laws of products that are all alike, of quick ones and of slow ones. */
export interface Laws {
  readonly alike: Law;
  readonly quick: Law;
  readonly slow: Law;
}

const MEDIANS = { alike: 12 * HOUR, quick: 3 * HOUR, slow: 3 * DAY };
const scaled = (law: (median: number) => Law): Laws => ({
  alike: law(MEDIANS.alike),
  quick: law(MEDIANS.quick),
  slow: law(MEDIANS.slow),
});

export const laws = {
  lognormal: scaled(lognormal),
  "Weibull 0.4": scaled(weibull),
  "Pareto 0.5": scaled(pareto),
  "an hour or a week": { alike: hourOrWeek(0.6), quick: hourOrWeek(1), slow: hourOrWeek(0) },
  "daily batches": scaled((median) => batched(lognormal(median))),
} satisfies Record<string, Laws>;

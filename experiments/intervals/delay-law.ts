import { DelayEstimate } from "afterclick";
import { type Stream, stream } from "../../src/simulation/stream.ts";
import { gridOf, grownAt } from "../../worker/domain/figures/delay-grid.ts";
import { bucketAt } from "../../worker/domain/impression/bucket.ts";
import { maturity } from "../../worker/learner/figures/maturity.ts";
import type { Delay } from "../../worker/protocol/metrics-answer.ts";
import type { DelayCounts, ModelCounts, StepCounts } from "../../worker/rpc/model-counts.ts";
import { type Stated, type StatedFigure, stated } from "./stated-figure.ts";

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;
const NOW = 1_700_000_000_000;
/** Share of impressions that convert, in the end. */
const RATE = 0.1;
/** Shares of conversions at whose delays the band is looked at. */
const SHARES = [0.2, 0.5, 0.85];

interface Law {
  readonly window: number;
  draw(random: Stream): number;
  /** P(delay < x). */
  below(x: number): number;
}

const uniform = (from: number, to: number, x: number): number => Math.min(Math.max((x - from) / (to - from), 0), 1);

function exponential(mean: number, window: number): Law {
  return { window, draw: (random) => -Math.log(1 - random()) * mean, below: (x) => 1 - Math.exp(-x / mean) };
}

/** P(standard normal < x), to 1e-7. **Source:** Abramowitz and Stegun 26.2.17. */
function normalBelow(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x));
  const powers = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
  const tail = (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * powers.reduceRight((sum, each) => (sum + each) * t, 0);
  return x < 0 ? tail : 1 - tail;
}

const laws: Readonly<Record<string, Law>> = {
  seconds: exponential(20 * SECOND, DAY),
  hours: exponential(5 * HOUR, 7 * DAY),
  days: {
    window: 7 * DAY,
    draw: (random) => 1.5 * DAY * Math.exp(random.normal()),
    below: (x) => (x <= 0 ? 0 : normalBelow(Math.log(x / (1.5 * DAY)))),
  },
  "1 h or 48 h": {
    window: 7 * DAY,
    draw: (random) => (random() < 0.5 ? 0.5 + random() : 47 + 2 * random()) * HOUR,
    below: (x) => (uniform(0.5 * HOUR, 1.5 * HOUR, x) + uniform(47 * HOUR, 49 * HOUR, x)) / 2,
  },
  weeks: { window: 30 * DAY, draw: (random) => 21 * DAY * random(), below: (x) => uniform(0, 21 * DAY, x) },
};

/** Ages of impressions, in windows. */
const traffics: Readonly<Record<string, (random: Stream) => number>> = {
  steady: (random) => 3 * random(),
  young: (random) => 0.4 * random(),
  burst: (random) => 1.3 + 0.01 * random(),
  import: (random) => 1.1 + 8 * random(),
  "growing rate": (random) => 3 * random(),
};

interface Shop {
  readonly law: Law;
  readonly shown: readonly number[];
  readonly conversions: readonly { readonly shownAt: number; readonly at: number }[];
}

/** A shop whose impressions bring about this many conversions in the end. Only what has happened by now is known. */
function shopOf(law: Law, traffic: string, count: number, random: Stream): Shop {
  const shown = Array.from({ length: Math.round(count / RATE) }, () => Math.floor(NOW - traffics[traffic](random) * law.window));
  // In a shop that is imported, events come in any order. In the others they are told in order of time.
  if (traffic !== "import") shown.sort((a, b) => a - b);
  const rateAt = (time: number): number => (traffic === "growing rate" ? RATE * (1.8 - (0.5333 * (NOW - time)) / law.window) : RATE);
  const conversions = shown.flatMap((shownAt) => {
    if (random() >= rateAt(shownAt)) return [];
    const at = shownAt + Math.floor(law.draw(random));
    return at <= NOW && at - shownAt <= law.window ? [{ shownAt, at }] : [];
  });
  return { law, shown, conversions };
}

/** The figures of the SDK. */
function estimated({ law, shown, conversions }: Shop, constant: boolean): Stated[] {
  const estimate = new DelayEstimate({ window: law.window });
  for (const time of shown) estimate.show(time);
  for (const conversion of conversions) estimate.convert({ ...conversion, arrivedAt: NOW });
  estimate.advance(NOW);
  const { followed } = estimate;
  const { delays, low, high } = estimate.distribution(followed);
  const points = Array.from(delays, (delayMs, i) => ({ delayMs, low: low[i], high: high[i] }));
  const rate = constant ? [stated("rate, SDK", estimate.rateInterval(), RATE * law.below(followed))] : [];
  return [...bandOf("F, SDK", law, points, followed), ...rate];
}

/** Looks at a band where the true share passes some values. */
function bandOf(
  metric: string,
  law: Law,
  points: readonly { readonly delayMs: number; readonly low: number; readonly high: number }[],
  followed: number,
): Stated[] {
  return SHARES.flatMap((share) => {
    const point = points.find(({ delayMs }) => law.below(delayMs) >= share * law.below(followed));
    const truth = point ? law.below(point.delayMs) / law.below(followed) : 1;
    return point && truth < 1 - 1e-9 ? [stated(metric, point, truth)] : [];
  });
}

/** The figures of the worker, from counts like those of its tables. */
function measured(shop: Shop, constant: boolean): Stated[] {
  const { law } = shop;
  const windows = { window: { ms: law.window }, goals: null };
  const { delay } = maturity(countsOf(shop), windows, NOW);
  if (!delay) return [];
  const few = (metric: string): Stated => ({ metric, result: "too few" });
  const rate = delay.rateInterval
    ? stated("rate, worker", { low: delay.rateInterval[0], high: delay.rateInterval[1] }, RATE * law.below(law.window))
    : few("rate, worker");
  const rows = delay.windows.filter(({ windowMs }) => windowMs < law.window && law.below(windowMs) < 1 - 1e-9);
  const caught = rows.map((row: Delay["windows"][number]) => {
    const metric = "shorter windows, worker";
    return typeof row.caught === "number" ? stated(metric, row, law.below(row.windowMs) / law.below(law.window)) : few(metric);
  });
  return [...bandOf("F, worker", law, delay.distribution, delay.followedMs), ...(constant ? [rate] : []), ...caught];
}

function countsOf({ law, shown, conversions }: Shop): ModelCounts {
  const { window } = law;
  const config = { window: { ms: window }, goals: null };
  const width = Math.max(1, Math.floor(window / 1024));
  const steps = new Map<number, StepCounts>();
  const recent = bucketAt(NOW - 3 * window, window);
  let earlier = 0;
  for (const time of shown) {
    const bucket = bucketAt(time, window);
    if (bucket < recent) earlier++;
    if (bucket < recent) continue;
    const step = time - ((time - bucket) % width);
    const { impressions, elapsed } = steps.get(step) ?? { impressions: 0, elapsed: 0 };
    steps.set(step, { step, impressions: impressions + 1, elapsed: elapsed + time - step, observed: 0, converted: 0, groups: {} });
  }
  const grid = gridOf(config, "");
  const cells = new Map<string, DelayCounts>();
  for (const { shownAt, at } of conversions) {
    const interval = grownAt(Math.floor(NOW / grid.cohort), { cohort: Math.floor(shownAt / grid.cohort), length: 1 });
    const bin = grid.bin(at - shownAt);
    const key = `${interval.cohort} ${bin}`;
    const { count, delay } = cells.get(key) ?? { count: 0, delay: 0 };
    cells.set(key, { ...interval, bin, arm: "policy", count: count + 1, delay: delay + at - shownAt, groups: {} });
  }
  const latestAt = conversions.reduce((latest, { at }) => Math.max(latest, at), 0);
  const first = { delays: Array.from(cells.values()), latestAt, arrivedAt: NOW, arrivals: [], reports: [], quarters: {} };
  const inOrder = Array.from(steps.values()).sort((a, b) => a.step - b.step);
  // Maturity reads no other counts.
  return { steps: inOrder, earlier, first, goals: {} } as unknown as ModelCounts;
}

/** Conversions of a shop: a number, or from 5 to 500. */
const sizes = ["5 to 500", "5", "5,000", "50,000"] as const;

const settings = [
  ...Object.keys(laws).flatMap((law) => ["steady", "young", "burst", "import"].map((traffic) => `${law}, ${traffic}, 5 to 500`)),
  ...["hours", "days"].map((law) => `${law}, growing rate, 5 to 500`),
  ...["hours", "1 h or 48 h"].flatMap((law) => sizes.slice(1).map((size) => `${law}, steady, ${size}`)),
];

export const delayLaw: StatedFigure = {
  id: "delay-law",
  title: "Delays: the distribution, shorter windows, and the conversion rate, by delays, traffic and number of conversions",
  settings,
  runs: 1000,
  async run(setting, run) {
    const [law, traffic, size] = setting.split(/, /);
    const random = stream("intervals", "delay-law", setting, run);
    const count =
      size === "5 to 500" ? Math.round(5 * 100 ** random()) : Number(setting.slice(`${law}, ${traffic}, `.length).replace(",", ""));
    const shop = shopOf(laws[law], traffic, count, random);
    if (shop.conversions.length === 0) return [];
    const constant = traffic !== "growing rate";
    return [...estimated(shop, constant), ...measured(shop, constant)];
  },
};

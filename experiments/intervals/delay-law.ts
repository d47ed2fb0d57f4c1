import { DelayEstimate } from "afterclick/research";
import { gridOf, grownAt } from "../../worker/domain/figures/delay-grid.ts";
import type { GroupCounts } from "../../worker/domain/figures/product-group.ts";
import { type Reports, withReport } from "../../worker/domain/figures/reports.ts";
import { bucketAt } from "../../worker/domain/impression/bucket.ts";
import { maturity } from "../../worker/learner/figures/maturity.ts";
import type { DelayCounts, ModelCounts, StepCounts } from "../../worker/rpc/model-counts.ts";
import { type DelayShop, delayShop, delayWorlds, NOW } from "./delay-world.ts";
import { few, type Stated, type StatedFigure, stated } from "./stated-figure.ts";

const QUARTER = 900_000;
/** Shares of conversions at whose delays the band is looked at. */
const SHARES = [0.2, 0.5, 0.85];

/** Width of a 95 % interval of a share that is counted in so many. */
const ideal = (share: number, count: number): number => 2 * 1.96 * Math.sqrt((share * (1 - share)) / count);

/** The figures of the SDK, as of the time until which all conversions are known. */
function estimated(shop: DelayShop): Stated[] {
  const { windowMs, known, rate, until } = shop;
  const shown = shop.shown.filter(({ shownAt }) => shownAt <= until);
  const estimate = new DelayEstimate({ window: windowMs });
  for (const { shownAt, product } of shown) estimate.show(shownAt, 1, `${product}`);
  for (const { product, ...conversion } of known) estimate.convert({ ...conversion, product: `${product}` });
  estimate.advance(until);
  const { followed } = estimate;
  const { delays, probability, low, high } = estimate.distribution(followed);
  const points = Array.from(delays, (delayMs, i) => ({ delayMs, probability: probability[i], low: low[i], high: high[i] }));
  const { rate: value, ...interval } = estimate.rateInterval();
  const { expected, low: least, high: most } = estimate.toComeInterval(until);
  return [
    ...bandOf("F, SDK", shop, points, followed),
    ...(rate ? [stated("rate, SDK", { value, ...interval }, rate(followed), ideal(rate(followed), shown.length))] : []),
    stated("to come, SDK", { value: expected, low: least, high: most }, shop.toCome(followed, until)),
  ];
}

interface Point {
  readonly delayMs: number;
  readonly probability: number;
  readonly low: number;
  readonly high: number;
}

/** Looks at a band where the true share passes some values. */
function bandOf(metric: string, { below, total }: DelayShop, points: readonly Point[], followed: number): Stated[] {
  if (!below) return [];
  return SHARES.flatMap((share) => {
    if (points.length === 0) return [few(metric)];
    const point = points.find(({ delayMs }) => below(delayMs) >= share * below(followed));
    const truth = point ? below(point.delayMs) / below(followed) : 1;
    return point && truth < 1 - 1e-9 ? [stated(metric, { value: point.probability, ...point }, truth, ideal(truth, total))] : [];
  });
}

/** The figures of the worker, from counts like those of its tables. */
function measured(shop: DelayShop): Stated[] {
  const { windowMs, shown, below, rate, toCome } = shop;
  const { delay } = maturity(countsOf(shop), { window: { ms: windowMs }, goals: null }, NOW);
  if (!delay) return [];
  const followed = delay.followedMs;
  const [low, high] = delay.rateInterval;
  const rates = rate ? [stated("rate", { value: delay.rate, low, high }, rate(followed), ideal(rate(followed), shown.length))] : [];
  const quantiles = delay.quantiles.map(({ share, delayMs }): Stated => {
    const metric = "F(stated quantile)";
    if (typeof delayMs !== "number" || !below) return few(metric);
    return { metric, result: "no interval", value: below(delayMs) / below(windowMs), truth: share };
  });
  const caught = delay.windows.flatMap((row): Stated[] => {
    const metric = "shorter windows";
    if (!below || row.windowMs >= windowMs) return [];
    const truth = below(row.windowMs) / below(windowMs);
    return [typeof row.caught === "number" ? stated(metric, { value: row.caught, low: row.low, high: row.high }, truth) : few(metric)];
  });
  const [least, most] = delay.toComeInterval;
  const coming = stated("to come", { value: delay.toCome, low: least, high: most }, toCome(followed, NOW));
  return [...bandOf("F", shop, delay.distribution, delay.followedMs), ...rates, coming, ...(below ? quantiles : []), ...caught];
}

/** Counts with one more of a group. Each product is a group of its own. */
const withOne = (groups: GroupCounts, product: number): GroupCounts => ({ ...groups, [product]: (groups[product] ?? 0) + 1 });

function countsOf({ windowMs, shown, known }: DelayShop): ModelCounts {
  const config = { window: { ms: windowMs }, goals: null };
  const width = Math.max(1, Math.floor(windowMs / 1024));
  const steps = new Map<number, StepCounts>();
  const recent = bucketAt(NOW - 3 * windowMs, windowMs);
  let earlier: GroupCounts = {};
  for (const { product, shownAt } of shown) {
    const bucket = bucketAt(shownAt, windowMs);
    if (bucket < recent) earlier = withOne(earlier, product);
    if (bucket < recent) continue;
    const step = shownAt - ((shownAt - bucket) % width);
    const { impressions, elapsed, groups } = steps.get(step) ?? { impressions: 0, elapsed: 0, groups: {} };
    const counted = { impressions: impressions + 1, elapsed: elapsed + shownAt - step, groups: withOne(groups, product) };
    steps.set(step, { step, ...counted, observed: 0, converted: 0 });
  }
  const grid = gridOf(config, "");
  const latest = (times: readonly number[]): number => times.reduce((most, each) => Math.max(most, each), 0);
  const latestAt = latest(known.map(({ at }) => at));
  const cells = new Map<string, DelayCounts>();
  for (const { product, shownAt, at } of known) {
    const interval = grownAt(Math.floor(latestAt / grid.cohort), { cohort: Math.floor(shownAt / grid.cohort), length: 1 });
    const bin = grid.bin(at - shownAt);
    const key = `${interval.cohort} ${bin}`;
    const { count, delay, groups } = cells.get(key) ?? { count: 0, delay: 0, groups: {} };
    const counted = { count: count + 1, delay: delay + at - shownAt, groups: withOne(groups, product) };
    cells.set(key, { ...interval, bin, arm: "policy", ...counted });
  }
  const arrivals = [...new Set(known.map(({ arrivedAt }) => Math.floor(arrivedAt / QUARTER) * QUARTER))].sort((a, b) => a - b);
  const quarters = new Map<number, number>();
  let reports: Reports | null = null;
  for (const { at, arrivedAt } of known.toSorted((a, b) => a.arrivedAt - b.arrivedAt)) {
    const quarter = Math.floor(at / QUARTER);
    quarters.set(quarter, (quarters.get(quarter) ?? 0) + 1);
    reports = withReport(reports, at, arrivedAt);
  }
  const first = {
    delays: Array.from(cells.values()),
    latestAt,
    arrivedAt: latest(known.map(({ arrivedAt }) => arrivedAt)),
    arrivals,
    reports: reports ? [reports] : [],
    quarters: Object.fromEntries(quarters),
  };
  const inOrder = Array.from(steps.values()).sort((a, b) => a.step - b.step);
  // Maturity reads no other counts.
  return { steps: inOrder, earlier, first, goals: {} } as unknown as ModelCounts;
}

export const delayLaw: StatedFigure = {
  id: "delay-law",
  title: "Delays: the distribution, the conversion rate, conversions to come, quantiles and shorter windows",
  settings: Object.keys(delayWorlds),
  runs: 300,
  traced: [
    "daily batches, steady, 50",
    "an hour or a week, half slow, steady, 50",
    "lognormal, half slow, the last 3 of 21 days slow, 200",
    "lognormal, 4 days old, nightly uploads, 200",
  ],
  async run(setting, run) {
    const shop = delayShop(setting, run);
    return shop.known.length === 0 ? [] : [...estimated(shop), ...measured(shop)];
  },
};

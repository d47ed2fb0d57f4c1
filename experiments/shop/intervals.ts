import { vectorAt } from "../../src/publication/featurizer.ts";
import { stream } from "../../src/simulation/stream.ts";
import type { Curve } from "../runs/experiment.ts";
import { defaultModel } from "./default-model.ts";
import type { Shop } from "./shop.ts";
import { isWrong, statementsOf } from "./statement.ts";

/** Impressions at which intervals are looked at. */
const AT = [50, 200, 1000, 5000];
/** Contexts of visitors in which they are looked at then. */
const CONTEXTS = 5;
/** Day 1 of 1970. */
const START_MS = 86_400_000;

interface Conversion {
  readonly impressionId: string;
  readonly index: number;
  readonly at: number;
}

/**
 * How the 95 % intervals that the worker states for the default model do, over all products and some contexts: the share that holds the true
 * rate, their mean width over that of exact binomial intervals on each product's matured impressions, the share of statements that are wrong
 * in themselves (`isWrong`), and the share of posterior means outside 0 to 1, which the statements bound.
 *
 * `traffic`: products are shown "uniform"ly at random, or as the model chooses. `matured`: the chance that a conversion has come by an age.
 */
export async function intervalCurves(
  shop: Shop,
  {
    traffic,
    run,
    matured,
    most,
  }: {
    readonly traffic: "uniform" | "own";
    readonly run: number;
    readonly matured: (ageMs: number) => number;
    /** Impressions to play. */
    readonly most: number;
  },
): Promise<readonly Curve[]> {
  const model = await defaultModel(shop, run);
  const at = AT.filter((each) => each <= most);
  const { recommender, featurize } = model;
  const { policy } = recommender;
  const random = stream("intervals", run);
  const count = shop.products.length;
  const shown: { readonly index: number; readonly now: number }[] = [];
  const conversions = new Float64Array(count);
  let due: Conversion[] = [];
  const values: Record<string, number[]> = {
    "held, %": [],
    "width over exact binomial": [],
    "means outside, %": [],
    "posterior means outside, %": [],
  };
  for (let round = 1; round <= (at.at(-1) as number); round++) {
    const now = START_MS + round * shop.stepMs;
    for (const { impressionId, index, at } of due.filter((each) => each.at <= now)) {
      recommender.convert({ impressionId, reward: 1, at });
      conversions[index]++;
    }
    due = due.filter(({ at }) => at > now);
    const visit = shop.visit(round);
    const points = featurize(visit);
    const index = traffic === "uniform" ? random.below(count) : policy.choose({ points, now, round })[0].index;
    recommender.register({ impressionId: `${round}`, features: vectorAt(points, index, count), now });
    shown.push({ index, now });
    const delay = visit.delaysMs[shop.groups?.[index] ?? 0];
    if (visit.luck < visit.rates[index] && delay <= shop.windowMs) due.push({ impressionId: `${round}`, index, at: now + delay });
    if (!AT.includes(round)) continue;
    const impressions = new Float64Array(count);
    for (const each of shown) impressions[each.index] += matured(now - each.now);
    const exact = Array.from(conversions, (each, i) => exactWidth(each, Math.max(Math.round(impressions[i]), each)));
    let [held, width, outside, posteriorOutside] = [0, 0, 0, 0];
    for (let context = 0; context < CONTEXTS; context++) {
      const other = context === 0 ? visit : shop.visit(round);
      const { rates } = other;
      for (const [i, statement] of statementsOf(model, shop.products, other, now).entries()) {
        const { low, high } = statement.belief as { low: number; high: number };
        held += Number(low <= rates[i] && rates[i] <= high);
        width += high - low;
        outside += Number(isWrong(statement, { min: 0, max: 1 }));
        posteriorOutside += Number(statement.posterior < 0 || statement.posterior > 1);
      }
    }
    const all = CONTEXTS * count;
    values["held, %"].push((100 * held) / all);
    values["width over exact binomial"].push(width / CONTEXTS / exact.reduce((sum, each) => sum + each, 0));
    values["means outside, %"].push((100 * outside) / all);
    values["posterior means outside, %"].push((100 * posteriorOutside) / all);
  }
  return Object.entries(values).map(([metric, each]) => ({ metric, at, values: each }));
}

/** Width of the 95 % interval of Clopper and Pearson for k conversions of n impressions. */
function exactWidth(k: number, n: number): number {
  if (n === 0) return 1;
  const high = k === n ? 1 : rateAt((rate) => atMost(k, n, rate) > 0.025);
  const low = k === 0 ? 0 : rateAt((rate) => 1 - atMost(k - 1, n, rate) < 0.025);
  return high - low;
}

/** The greatest rate at which a condition holds that holds at smaller ones. */
function rateAt(holds: (rate: number) => boolean): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < 40; step++) {
    const middle = (low + high) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** P(at most k conversions of n impressions). */
function atMost(k: number, n: number, rate: number): number {
  let log = n * Math.log1p(-rate);
  let sum = Math.exp(log);
  for (let i = 1; i <= k; i++) {
    log += Math.log((n - i + 1) / i) + Math.log(rate / (1 - rate));
    sum += Math.exp(log);
  }
  return Math.min(sum, 1);
}

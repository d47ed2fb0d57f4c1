import { vectorAt } from "afterclick/research";
import { type Stream, stream } from "../../src/simulation/stream.ts";
import { type DefaultModel, defaultModel, type ModelOptions } from "../shop/default-model.ts";
import type { Shop, Visit } from "../shop/shop.ts";

/** A conversion that a visit leads to, if the product is shown. */
interface Reached {
  readonly goal?: string;
  readonly reward: number;
  readonly delayMs: number;
}

/** The sales of a shop whose rates are those of `Shop.visit`. */
export interface Sales {
  /** Options of the model beside its window. */
  readonly body: ModelOptions;
  /** Conversions of a visit that is shown this product. */
  reached(visit: Visit, index: number, random: Stream): readonly Reached[];
  /** The expected reward of a product within some time, of a visitor whose rate is this. */
  truth(rate: number, index: number, followedMs: number): number;
  /** The share of conversions that come by an age. */
  matured(ageMs: number): number;
}

interface Due extends Reached {
  readonly impressionId: string;
  readonly at: number;
}

/** Day 1 of 1970. */
const START_MS = 86_400_000;

/**
 * Plays visits until `rounds`, and calls `look` at some of them, with the expected reward of each product: the mean over the visitors that it
 * met, as far as their conversions have had time to come. Nobody knows of conversions later than the model is old. NaN for a product that
 * met none.
 *
 * `traffic`: products are shown "uniform"ly at random, or as the model chooses.
 */
export async function believed(
  {
    shop,
    sales,
    traffic,
    names,
  }: { readonly shop: Shop; readonly sales: Sales; readonly traffic: string; readonly names: readonly (string | number)[] },
  at: readonly number[],
  look: (round: number, model: DefaultModel, visit: Visit, truths: readonly number[]) => void,
): Promise<void> {
  const run = Number(names.at(-1));
  const model = await defaultModel(shop, run, sales.body);
  const { recommender, featurize } = model;
  const { policy } = recommender;
  const random = stream(...names, "traffic");
  const count = shop.products.length;
  let due: Due[] = [];
  const met: { readonly index: number; readonly rate: number; readonly now: number }[] = [];
  for (let round = 1; round <= (at.at(-1) as number); round++) {
    const now = START_MS + round * shop.stepMs;
    const [come, wait]: [Due[], Due[]] = [[], []];
    for (const each of due) (each.at <= now ? come : wait).push(each);
    due = wait;
    for (const { impressionId, goal, reward, at } of come) recommender.convert({ impressionId, reward, at, ...(goal && { goal }) });
    const visit = shop.visit(round);
    const points = featurize(visit);
    const index = traffic === "uniform" ? random.below(count) : policy.choose({ points, now, round })[0].index;
    recommender.register({ impressionId: `${round}`, features: vectorAt(points, index, count), now });
    met.push({ index, rate: visit.rates[index], now });
    for (const each of sales.reached(visit, index, random)) {
      if (each.delayMs <= shop.windowMs) due.push({ ...each, impressionId: `${round}`, at: now + each.delayMs });
    }
    if (!at.includes(round)) continue;
    const followed = Math.min(now - met[0].now, shop.windowMs);
    const rates = ratesOf(met, count, (then) => sales.matured(now - then));
    look(
      round,
      model,
      visit,
      rates.map((rate, i) => sales.truth(rate, i, followed)),
    );
  }
}

/** The mean rate of each product over the visitors that it met. */
function ratesOf(
  met: readonly { readonly index: number; readonly rate: number; readonly now: number }[],
  count: number,
  maturedSince: (then: number) => number,
): number[] {
  const [sums, weights] = [new Float64Array(count), new Float64Array(count)];
  for (const { index, rate, now } of met) {
    const weight = maturedSince(now);
    sums[index] += weight * rate;
    weights[index] += weight;
  }
  return Array.from(sums, (sum, index) => sum / weights[index]);
}

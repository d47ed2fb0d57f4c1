import { catalogueShop } from "../shop/catalogue-shop.ts";
import { productShop } from "../shop/product-shop.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, type Shop, type Timing } from "../shop/shop.ts";
import { isWrong, statementsOf } from "../shop/statement.ts";
import { atOnce, geometricMs } from "../shop/timing.ts";
import { CATALOGUE, TEN } from "../shop.ts";
import { believed, type Sales } from "./believed-world.ts";
import { type Stated, type StatedFigure, stated } from "./stated-figure.ts";

/** Impressions at which beliefs are looked at. */
const AT = [50, 200, 1000, 5000, 50_000];

const prompt: Timing = { laws: [atOnce], windowMs: DAY_MS };
const late: Timing = { laws: [geometricMs(2 * DAY_MS)], windowMs: 6 * DAY_MS };

/** Products take turns at being quick and slow. */
const mixed: Timing = { laws: [geometricMs(3 * HOUR_MS), geometricMs(3 * DAY_MS)], windowMs: 9 * DAY_MS };

/** The share of conversions that come within some time. */
const within = ({ laws }: Timing, followedMs: number, index = 0): number => laws[index % laws.length].cdf(followedMs / MINUTE_MS);

const maturedBy =
  (timing: Timing) =>
  (ageMs: number): number =>
    within(timing, Math.min(ageMs, timing.windowMs));

const conversions = (timing: Timing): Sales => ({
  body: {},
  reached: ({ rates, luck, delaysMs }, index) => (luck < rates[index] ? [{ reward: 1, delayMs: delaysMs[index % delaysMs.length] }] : []),
  truth: (rate, index, followedMs) => within(timing, followedMs, index) * rate,
  matured: maturedBy(timing),
});

/** Five times as many clicks as purchases. */
const CLICKS = 5;
/** Clicks at once, and late purchases. */
const clicksAndPurchases = (goals: object, weightOfClick = 0): Sales => ({
  body: { goals } as Sales["body"],
  reached: ({ rates, luck, delaysMs }, index) => [
    ...(luck < CLICKS * rates[index] ? [{ goal: "click", reward: 1, delayMs: MINUTE_MS }] : []),
    ...(luck < rates[index] ? [{ goal: "purchase", reward: 1, delayMs: Math.max(delaysMs[0], MINUTE_MS) }] : []),
  ],
  truth: (rate, _, followedMs) => (within(late, followedMs) + CLICKS * weightOfClick) * rate,
  matured: maturedBy(late),
});

/** Mean amount of a product, in euros. */
const priceOf = (index: number): number => 20 + 10 * index;

/** `sigma`: standard deviation of the logarithm of an amount. */
const orders = (sigma: number): Sales => ({
  body: { goals: { order: { weight: 1, value: { currency: "EUR" } } } },
  reached: ({ rates, luck, delaysMs }, index, random) => {
    const reward = Math.round(100 * priceOf(index) * Math.exp(sigma * random.normal() - sigma ** 2 / 2)) / 100;
    return luck < rates[index] ? [{ goal: "order", reward, delayMs: delaysMs[0] }] : [];
  },
  truth: (rate, index, followedMs) => within(late, followedMs) * rate * priceOf(index),
  matured: maturedBy(late),
});

interface World {
  readonly shop: (names: readonly (string | number)[]) => Shop;
  readonly sales: Sales;
}

const products = (timing: Timing, oneHot: boolean, sales = conversions(timing)): World => ({
  shop: (names) => productShop({ ...TEN, oneHot }, timing, names),
  sales,
});
const catalogue = (timing: Timing): World => ({
  shop: (names) => catalogueShop(CATALOGUE, timing, names),
  sales: conversions(timing),
});
const logOdds = (timing: Timing): Sales => ({ ...conversions(timing), body: { options: { rewards: "bernoulli" } } });
const beside = { click: { weight: 0 }, purchase: { weight: 1 } };
const after = { click: { weight: 0 }, purchase: { weight: 1, after: "click" } };
const costly = { click: { weight: -0.1 }, purchase: { weight: 1 } };

const worlds: Readonly<Record<string, World>> = {
  "ten products, one-hot, at once": products(prompt, true),
  "ten products, one-hot, 2 days": products(late, true),
  "ten products, one-hot, half slow": products(mixed, true),
  "ten products, ids, at once": products(prompt, false),
  "catalogue of 50, at once": catalogue(prompt),
  "catalogue of 50, 2 days": catalogue(late),
  "log-odds, one-hot, at once": products(prompt, true, logOdds(prompt)),
  "log-odds, one-hot, 2 days": products(late, true, logOdds(late)),
  "click of weight 0 and purchase, 2 days": products(late, true, clicksAndPurchases(beside)),
  "click that costs 0.1 and purchase, 2 days": products(late, true, clicksAndPurchases(costly, -0.1)),
  "purchase after click, 2 days": products(late, true, clicksAndPurchases(after)),
  "amounts of sigma 0.7, 2 days": products(late, true, orders(0.7)),
  "amounts of sigma 1.5, 2 days": products(late, true, orders(1.5)),
};
/** Worlds that are also played with the products that the model chooses, which takes ten times as long. */
const CHOSEN = ["ten products, one-hot, at once", "ten products, one-hot, half slow", "catalogue of 50, at once"];

/** The averages of products that explanations state. */
export const means: StatedFigure = {
  id: "means",
  title: "Average reward of an impression of each product, over the visitors that it met, as explanations state it",
  settings: Object.keys(worlds).flatMap((world) => [
    `${world}, uniform traffic`,
    ...(CHOSEN.includes(world) ? [`${world}, own traffic`] : []),
  ]),
  runs: 30,
  traced: ["ten products, one-hot, at once, uniform traffic"],
  async run(setting, run) {
    const name = Object.keys(worlds).find((each) => setting.startsWith(each)) as string;
    const { shop: open, sales } = worlds[name];
    const shop = open(["means", name, run]);
    const all: Stated[] = [];
    const traffic = setting.endsWith("own traffic") ? "own" : "uniform";
    await believed({ shop, sales, traffic, names: ["means", name, run] }, AT, (round, model, visit, truths) => {
      statementsOf(model, shop.products, visit).forEach((statement, index) => {
        const { belief } = statement;
        if (isWrong(statement, model.recommender.policy.range)) throw new RangeError(`${setting}: ${JSON.stringify(statement)}`);
        const metric = `${round} impressions`;
        const few = belief.tooFew || belief.average === null;
        all.push(
          few
            ? { metric, result: "too few" }
            : stated(metric, { value: belief.average as number, ...(belief as { low: number; high: number }) }, truths[index]),
        );
      });
    });
    return all;
  },
};

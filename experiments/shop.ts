// The worker's default configuration in simulated shops, which no default was chosen on, beside algorithms that wait for windows.
import { type Curve, type Experiment, type Paper, roundsOf, type Task } from "./runs/experiment.ts";
import {
  type Algorithm,
  AS_ZERO,
  algorithms,
  BETA_LAW,
  DEFAULT,
  gross,
  KNOWN,
  NULL,
  playBy,
  playIn,
  SHOPS_OWN,
  UNEXPLORING,
  WAITING,
} from "./shop/algorithms.ts";
import { type CatalogueSpec, catalogueShop } from "./shop/catalogue-shop.ts";
import { classificationShop } from "./shop/classification-shop.ts";
import { moneyShop } from "./shop/money-shop.ts";
import { curvesOf } from "./shop/play.ts";
import { type ProductSpec, productShop, tenRates } from "./shop/product-shop.ts";
import { randomShop } from "./shop/random-shop.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, type Shop, type Timing } from "./shop/shop.ts";
import { atOnce, geometricMs, logNormalMs } from "./shop/timing.ts";

const figures = [{ metric: "cumulative regret", x: "visitor", y: "cumulative regret" }];

/** An experiment with a shop for each setting, drawn anew in each run. */
function shops(
  id: string,
  title: string,
  settings: Readonly<Record<string, (names: readonly (string | number)[]) => Shop>>,
  rest: Partial<Experiment> = {},
): Experiment {
  return {
    id,
    title,
    runs: 12,
    settings: Object.keys(settings),
    algorithms: Object.keys(algorithms),
    figures,
    ratios: [{ metric: "cumulative regret", of: DEFAULT, to: [...AS_ZERO, ...WAITING, KNOWN, UNEXPLORING, ...SHOPS_OWN] }],
    // The algorithms are the same in all shops, and this one is cheap.
    algorithmsIn: "small-catalogue",
    traced: 200,
    async run(task: Task): Promise<readonly Curve[]> {
      const { setting, algorithm, run } = task;
      const whole = settings[setting](["shop", id, run]);
      const shop = { ...whole, horizon: roundsOf(whole.horizon, task) };
      return curvesOf(await playIn(shop, algorithm, run), shop);
    },
    ...rest,
  };
}

/** Conversions at once, which the algorithms do not know. */
const prompt: Timing = { laws: [atOnce], windowMs: DAY_MS };

export const CATALOGUE: CatalogueSpec = {
  horizon: 20_000,
  stepMs: (60 * DAY_MS) / 20_000,
  products: 50,
  categories: 6,
  brands: 10,
  attributes: [2, 3, 4, 5, 8, 0],
  rate: 0.03,
  spread: 1.1,
  own: 0.3,
  attributed: 0.3,
  interacting: 0.4,
};

const ofCatalogue = (timing: Timing, spec: Partial<CatalogueSpec> = {}) => {
  return (names: readonly (string | number)[]): Shop => catalogueShop({ ...CATALOGUE, ...spec }, timing, names);
};

/** Catalogues of a size, by the delays of their conversions. */
const catalogues = (spec: Partial<CatalogueSpec>) => ({
  "at once, window 1 day": ofCatalogue(prompt, spec),
  "4 hours, window 1 day": ofCatalogue({ laws: [geometricMs(4 * HOUR_MS)], windowMs: DAY_MS }, spec),
  "2 days, window 7 days": ofCatalogue({ laws: [geometricMs(2 * DAY_MS)], windowMs: 7 * DAY_MS }, spec),
  "4 days, log-normal, window 14 days, daily batches": ofCatalogue(
    { laws: [logNormalMs(4 * DAY_MS)], windowMs: 14 * DAY_MS, batchMs: DAY_MS },
    spec,
  ),
});

const catalogue = shops("catalogue", "50 products with attributes, 6 attributes of visitors, 60 days", catalogues({}));

/** A cheap size, of which more runs fit into the same time. */
const SMALL: Partial<CatalogueSpec> = {
  horizon: 5000,
  stepMs: (60 * DAY_MS) / 5000,
  products: 15,
  categories: 3,
  brands: 4,
  attributes: [3, 4],
};

/** As many products as a middling shop has. */
const largeCatalogue = shops(
  "large-catalogue",
  "1,000 products with attributes, 6 attributes of visitors, 60 days",
  {
    "2 days, window 7 days": ofCatalogue(
      { laws: [geometricMs(2 * DAY_MS)], windowMs: 7 * DAY_MS },
      { products: 1000, categories: 20, brands: 50 },
    ),
  },
  { algorithms: [DEFAULT, NULL, "default, waiting", "Beta, waiting", ...SHOPS_OWN, "uniform"] },
);

const smallCatalogue = shops("small-catalogue", "15 products with attributes, 2 attributes of visitors, 60 days", catalogues(SMALL));

export const TEN: ProductSpec = { horizon: 10_000, stepMs: (30 * DAY_MS) / 10_000, rates: tenRates };

const ofProducts = (timing: Timing, spec: Partial<ProductSpec> = {}) => {
  return (names: readonly (string | number)[]): Shop => productShop({ ...TEN, ...spec }, timing, names);
};

const late: Timing = { laws: [geometricMs(2 * DAY_MS)], windowMs: 6 * DAY_MS };
const metrics = ["cumulative regret", "share of mistakes", "stuck"];
const quarters = [2500, 5000, 7500, 10_000];

const products = shops(
  "products",
  "ten products at 1 to 10 %, 30 days",
  {
    "one-hot, at once": ofProducts(prompt, { oneHot: true }),
    "ids, at once": ofProducts(prompt),
    "one-hot, 2 days, window 6 days": ofProducts(late, { oneHot: true }),
    "one-hot, at once, drift": ofProducts(prompt, { oneHot: true, drift: true }),
    "one-hot, 2 days, window 6 days, drift": ofProducts(late, { oneHot: true, drift: true }),
  },
  { reported: [...quarters.map((at) => ({ metric: metrics[0], at })), ...metrics.slice(1).map((metric) => ({ metric, at: 10_000 }))] },
);

const long = shops(
  "long",
  "ten products at 1 to 10 %, 10,000 to 1,000,000 visitors",
  {
    "one-hot, at once, 10,000 visitors": ofProducts({ laws: [atOnce], windowMs: MINUTE_MS }, { oneHot: true }),
    "one-hot, at once, 100,000 visitors": ofProducts({ laws: [atOnce], windowMs: MINUTE_MS }, { oneHot: true, horizon: 100_000 }),
    "one-hot, at once, 1,000,000 visitors": ofProducts({ laws: [atOnce], windowMs: MINUTE_MS }, { oneHot: true, horizon: 1_000_000 }),
  },
  { algorithms: [DEFAULT, "Beta, waiting", "uniform"], ratios: [{ metric: metrics[0], of: DEFAULT, to: ["Beta, waiting"] }] },
);

const VISITORS = 5000;

/** @param share the mean delay as a share of the horizon. The window is three times as long. */
const ofClasses = (disjoint: boolean, share: number) => {
  const span = { horizon: VISITORS, stepMs: HOUR_MS };
  const meanMs = share * VISITORS * span.stepMs;
  const timing: Timing = share === 0 ? { laws: [atOnce], windowMs: span.stepMs } : { laws: [geometricMs(meanMs)], windowMs: 3 * meanMs };
  return (names: readonly (string | number)[]): Shop => classificationShop({ ...span, disjoint }, timing, names);
};

const classification = shops("classification", "20 numeric features of visitors, 5 arms, 5,000 visitors: mistakes", {
  "encoder, at once": ofClasses(false, 0),
  "encoder, mean 5 % of the horizon": ofClasses(false, 0.05),
  "encoder, mean 25 % of the horizon": ofClasses(false, 0.25),
  "disjoint, at once": ofClasses(true, 0),
  "disjoint, mean 5 % of the horizon": ofClasses(true, 0.05),
  "disjoint, mean 25 % of the horizon": ofClasses(true, 0.25),
});

const slowly: Timing = { laws: [geometricMs(HOUR_MS), geometricMs(3 * DAY_MS)], windowMs: 9 * DAY_MS };
const FOUR_WEEKS = { horizon: 20_000, stepMs: (28 * DAY_MS) / 20_000 };
const tens = (value: (i: number) => number): number[] => Array.from({ length: 10 }, (_, i) => value(i));

const slow = shops("slow", "ten products, buyers after an hour or after three days, window 9 days, 28 days", {
  "half slow, all at 3 %": ofProducts(slowly, { ...FOUR_WEEKS, rates: tens(() => 0.03), groups: tens((i) => Number(i >= 5)) }),
  "the best slow, at 6 %": ofProducts(slowly, {
    ...FOUR_WEEKS,
    rates: tens((i) => (i === 9 ? 0.06 : 0.03)),
    groups: tens((i) => Number(i === 9)),
  }),
});

const random = shops("random", "shops drawn at random, 20,000 visitors in 30 to 90 days", {
  "window 10 to 30 % of the horizon": (names) => randomShop("long", [...names, "long"]),
  "window 1 to 5 % of the horizon": (names) => randomShop("short", [...names, "short"]),
});

const GROSS = "default, refunds not told";
const moneyAlgorithms: Readonly<Record<string, Algorithm>> = {
  ...Object.fromEntries(
    [
      ...[DEFAULT, ...AS_ZERO, ...WAITING, "default, no delay", UNEXPLORING, BETA_LAW, ...SHOPS_OWN, "uniform"]
        // It takes no amounts.
        .filter((name) => !name.startsWith("LinTS")),
    ].map((name) => [name, algorithms[name]]),
  ),
  [GROSS]: gross,
};

const moneySettings: Readonly<Record<string, Omit<Parameters<typeof moneyShop>[0], "horizon">>> = {
  "dear products late, told": { money: "dear products", isTold: true },
  "dear products late, not told": { money: "dear products" },
  "dear orders late": { money: "dear orders" },
  "returns after 8 to 12 days": { money: "returns" },
};

const money: Experiment = {
  id: "money",
  title: "ten products at 20 to 200 EUR, of which dear ones are bought later, or some returned: regret in EUR, 60 days",
  runs: 12,
  settings: Object.keys(moneySettings),
  algorithms: Object.keys(moneyAlgorithms),
  figures,
  ratios: [{ metric: metrics[0], of: DEFAULT, to: Object.keys(moneyAlgorithms).filter((name) => name !== DEFAULT) }],
  traced: 1000,
  async run(task) {
    const { setting, algorithm, run } = task;
    const spec = { ...moneySettings[setting], horizon: roundsOf(20_000, task) };
    const shop = moneyShop(spec, ["shop", "money", setting, run]);
    return curvesOf(await playBy(moneyAlgorithms[algorithm], shop, algorithm, run), shop);
  },
};

export const paper: Paper = {
  id: "shop",
  title: "The worker's default configuration in simulated shops",
  experiments: [catalogue, largeCatalogue, smallCatalogue, products, long, classification, slow, random, money],
};

import type { Recommender } from "afterclick";
import { featurizer } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { AS_ZERO, algorithms, DEFAULT, playIn } from "../../../experiments/shop/algorithms.ts";
import { catalogueShop } from "../../../experiments/shop/catalogue-shop.ts";
import { classificationShop } from "../../../experiments/shop/classification-shop.ts";
import { bodyFor, defaultModel, learnerOf } from "../../../experiments/shop/default-model.ts";
import { knowingDelays } from "../../../experiments/shop/known-delays.ts";
import type { Learner } from "../../../experiments/shop/learner.ts";
import { moneyShop } from "../../../experiments/shop/money-shop.ts";
import { curvesOf, type Feedback, play } from "../../../experiments/shop/play.ts";
import { productShop, tenRates } from "../../../experiments/shop/product-shop.ts";
import { randomShop } from "../../../experiments/shop/random-shop.ts";
import { DAY_MS, HOUR_MS, type Shop, type Visit } from "../../../experiments/shop/shop.ts";
import { isWrong } from "../../../experiments/shop/statement.ts";
import { atOnce, geometricMs } from "../../../experiments/shop/timing.ts";
import { fixed } from "../../../src/simulation/delay-law.ts";
import { stream } from "../../../src/simulation/stream.ts";
import { withVocabulary } from "../../../worker/domain/model/encoding.ts";
import { configureModel } from "../../../worker/domain/model/model.ts";
import { matrixOf } from "../../support/reference/matrix.ts";

const prompt = { laws: [atOnce], windowMs: HOUR_MS };

/** One visitor an hour, and two products. The first converts after an hour and a half; the second, which is slow, after a day. */
const tiny = (rest: Partial<Shop> = {}): Shop => ({
  horizon: 40,
  stepMs: HOUR_MS,
  windowMs: 5 * HOUR_MS,
  laws: [fixed(90), fixed(24 * 60)],
  products: [{ id: "a" }, { id: "b" }],
  groups: [0, 1],
  visit: () => ({ rates: [1, 0.5], luck: 0.4, delaysMs: [1.5 * HOUR_MS, DAY_MS] }),
  ...rest,
});

/** Shows one product always. Notes what it is told, and in which round, in hours from the first impression. */
function recorder(index: number): Learner & { readonly told: [number, string, number][] } {
  const told: [number, string, number][] = [];
  let round = 0;
  const hour = (now: number): number => (now - DAY_MS) / HOUR_MS;
  return {
    told,
    choose(_points, _now, next) {
      round = next;
      return index;
    },
    show: (id, { now }) => void (id === "1" && told.push([round, "show", hour(now)])),
    convert: (id, at) => void (id === "1" && told.push([round, "convert", hour(at)])),
  };
}

const told = (feedback: Feedback, index = 0, shop = tiny()): [number, string, number][] => {
  const learner = recorder(index);
  play(learner, shop, () => new Float64Array(2), feedback);
  return learner.told;
};

// The round of a note is that of the latest choice before it. The first impression is that of round 1, at hour 1.
describe("what a learner is told, and when", () => {
  // Batches are delivered at hours 0, 24 and 48 from the first impression's day on.
  it.each<[Feedback, number | undefined, string]>([
    ["delivered", undefined, "1 show 1, 2 convert 2.5"],
    ["as zero", undefined, "1 show 1, 2 convert 1"],
    ["waiting", undefined, "5 show 6, 5 convert 6"],
    ["no delay", undefined, "1 show 1, 1 convert 1"],
    ["delivered", DAY_MS, "1 show 1, 23 convert 2.5"],
    ["waiting", DAY_MS, "23 show 24, 23 convert 24"],
  ])("%s, in batches of %s ms", (feedback, batchMs, notes) => {
    expect(
      told(feedback, 0, tiny({ batchMs }))
        .map((note) => note.join(" "))
        .join(", "),
    ).toBe(notes);
  });

  it("knows the delays of each product from the start, and no rate, as the oracle", async () => {
    const shop = tiny({ windowMs: 48 * HOUR_MS, dimension: 2 });
    const points = Float64Array.of(1, 0, 0, 1);
    const rows = [
      [1, 0],
      [0, 1],
    ];
    const believed = async (make: (recommender: Recommender) => Learner) => {
      const { recommender } = await defaultModel(shop, 1, { options: { rewards: "linear" } });
      const learner = make(recommender);
      learner.choose(points, DAY_MS, 1);
      for (const index of [0, 1]) {
        for (let i = 0; i < 50; i++) {
          const id = `${index}-${i}`;
          learner.show(id, { index, features: Float64Array.from(rows[index]), now: DAY_MS + i });
          if (i % 5 === 0 && index === 0) learner.convert(id, DAY_MS + i + 1.5 * HOUR_MS);
        }
      }
      learner.choose(points, DAY_MS + 12 * HOUR_MS, 2);
      learner.show("last", { index: 0, features: Float64Array.of(0, 0), now: DAY_MS + 12 * HOUR_MS });
      return recommender.policy.interval(rows);
    };
    const [oracle, learnt] = [
      await believed((recommender) => knowingDelays(recommender, shop, stream("oracle"))),
      await believed((recommender) => learnerOf(recommender)),
    ];
    // Half a day says all about the first product, and nothing about the second, whose conversions take a day.
    expect(oracle[0].average / learnt[0].average).toBeCloseTo(1, 1);
    expect(oracle[1].high).toBeGreaterThan(2 * learnt[1].high);
  });

  it.each(["delivered", "waiting", "no delay"] as const)("hears of no conversion after the window: %s", (feedback) => {
    expect(told(feedback, 1).map(([, what]) => what)).toEqual(["show"]);
  });
});

it("measures regret, mistakes, and the traffic of slow products", () => {
  const shop = tiny({ horizon: 400, stepMs: DAY_MS / 10, oneBest: true });
  const [regret, mistakes, stuck, , slow] = curvesOf(
    play(recorder(1), shop, () => new Float64Array(2), "no delay"),
    shop,
  );
  expect(Array.from(regret.values).at(-1)).toBeCloseTo(200);
  expect(Array.from(mistakes.values).at(-1)).toBe(1);
  expect(stuck.values).toEqual([1]);
  expect(slow).toEqual({ metric: "share of slow products, from the second week on", at: [400], values: [1] });
});

const catalogueOf = (horizon: number, run: number): Shop =>
  catalogueShop(
    {
      ...{ horizon, stepMs: HOUR_MS, products: 12, categories: 3, brands: 4, attributes: [2, 0, 5] },
      ...{ rate: 0.05, spread: 1, own: 0.3, attributed: 0.3, interacting: 0.4, drift: true },
    },
    { laws: [geometricMs(DAY_MS)], windowMs: DAY_MS },
    ["test", run],
  );

const shops: Record<string, (run: number) => Shop> = {
  catalogue: (run) => catalogueOf(100, run),
  products: (run) => productShop({ horizon: 100, stepMs: HOUR_MS, rates: tenRates, drift: true }, prompt, ["test", run]),
  classification: (run) => classificationShop({ horizon: 100, stepMs: HOUR_MS, disjoint: false }, prompt, ["test", run]),
  disjoint: (run) => classificationShop({ horizon: 100, stepMs: HOUR_MS, disjoint: true }, prompt, ["test", run]),
  random: (run) => randomShop("long", ["test", run]),
};

const visits = (shop: Shop, count: number): Visit[] => Array.from({ length: count }, (_, i) => shop.visit(i + 1));

describe.each(Object.entries(shops))("the shop %s", (_, made) => {
  it("has the same visits whenever it is made, and others in another run", () => {
    expect(visits(made(0), 100)).toEqual(visits(made(0), 100));
    expect(visits(made(0), 100)).not.toEqual(visits(made(1), 100));
  });

  it("has a rate for each product, and can be encoded by the default model", async () => {
    const shop = made(3);
    const { featurize, recommender } = await defaultModel(shop, 0);
    for (const visit of visits(shop, 20)) {
      expect(visit.rates.length).toBe(shop.products.length);
      for (const rate of Array.from(visit.rates)) expect(rate >= 0 && rate <= 1).toBe(true);
      expect(matrixOf(featurize(visit)).length).toBe(shop.products.length * recommender.policy.dimension);
    }
  });
});

it("states to the PUT of a default model only what the features of the shop need", async () => {
  const window = { ms: HOUR_MS };
  expect(bodyFor(shops.products(0))).toEqual({ window });
  const disjoint = shops.disjoint(0);
  expect(bodyFor(disjoint)).toEqual({ window, options: { dimension: disjoint.dimension } });
  const classification = shops.classification(0);
  expect(bodyFor(classification)).toEqual({ window, encoder: { numeric: classification.numeric } });
  // Its ranges do not change the rest of the encoder.
  const { numeric, ...rest } = (await configureModel(bodyFor(classification))).encoder ?? {};
  expect(rest).toEqual((await configureModel({ window })).encoder);
  // Without them the model would not do.
  const plain = featurizer(withVocabulary(await configureModel({ window }), classification.products).encoder);
  expect(() => plain.points(classification.visit(1).context, classification.products)).toThrow(/range/);
});

it("tells the default that takes pending for zero of no delay, with and without its search for changes", async () => {
  const choices = async (delays: Parameters<typeof productShop>[1], name: string) => {
    const spec = { horizon: 1500, stepMs: HOUR_MS, rates: [0.1, 0.2, 0.3], oneHot: true, drift: true };
    return (await playIn(productShop(spec, delays, ["test"]), name, 0)).choices;
  };
  const late = { laws: [geometricMs(5 * DAY_MS)], windowMs: 15 * DAY_MS };
  const [promptly, lately] = [await choices(prompt, DEFAULT), await choices(late, DEFAULT)];
  // Where conversions come at once, there is nothing to conceal. The search for changes is another matter.
  expect(await choices(prompt, AS_ZERO[0])).toEqual(promptly);
  expect(await choices(prompt, AS_ZERO[1])).not.toEqual(promptly);
  for (const name of AS_ZERO) expect(await choices(late, name)).not.toEqual(lately);
});

it("tries what a worker makes of a PUT with a window", async () => {
  const shop = shops.catalogue(0);
  const { recommender, featurize } = await defaultModel(shop, 5);
  const config = await configureModel({ window: { ms: shop.windowMs } });
  expect(recommender.policy.id).toBe(config.policy);
  expect(recommender.policy.dimension).toBe(config.encoder?.dimension);
  const visit = shop.visit(1);
  const declared = { ...config, encoder: { ...config.encoder, numeric: shop.numeric } as NonNullable<typeof config.encoder> };
  const { points } = featurizer(withVocabulary(declared, shop.products).encoder);
  expect(matrixOf(featurize(visit))).toEqual(matrixOf(points(visit.context, shop.products)));
});

it.each(Object.keys(algorithms))("%s plays, the same way each time", async (name) => {
  // Long enough for windows to close.
  const [{ choices }, again] = [await playIn(catalogueOf(40, 0), name, 0), await playIn(catalogueOf(40, 0), name, 0)];
  expect(choices).toEqual(again.choices);
  expect(new Set(choices).size).toBeGreaterThan(1);
});

it.each(["default", "Beta, waiting", "SquareCB, waiting", "LinTS, waiting"])(
  "%s loses less than half of what uniform loses",
  async (name) => {
    const lost = async (algorithm: string): Promise<number> => {
      const shop = productShop({ horizon: 1000, stepMs: HOUR_MS, rates: [0.1, 0.2, 0.7] }, prompt, ["test"]);
      return (await playIn(shop, algorithm, 0)).regret.reduce((sum, each) => sum + each, 0);
    };
    expect(await lost(name)).toBeLessThan((await lost("uniform")) / 2);
  },
);

it.each([
  ["a mean below the range", { mean: -0.1, average: 0, low: 0, high: 0.1 }, 0],
  ["an end above the range", { mean: 0.5, average: 0.5, low: 0.2, high: 1.77 }, 0.5],
  ["an average outside its interval", { mean: 0.5, average: 0.5, low: 0.6, high: 0.7 }, 0.5],
  ["an interval without a width", { mean: 0, average: 0, low: 0, high: 0 }, 0],
  ["a recommended mean outside the range", { mean: 0.5, average: 0.5, low: 0.4, high: 0.6 }, -0.01],
  ["no number", { mean: Number.NaN, average: 0.5, low: 0.4, high: 0.6 }, 0.5],
])("finds a statement wrong: %s", (_, belief, recommended) => {
  expect(isWrong({ belief, recommended }, { min: 0, max: 1 })).toBe(true);
  expect(isWrong({ belief: { mean: 0.2, average: 0, low: 0, high: 0.1 }, recommended: 0 }, { min: 0, max: 1 })).toBe(false);
});

describe("money", () => {
  const spec = { horizon: 3000, money: "returns" } as const;

  it("has orders whose dear ones come later, and refunds inside the window", () => {
    const shop = moneyShop({ horizon: 3000, money: "dear orders" }, ["test"]);
    const seen = visits(shop, 3000).map(({ amounts, delaysMs }) => [(amounts as number[])[0], delaysMs[0]]);
    const late = (rows: number[][]) => rows.reduce((sum, [, delay]) => sum + delay, 0) / rows.length;
    const order = seen.toSorted((a, b) => a[0] - b[0]);
    expect(late(order.slice(1500))).toBeGreaterThan(2 * late(order.slice(0, 1500)));
    for (const { refund } of visits(moneyShop(spec, ["test"]), 100)) {
      expect(refund?.afterMs).toBeGreaterThanOrEqual(8 * DAY_MS);
      expect(refund?.afterMs).toBeLessThanOrEqual(12 * DAY_MS);
      const shares = Array.from(refund?.shares ?? []);
      expect(shares.reduce((sum, each) => sum + each, 0) / shares.length).toBeCloseTo(0.255);
    }
  });

  it("goes back with a refund: the learner is told, and the default believes the net", async () => {
    const shop: Shop = {
      ...tiny({ horizon: 400, stepMs: HOUR_MS, windowMs: 100 * HOUR_MS, meanOrder: 50 }),
      visit: () => ({
        ...{ rates: [1, 1], luck: 0, delaysMs: [HOUR_MS, HOUR_MS], amounts: [50, 50] },
        refund: { shares: [0, 1], luck: 0.5, afterMs: 10 * HOUR_MS },
      }),
    };
    const { recommender } = await defaultModel({ ...shop, dimension: 2 }, 1);
    const own = learnerOf(recommender, shop);
    const told: number[] = [];
    const by = (round: number): number => round % 2;
    const learner: Learner = {
      ...own,
      choose: (_points, _now, round) => by(round),
      convert(id, at, reward = 1, previous = 0) {
        told.push(reward - previous);
        own.convert(id, at, reward, previous);
      },
    };
    const { expected, regret } = play(learner, shop, () => Float64Array.of(1, 0, 0, 1), "delivered");
    expect([expected[0], regret[0], expected[1], regret[1]]).toEqual([0, 50, 50, 0]);
    expect(new Set(told)).toEqual(new Set([50, -50]));
    const [kept, returned] = recommender.policy.predict([
      [1, 0],
      [0, 1],
    ]).mean;
    expect(kept).toBeGreaterThan(45);
    expect(returned).toBeLessThan(15);
  });
});

import { delayLinUcb, Recommender } from "afterclick";
import { describe, expect, it } from "vitest";
import { Delays } from "../../../../src/model/delay/delays.ts";
import { OwnLaws } from "../../../../src/model/delay/own-laws.ts";
import { stream } from "../../../support/scenario.ts";

// Delays that differ by product: each product is one feature.

const WINDOW = { rounds: 1024 };
const PRODUCTS = 4;

interface Event {
  readonly round: number;
  readonly key: number;
  /** Absent for an impression without conversion. */
  readonly delay?: number;
}

const oneHot = (key: number): Float64Array => Float64Array.from({ length: PRODUCTS }, (_, i) => Number(i === key));
/** A regression in which each product has one impression and a reward of 1. */
const equal = { gram: Float64Array.of(1, 0, 1, 0, 0, 1, 0, 0, 0, 1), moment: new Float64Array(PRODUCTS).fill(1) };
/** The ratio of each product. */
const ratiosOf = (laws: OwnLaws): Float64Array => laws.corrected(equal);
const ONES = Float64Array.of(1, 1, 1, 1);

/** Impressions of the products in turn. A conversion has a delay of about `means[key]`, whether it has come or not. */
function history(rounds: number, means: readonly number[], seed: number, rate = 0.5): Event[] {
  const random = stream(seed);
  return Array.from({ length: rounds }, (_, i) => {
    const key = i % PRODUCTS;
    const delay = Math.floor(-means[key] * Math.log(1 - random()));
    return { round: i + 1, key, ...(random() < rate && delay < WINDOW.rounds && { delay }) };
  });
}

/** Laws after a history, and the common law. Conversions later than the last impression have not come. */
function learnt(events: readonly Event[], order: readonly number[] = events.map((_, i) => i)) {
  const common = new Delays({ resolution: 1, cohort: 16, span: WINDOW.rounds });
  const now = events.length;
  const laws = new OwnLaws(
    WINDOW,
    { dimension: PRODUCTS, from: 0, corrects: true },
    () => common.curve(now),
    () => 0,
  );
  common.advance(now);
  for (const { round, key } of events) {
    common.advance(now);
    common.append(round);
    laws.append(oneHot(key), { round });
  }
  for (const place of order) {
    const { round, key, delay } = events[place];
    if (delay === undefined || round + delay > now) continue;
    common.convert(round, delay);
    laws.observe({ features: oneHot(key), slot: 0, round }, 1, 1, undefined, { after: delay });
  }
  return { laws, common };
}

function saved(laws: OwnLaws): number[][] {
  const sections: number[][] = [];
  laws.save({ numbers: (...arrays) => void sections.push(...arrays.map((each) => Array.from(each))) });
  return sections;
}

const reading = (sections: readonly (readonly number[])[]) => {
  const left = sections.map((each) => Float64Array.from(each));
  return { numbers: () => left.shift() ?? new Float64Array(0) };
};

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);
const average = (values: readonly number[]): number => sum(values) / values.length;

describe("delays that differ by product", () => {
  it("correct nothing without conversions, nor with a single product", () => {
    expect(ratiosOf(learnt(history(500, [1, 1, 1, 1], 1, 0)).laws)).toEqual(ONES);
    const single = history(500, [5, 5, 5, 5], 1).map((each) => ({ ...each, key: 0 }));
    expect(ratiosOf(learnt(single).laws)).toEqual(ONES);
  });

  it("leave a product without conversions as it is, and one of which nothing is known", () => {
    const events = history(900, [200, 20, 20, 20], 3).filter(({ key }) => key !== 2);
    const { laws } = learnt(events.map((each, i) => ({ ...each, round: i + 1, ...(each.key === 3 && { delay: undefined }) })));
    const [slow, , unknown, silent] = ratiosOf(laws);
    expect(slow).toBeGreaterThan(1);
    expect([unknown, silent]).toEqual([1, 1]);
  });

  it("correct little if delays do not differ", () => {
    const all = Array.from({ length: 10 }, (_, seed) => Array.from(ratiosOf(learnt(history(3000, [150, 150, 150, 150], seed)).laws)));
    for (let key = 0; key < PRODUCTS; key++) expect(Math.abs(average(all.map((each) => each[key])) - 1)).toBeLessThan(0.02);
    for (const ratio of all.flat()) expect(Math.abs(ratio - 1)).toBeLessThan(0.1);
  });

  it("are learnt: the ratios are those of the true laws", () => {
    const means = [300, 300, 10, 10];
    const rounds = 1500;
    const found = Array.from({ length: 10 }, (_, seed) => {
      const events = history(rounds, means, seed);
      const { laws, common } = learnt(events);
      const curve = common.curve(rounds);
      const own = ratiosOf(laws);
      // The naive reference: each impression by itself, with the law that its conversions were drawn from.
      const truth = means.map((mean, key) => {
        const ages = events.filter((each) => each.key === key).map(({ round }) => rounds - round + 1);
        const matured = ages.map((age) => (1 - Math.exp(-age / mean)) / (1 - Math.exp(-WINDOW.rounds / mean)));
        return average(ages.map((age) => curve.below(age))) / average(matured);
      });
      return Array.from(own, (each, key) => each / truth[key]);
    });
    for (let key = 0; key < PRODUCTS; key++) expect(Math.abs(average(found.map((each) => each[key])) - 1)).toBeLessThan(0.04);
  });

  it("correct the features that products share as well as their own", () => {
    const { laws } = learnt(history(1500, [300, 300, 10, 10], 2));
    const ratios = ratiosOf(laws);
    // Own features, then two that products share. The second differs between the impressions of a product.
    const impressions = [3, 5, 2, 4].flatMap((count, key) => Array.from({ length: count }, (_, i) => [...oneHot(key), 1, i]));
    const d = PRODUCTS + 2;
    const gram = Array.from({ length: d }, (_, i) =>
      Array.from({ length: i + 1 }, (_, j) => sum(impressions.map((x) => x[i] * x[j]))),
    ).flat();
    const moment = Array.from({ length: d }, (_, i) => sum(impressions.map((x) => x[i])));
    const reference = Array.from({ length: d }, (_, i) => sum(impressions.map((x) => ratios[x.indexOf(1)] * x[i])));
    const corrected = laws.corrected({ gram: Float64Array.from(gram), moment: Float64Array.from(moment) });
    for (let i = 0; i < d; i++) expect(corrected[i]).toBeCloseTo(reference[i], 10);
    expect(reference[PRODUCTS]).not.toBeCloseTo(moment[PRODUCTS], 1);
  });

  it("do not depend on the order of conversions, and a retraction restores them", () => {
    const events = history(1200, [200, 100, 20, 20], 5);
    const { laws } = learnt(events);
    const before = saved(laws);
    const ratios = ratiosOf(laws);
    const reversed = learnt(events, events.map((_, i) => i).reverse());
    expect(ratiosOf(reversed.laws)).toEqual(ratios);
    expect(saved(reversed.laws)).toEqual(before);
    const late = { features: oneHot(1), slot: 0, round: 900 };
    laws.observe(late, 1, 1, undefined, { after: 200 });
    expect(ratiosOf(laws)).not.toEqual(ratios);
    laws.observe(late, 1, 1, 1, { before: 200, after: 90 });
    laws.observe(late, 1, 0, 1, { before: 90 });
    expect(ratiosOf(laws)).toEqual(ratios);
    expect(saved(laws)).toEqual(before);
  });

  it("are the same from a snapshot, which is refused if malformed", () => {
    const { laws, common } = learnt(history(1200, [200, 100, 20, 20], 7));
    const ratios = ratiosOf(laws);
    const fresh = () =>
      new OwnLaws(
        WINDOW,
        { dimension: PRODUCTS, from: 0, corrects: true },
        () => common.curve(1200),
        () => 0,
      );
    const sections = saved(laws);
    const restored = fresh();
    restored.load(reading(sections));
    expect(saved(restored)).toEqual(sections);
    expect(ratiosOf(restored)).toEqual(ratios);
    const [now, keys, ratioKeys, solved, first, ...rest] = sections;
    for (const wrong of [
      [0, 0, 1, 2],
      [0, 2, 1, 3],
      [0, 1, 2, 4],
      [0, 1, 2, 2.5],
    ]) {
      expect(() => fresh().load(reading([now, wrong, ratioKeys, solved, first, ...rest]))).toThrow("do not fit together");
      expect(() => fresh().load(reading([now, keys, wrong, solved, first, ...rest]))).toThrow("do not fit together");
    }
    for (const wrong of [[], first.slice(1), [...first, 0], [0, 1e9], [0, -1], [0, 0.5], first.map((each) => -each)]) {
      expect(() => fresh().load(reading([now, keys, ratioKeys, solved, wrong, ...rest]))).toThrow("do not fit together");
    }
    expect(() => fresh().load(reading([now, keys, ratioKeys, solved.with(0, 0), first, ...rest]))).toThrow("do not fit together");
  });
});

describe("a policy with delays that differ by product", () => {
  /** Two products at the same rate. Buyers of the first take 200 rounds. */
  async function played(options: object) {
    const recommender = await Recommender.create({ policy: delayLinUcb({ dimension: 2, ...options }), window: WINDOW });
    const { policy } = recommender;
    const random = stream(11);
    const due: (() => void)[][] = [];
    for (let round = 1; round <= 1500; round++) {
      for (const convert of due[round] ?? []) convert();
      const key = round % 2;
      const impression = policy.append({ round, features: [1 - key, key] });
      if (random() >= 0.4) continue;
      const at = round + 1 + (key === 0 ? Math.floor(400 * random()) : 0);
      due[at] ??= [];
      due[at].push(() => policy.observe({ impression, reward: 1 }));
    }
    return recommender;
  }

  const candidates = [
    [1, 0],
    [0, 1],
  ];

  it("does not take the product with slow buyers for the worse one", async () => {
    const [slow, fast] = (await played({})).policy.predict(candidates).mean;
    expect(Math.abs(slow - fast)).toBeLessThan(0.05);
    const [slowInCommon, fastInCommon] = (await played({ delayComponents: 2 })).policy.predict(candidates).mean;
    expect(fastInCommon - slowInCommon).toBeGreaterThan(0.05);
  });
});

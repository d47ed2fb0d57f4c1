import { type Evaluation, evaluate } from "afterclick";
import { tooFew } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { effectiveRewards, stated } from "../../../src/evaluation/estimate/enough.ts";
import { LawsByProduct } from "../../../src/evaluation/log/laws-by-product.ts";
import { ProductLimit } from "../../../src/evaluation/log/product-limit.ts";
import { geometric } from "../../../src/simulation/delay-law.ts";
import { stream } from "../../../src/simulation/stream.ts";
import { drawn, estimateIn, evaluated, LOGGED, RATES } from "../../support/logs/logged-decisions.ts";
import { type PlainDecision, studentAt975 } from "../../support/reference/plain-evaluation.ts";
import { unboundedEvaluation } from "../../support/reference/unbounded-evaluation.ts";

const estimatesOf = ({ logged, ips, snips, doublyRobust }: Evaluation) => [logged, ips, snips, doublyRobust].map(estimateIn);

describe("estimates", () => {
  const log: PlainDecision[] = [
    { shownAt: 0, count: 2, index: 0, probability: 0.5, conversions: [{ at: 0, reward: 1 }] },
    { shownAt: 1, count: 2, index: 1, probability: 0.25, conversions: [] },
    { shownAt: 2, count: 2, index: 1, probability: 0.25, conversions: [{ at: 2, reward: 1 }] },
    { shownAt: 3, count: 2, index: 0, probability: 0.75, conversions: [] },
  ];
  const policy = (): number[] => [0.5, 0.5];

  it("are the sums of their definitions", async () => {
    const result = await unboundedEvaluation({ log, policy, asOf: 10, window: { ms: 5 }, split: 0 });
    const weights = [1, 2, 2, 2 / 3];
    const sum = weights.reduce((a, b) => a + b);
    expect(result.logged.value).toBeCloseTo(0.5, 12);
    expect(result.ips.value).toBeCloseTo(3 / 4, 12);
    expect(result.snips.value).toBeCloseTo(3 / sum, 12);
    expect(result.weights).toEqual({ mean: sum / 4, greatest: 2, effective: sum ** 2 / weights.reduce((a, b) => a + b * b, 0) });
    expect(result.decisions).toEqual({ learnt: 0, evaluated: 4, tooYoung: 0 });
    expect(result.immature).toEqual({ decisions: 0, conversions: 0 });
    // The reward model has learnt nothing, so it expects nothing.
    expect(result.doublyRobust.value).toBeCloseTo(result.ips.value, 12);
    // Without features the reward model is the mean of the learnt rewards, here the first two: 1/2.
    const half = await unboundedEvaluation({ log, policy, asOf: 10, window: { ms: 5 } });
    expect(half.doublyRobust.value).toBeCloseTo(0.5 + (2 * 0.5 - (2 / 3) * 0.5) / 2, 12);
  });

  it("count by one over the probability that a conversion would have come, and leave out the young", async () => {
    const result = await unboundedEvaluation({ log, policy, asOf: 4, window: { ms: 5 }, split: 0, maturity: (age) => age / 5 });
    expect(result.ips.value).toBeCloseTo((1 / 0.8 + 2 / 0.4) / 4, 12);
    expect(result.immature.decisions).toBe(1);
    expect(result.immature.conversions).toBeCloseTo(1 - (0.8 + 0.6 + 0.4 + 0.2) / 4, 12);
    const younger = await unboundedEvaluation({ log, policy, asOf: 3.5, window: { ms: 5 }, split: 0, maturity: (age) => age / 5 });
    expect(younger.decisions).toEqual({ learnt: 0, evaluated: 3, tooYoung: 1 });
  });

  it("know neither what came after the time as of which they are, nor what came after the window", async () => {
    const known = async (asOf: number, ms: number, at: number) => {
      const one = [{ shownAt: 0, count: 1, index: 0, probability: 1, conversions: [{ at, reward: 1 }] }];
      return (await unboundedEvaluation({ log: one, policy: () => [1], asOf, window: { ms }, split: 0, maturity: () => 1 })).ips.value;
    };
    expect([await known(3, 5, 3), await known(3, 5, 4), await known(9, 5, 5), await known(9, 5, 6)]).toEqual([1, 0, 1, 0]);
  });

  it("are the same, to the bit, whatever the order of the log", async () => {
    const random = stream("order");
    const long = drawn(300, random, () => 1 + random.below(50));
    expect(await evaluated(long.toReversed())).toEqual(await evaluated(long));
  });

  it("are the same, to the bit, whether a log is an array or makes its decisions when they are asked for", async () => {
    const random = stream("made");
    const long = drawn(300, random, () => 1 + random.below(50)).reverse();
    const log = { length: long.length, at: (number: number) => ({ ...long[number] }) };
    expect(await evaluate({ log, policy: () => [0, 0, 1], asOf: 300, window: { ms: 1000 } })).toEqual(await evaluated(long));
    for (const wrong of ["log", { length: 3 }, { length: 0.5, at: log.at }, null])
      await expect(evaluate({ log: wrong as never, policy: () => [1], asOf: 1, window: "none" })).rejects.toThrow(
        /^log: expected an array of decisions/,
      );
  });

  it("of the log's own policy need no weights", async () => {
    const { logged, ips, snips, weights } = await evaluated(drawn(400, stream("own")), { policy: () => LOGGED });
    expect(weights).toMatchObject({ mean: 1, greatest: 1 });
    expect([ips, snips]).toEqual([logged, logged]);
  });
});

describe("intervals", () => {
  const share = (ones: number, n: number): PlainDecision[] =>
    Array.from({ length: n }, (_, i) => ({
      shownAt: i,
      count: 1,
      index: 0,
      probability: 1,
      conversions: i < ones ? [{ at: i, reward: 1 }] : [],
    }));
  const intervalOf = async (log: PlainDecision[], more = {}) =>
    (await unboundedEvaluation({ log, policy: () => [1], split: 0, asOf: log.length, window: { ms: 1000 }, maturity: () => 1, ...more }))
      .ips;
  /** Limit of the deviance: effective terms are those of the two values of a proportion. */
  const limitOf = (ones: number, n: number): number => {
    const [p, q] = [ones / n, 1 - ones / n];
    return studentAt975((2 * n * p * q) / (p ** 3 + q ** 3)) ** 2;
  };

  it.each([
    [7, 50],
    // Products of likelihoods would overflow.
    [40_000, 80_000],
  ])("of a proportion are those of the binomial likelihood ratio, by Student's t: %d of %d", async (ones, n) => {
    const { low, high } = await intervalOf(share(ones, n));
    const deviance = (p: number) => 2 * (ones * Math.log(ones / n / p) + (n - ones) * Math.log((1 - ones / n) / (1 - p)));
    for (const end of [low, high]) expect(deviance(end)).toBeCloseTo(limitOf(ones, n), 4);
    expect(low).toBeLessThan(ones / n);
    expect(high).toBeGreaterThan(ones / n);
  });

  it("have the quantiles of Student's t, up to a small error", () => {
    // The density of the angle atan(t / sqrt(f)) is cos^(f - 1).
    const mass = (freedom: number, angle: number): number => {
      const steps = 20_000;
      return (
        Array.from({ length: steps }, (_, i) => Math.cos(((i + 0.5) * angle) / steps) ** (freedom - 1)).reduce((a, b) => a + b, 0) * angle
      );
    };
    for (const freedom of [10, 20, 50, 400]) {
      const held = mass(freedom, Math.atan(studentAt975(freedom) / Math.sqrt(freedom))) / mass(freedom, Math.PI / 2);
      expect(held).toBeCloseTo(0.95, 3);
    }
  });

  it("reach above zero where nothing has converted, as far as the greatest weight allows", async () => {
    const { low, value, high } = await intervalOf(share(0, 40));
    expect([low, value]).toEqual([0, 0]);
    expect(high).toBeCloseTo(1 - Math.exp(-(studentAt975(80) ** 2) / 2 / 40), 6);
    const four = share(0, 40).map((decision) => ({ ...decision, count: 2, probability: 0.25 }));
    expect((await intervalOf(four, { policy: () => [1, 0] })).high).toBeCloseTo(4 * high, 6);
  });

  it("reach below one where everything has converted, as far as the range of rewards allows", async () => {
    const { low, value, high } = await intervalOf(share(40, 40));
    expect([value, high]).toEqual([1, 1]);
    expect(low).toBeCloseTo(Math.exp(-(studentAt975(80) ** 2) / 2 / 40), 6);
    const wide = await intervalOf(share(40, 40), { reward: { min: -1, max: 1 } });
    expect(1 - wide.low).toBeCloseTo(2 * (1 - low), 6);
  });

  it("hold the truth about as often as they say, and no more, also where much is still to come", async () => {
    const [runs, windowMs] = [40, 200];
    const inTime = geometric(60).cdf(windowMs);
    const own = LOGGED.reduce((sum, chance, action) => sum + chance * RATES[action], 0);
    const truths = [own, ...[2, 2, 2].map((action) => RATES[action])].map((rate) => rate * inTime);
    const errors: number[][] = truths.map(() => []);
    const halves: number[][] = truths.map(() => []);
    const held = [0, 0, 0, 0];
    for (let run = 0; run < runs; run++) {
      const random = stream("held", run);
      const log = drawn(2400, random, () => geometric(60).draw(random));
      const result = await evaluated(log, { window: { ms: windowMs } });
      expect(result.immature.decisions).toBeGreaterThan(0.1);
      estimatesOf(result).forEach(({ value, low, high }, i) => {
        held[i] += Number(low <= truths[i] && truths[i] <= high);
        errors[i].push(value - truths[i]);
        halves[i].push((high - low) / 2);
      });
    }
    // Fewer than 32 of 40 intervals at 95 % hold the truth less than once in a thousand times.
    for (const count of held) expect(count).toBeGreaterThanOrEqual(32);
    const size = (values: number[]): number => Math.sqrt(values.reduce((sum, each) => sum + each * each, 0) / values.length);
    for (const [i, each] of errors.entries()) {
      const ratio = size(halves[i]) / (1.96 * size(each));
      // The scatter of 40 is known to 11 %.
      expect(ratio).toBeGreaterThan(0.7);
      expect(ratio).toBeLessThan(1.45);
    }
  });
});

describe("the number of effective rewards", () => {
  it.each([0.1, 0.3, 0.7, 1 / 3])("is ten with ten rewards, if each has the weight 1 / %d", (probability) => {
    const seen = Array.from({ length: 10 }, (_, row) => ({ row, event: 0, reward: 1, age: 1, factor: 1, product: 0 }));
    const kinds = () => [{ maturities: new Float64Array(100).fill(1), factorOf: () => 1 }];
    const rows = { length: 100, countOf: () => 1, seen, kinds };
    const effective = effectiveRewards(rows, () => 1 / probability, { learnt: rows, greatest: 1 });
    const estimate = { value: 0.1, low: 0, high: 1 };
    expect(stated(() => estimate, { effective, size: 100, of: "decisions" })).toBe(estimate);
    expect(stated(() => estimate, { effective: 0.99 * effective, size: 100, of: "decisions" })).toEqual(tooFew(2, "decisions"));
  });
});

describe("the probability that a conversion has come", () => {
  it("is the share of delays where all could be seen", () => {
    const delays = [3, 1, 4, 1, 5, 9, 2, 6];
    const law = new ProductLimit(delays.map((delay) => ({ delay, bound: 100 })));
    for (const age of [0, 0.5, 1, 2, 4.5, 6, 9, 50]) {
      expect(law.at(age)).toBeCloseTo(delays.filter((delay) => delay <= age).length / delays.length, 12);
    }
    expect(new ProductLimit([]).at(3)).toBe(1);
  });

  it("is not misled by those that were too young for long delays", () => {
    const random = stream("truncated");
    const seen = Array.from({ length: 6000 }, () => ({ delay: geometric(30).draw(random), bound: random() * 200 })).filter(
      ({ delay, bound }) => delay <= bound,
    );
    const law = new ProductLimit(seen);
    for (const age of [5, 15, 30, 60, 100]) {
      expect(Math.abs(law.at(age) - geometric(30).cdf(age) / geometric(30).cdf(200))).toBeLessThan(0.03);
      // The naive share is biased.
      if (age === 15) expect(seen.filter(({ delay }) => delay <= age).length / seen.length).toBeGreaterThan(law.at(age) + 0.03);
    }
  });

  it.each([
    ["all alike", [30, 30], 0.2],
    // Their influence is raised for the error of the prior.
    ["one is slow", [10, 60], 0.4],
  ])("moves a sum, when a conversion is left out, by what the influence says: %s", (_, means, tolerance) => {
    const random = stream("influence");
    const seen = Array.from({ length: 800 }, (_, i) => {
      const product = i % 2;
      return { product, delay: geometric(means[product]).draw(random), bound: random() * 100 };
    }).filter(({ delay, bound }) => delay <= bound);
    const ages = Float64Array.from({ length: 50 }, () => 20 + random() * 80);
    const products = Array.from(ages, (_, i) => i % 2);
    const valuesOf = (law: LawsByProduct) => ages.map((age, i) => 1 / law.at(age, products[i]));
    const sum = (law: LawsByProduct): number => valuesOf(law).reduce((total, each) => total + each, 0);
    const law = new LawsByProduct(seen, 100);
    const influence = law.influence({ ages, values: valuesOf(law), products });
    expect(influence.reduce((total, each) => total + each, 0)).toBeCloseTo(0, 6);
    const all = influence.reduce((squares, each) => squares + each ** 2, 0);
    let squares = 0;
    for (const i of influence.keys()) squares += (sum(law) - sum(new LawsByProduct(seen.toSpliced(i, 1), 100))) ** 2;
    expect(Math.abs(all / squares - 1)).toBeLessThan(tolerance);
  });
});

import { gpBts, gpBucb, gpEi, gpTsSdf, gpUcb, gpUcbSdf, Recommender, squaredExponential } from "afterclick";
import { type GaussianProcess, gaussianProcess } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { stream } from "../../../../src/simulation/stream.ts";

const kernel = squaredExponential({ lengthscale: 0.3, variance: 1 });
const settings = { dimension: 1, kernel, noiseVariance: 0.01 };

/** Points in [0, 1] with rewards of a wave and of noise with this standard deviation. */
function observed(deviation: number, count = 300): { readonly features: Float64Array; readonly reward: number }[] {
  const random = stream("noise-refit", deviation);
  return Array.from({ length: count }, () => {
    const x = random();
    return { features: Float64Array.of(x), reward: Math.sin(9 * x) + deviation * random.normal() };
  });
}

async function learnt(refit: { every: number; noise?: boolean } | null, deviation: number): Promise<GaussianProcess> {
  const process = await gaussianProcess({ ...settings, refit });
  for (const { features, reward } of observed(deviation)) process.reward({ features, slot: process.append(features) }, reward, 0);
  return process;
}

describe("a fit of the noise", () => {
  it.each([0.03, 0.1, 0.3, 1])("finds a standard deviation of %f", async (deviation) => {
    const process = await learnt({ every: 1000, noise: true }, deviation);
    process.refit();
    const found = Math.sqrt(process.hyperparameters.noiseVariance);
    expect(found / deviation).toBeGreaterThan(0.8);
    expect(found / deviation).toBeLessThan(1.25);
  });

  it("is more likely than a fit with another noise, and no neighbour is more likely", async () => {
    const [free, fixed] = [await learnt({ every: 1000, noise: true }, 0.3), await learnt({ every: 1000 }, 0.3)];
    for (const process of [free, fixed]) process.refit();
    const best = free.logMarginalLikelihood();
    expect(best).toBeGreaterThan(fixed.logMarginalLikelihood() + 10);
    const { variance, lengthscale, noiseVariance } = free.hyperparameters;
    for (const [a, b, c] of [
      [1.1, 1, 1],
      [0.9, 1, 1],
      [1, 1.05, 1],
      [1, 0.95, 1],
      [1, 1, 1.1],
      [1, 1, 0.9],
    ]) {
      free.adopt({ variance: a * variance, lengthscale: lengthscale.map((each) => b * each), noiseVariance: c * noiseVariance });
      expect(free.logMarginalLikelihood()).toBeLessThan(best);
    }
  });

  it("does not depend on the noise before", async () => {
    const [once, twice] = [await learnt({ every: 1000, noise: true }, 0.3), await learnt({ every: 1000, noise: true }, 0.3)];
    once.refit();
    for (let i = 0; i < 2; i++) twice.refit();
    expect(twice.hyperparameters.noiseVariance / once.hyperparameters.noiseVariance).toBeCloseTo(1, 1);
  });

  it("leaves the noise alone without the option, and without rewards", async () => {
    const fixed = await learnt({ every: 1000 }, 0.3);
    fixed.refit();
    expect(fixed.hyperparameters.noiseVariance).toBe(0.01);
    const empty = await gaussianProcess({ ...settings, refit: { every: 1, noise: true } });
    empty.refit();
    expect(empty.hyperparameters.noiseVariance).toBe(0.01);
  });
});

const factories = { gpUcbSdf, gpTsSdf, gpUcb, gpBucb, gpBts, gpEi };

/** Plays 40 rounds over eleven points. Every second impression converts in the round after it, the others stay pending. */
async function played(name: keyof typeof factories, refit: object, rounds = 40): Promise<Recommender> {
  const policy = factories[name]({ ...settings, refit: { every: 10, ...refit } });
  const recommender = await Recommender.create({ policy, window: "none", seed: 1 });
  for (let i = 0; i < rounds; i++) {
    const x = ((i * 7) % 11) / 10;
    recommender.register({ impressionId: `${i}`, features: [x] });
    if (i % 2 === 0) recommender.convert({ impressionId: `${i}`, reward: 0.5 + 0.4 * x });
  }
  return recommender;
}

const deviations = ({ policy }: Recommender): number[] => Array.from(policy.predict([[0.05], [0.55], [3]]).variance);

describe.each(Object.keys(factories) as (keyof typeof factories)[])("%s", (name) => {
  it("fits no more after the last impression of `until`", async () => {
    const [until, twenty] = [await played(name, { until: 20 }), await played(name, { until: 29 })];
    expect(deviations(until)).toEqual(deviations(twenty));
    expect(deviations(until)).not.toEqual(deviations(await played(name, {})));
  });
});

it.each(["gpUcbSdf", "gpTsSdf", "gpBucb", "gpBts", "gpEi"] as const)(
  "%s takes pending impressions for known ones with `pending` alone",
  async (name) => {
    expect(deviations(await played(name, { pending: true }))).not.toEqual(deviations(await played(name, {})));
    expect(deviations(await played(name, { pending: false }))).toEqual(deviations(await played(name, {})));
  },
);

it("fits GP-BUCB to the mean where rewards are pending: the same as if they had arrived so", async () => {
  const points = [0, 0.2, 0.4, 0.6, 0.8];
  const recommender = await Recommender.create({ policy: gpBucb({ ...settings, refit: { every: 6, pending: true } }), window: "none" });
  const process = await gaussianProcess(settings);
  points.forEach((x, i) => {
    recommender.register({ impressionId: `${i}`, features: [x] });
    recommender.convert({ impressionId: `${i}`, reward: x * x });
    const features = Float64Array.of(x);
    process.reward({ features, slot: process.append(features) }, x * x, 0);
  });
  const pending = Float64Array.of(0.5);
  const [mean] = process.moments(pending).mean;
  process.reward({ features: pending, slot: process.append(pending) }, mean, 0);
  process.refit();
  recommender.register({ impressionId: "pending", features: pending });
  const [own, expected] = [
    recommender.policy.predict([[0.1], [0.5], [2]]).variance,
    process.moments(Float64Array.of(0.1, 0.5, 2)).deviation,
  ];
  own.forEach((each, i) => {
    expect(Math.sqrt(each)).toBeCloseTo(expected[i], 9);
  });
});

it.each([
  [{ every: 10, until: 0 }, /refit\.until/],
  [{ every: 10, noise: 1 }, /refit\.noise/],
  [{ every: 10, pending: "yes" }, /refit\.pending/],
  [{ every: 10, hallucinate: true }, /hallucinate/],
])("refuses %o", (refit, message) => {
  expect(() => gpBucb({ dimension: 1, refit: refit as never })).toThrow(message);
});

import { squaredExponential } from "afterclick";
import { type GaussianProcess, gaussianProcess } from "afterclick/research";
import { describe, expect, it } from "vitest";

// A refit uses results of earlier ones. This must not change its result.

const settings = { dimension: 1, kernel: squaredExponential({ lengthscale: 0.3 }), noiseVariance: 0.01 };

interface Observation {
  readonly features: Float64Array;
  reward: number;
}

/** Some points repeat. Rewards follow a wave whose length shrinks over time. */
function observations(count: number): Observation[] {
  return Array.from({ length: count }, (_, i) => {
    const x = ((i * 29) % 47) / 47;
    return { features: Float64Array.of(x), reward: Math.sin((3 + i / 3) * x) };
  });
}

function learn(process: GaussianProcess, { features, reward }: Observation): number {
  const slot = process.append(features);
  process.reward({ features, slot }, reward, 0);
  return slot;
}

/** The result of a refit without memory, from the same start. */
async function found(learnt: readonly Observation[], { kernel }: GaussianProcess): Promise<GaussianProcess["kernel"]> {
  const process = await gaussianProcess(settings);
  for (const each of learnt) learn(process, each);
  process.adopt(kernel);
  process.refit();
  return process.kernel;
}

describe("a refit", () => {
  it("finds what one that remembers nothing finds, while rewards are added", async () => {
    const process = await gaussianProcess(settings);
    const all = observations(90);
    for (const [i, each] of all.entries()) {
      learn(process, each);
      if (i % 5 !== 4) continue;
      const expected = await found(all.slice(0, i + 1), process);
      process.refit();
      expect(process.kernel).toEqual(expected);
    }
  });

  it("finds the same after rewards were replaced", async () => {
    const process = await gaussianProcess(settings);
    const all = observations(40);
    const slots = all.map((each) => learn(process, each));
    process.refit();
    for (const [i, each] of all.entries()) {
      const reward = Number(i % 2 === 0);
      process.reward({ features: each.features, slot: slots[i] }, reward, each.reward);
      each.reward = reward;
    }
    const expected = await found(all, process);
    process.refit();
    expect(process.kernel).toEqual(expected);
  });

  it("finds the same after a zero that it had counted has become a reward", async () => {
    const process = await gaussianProcess(settings);
    const all = observations(40);
    for (const each of all.slice(1)) learn(process, each);
    const first = { features: all[0].features, slot: process.append(all[0].features) };
    process.refit();
    process.reward(first, 30, 0);
    const expected = await found([...all.slice(1), { ...all[0], reward: 30 }], process);
    process.refit();
    expect(process.kernel).toEqual(expected);
  });

  it("finds the same after a point was forgotten that contradicted its neighbour", async () => {
    const process = await gaussianProcess(settings);
    const all = observations(20).map(({ features }) => ({ features, reward: features[0] }));
    const contradiction = { features: Float64Array.of(all[7].features[0] + 0.02), reward: -3 };
    for (const each of [...all, contradiction]) learn(process, each);
    process.refit();
    const before = process.kernel;
    expect(process.forget(contradiction.features)).toBe(true);
    // The rewards of the neighbour then contradict each other, which is noise.
    const expected = await found([...all, { ...contradiction, features: all[7].features }], process);
    process.refit();
    expect(process.kernel.lengthscale[0]).toBeGreaterThan(1.5 * before.lengthscale[0]);
    expect(process.kernel.lengthscale[0]).toBeCloseTo(expected.lengthscale[0], 9);
    expect(process.kernel.variance).toBeCloseTo(expected.variance, 9);
  });

  it("leaves nothing of what was known of the domain, of a process without an impression too", async () => {
    const process = await gaussianProcess({ kernel: squaredExponential({ lengthscale: 1 }), domain: { points: [[0], [1]] } });
    process.overDomain?.bring(0);
    process.adopt({ variance: 4, lengthscale: Float64Array.of(1) });
    expect([...process.moments(Float64Array.of(1)).deviation]).toEqual([2]);
  });
});

describe("a process that forgets", () => {
  it("keeps the points of a domain", async () => {
    const process = await gaussianProcess({ ...settings, domain: { points: [[0], [1]] } });
    for (const x of [0, 1]) learn(process, { features: Float64Array.of(x), reward: x });
    expect(process.forget(Float64Array.of(0))).toBe(false);
    expect([...process.statistics()]).toEqual([0, 1, 0, 1, 1, 1]);
  });

  it("has no evidence left of a process that has forgotten its only point", async () => {
    const process = await gaussianProcess(settings);
    learn(process, { features: Float64Array.of(0.5), reward: 2 });
    expect(process.forget(Float64Array.of(0.5))).toBe(true);
    expect(process.logMarginalLikelihood()).toBe((await gaussianProcess(settings)).logMarginalLikelihood());
  });
});

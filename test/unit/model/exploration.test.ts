import { gpEi, matern52, type Policy, type PolicyDescriptor, policies, Recommender } from "afterclick";
import { type Choice, gaussianProcess } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { dyadicVectors, stream } from "../../support/scenario.ts";

// `exploration` multiplies the width and changes nothing else. Means stay the same after any history.

const points = dyadicVectors(stream(41), 12, 2);
const inDomain = { domain: { points } };

async function trained(id: string, options: object): Promise<Policy> {
  const factory = policies.find((each) => each.id === id) as unknown as (options: object) => PolicyDescriptor;
  const { policy } = await Recommender.create({ policy: factory(options), window: { rounds: 6 }, seed: 2 });
  for (const [i, features] of points.slice(0, 9).entries()) {
    const impression = policy.append({ round: i + 1, features });
    if (i % 3 !== 1) policy.observe({ impression, reward: (i % 4) / 4 });
  }
  return policy;
}

function ranking(policy: Policy): Choice[] {
  const candidates = policy.hasDomain ? undefined : points.map((features) => ({ features }));
  const choices = policy.choose({ candidates, round: 10, limit: policy.sequential ? 1 : points.length });
  return choices.toSorted((a, b) => a.index - b.index);
}

const process = { dimension: 2, kernel: matern52({ lengthscale: 0.5 }), noiseVariance: 0.1 };
const linear = { dimension: 2 };
const multiplied: [id: string, option: string, options: object][] = [
  ["otf-lin-ucb", "exploration", linear],
  ["otf-lin-ucb", "exploration", { ...linear, width: "theory", norms: "exact" }],
  ["otf-lin-ts", "exploration", linear],
  ["otf-lin-ts", "exploration", { ...linear, width: "theory" }],
  ["delay-lin-ucb", "exploration", linear],
  ["delay-lin-ts", "exploration", linear],
  ...["gp-ucb", "asy-ts", "gp-bucb", "gp-bts"].flatMap((id): [string, string, object][] => [
    [id, "exploration", process],
    [id, "beta", process],
  ]),
  ["gp-ucb-sdf", "exploration", process],
  ["gp-ucb-sdf", "beta", { ...process, rewardBound: 0 }],
  ["gp-ucb-sdf", "rewardBound", { ...process, beta: 0 }],
  ["gp-ts-sdf", "exploration", process],
  ["gp-ts-sdf", "beta", { ...process, rewardBound: 0 }],
  ["gp-ts-sdf", "rewardBound", { ...process, beta: 0 }],
  ["gp-ts-sdf", "exploration", { ...process, scale: "released" }],
  ["gp-ei", "exploration", process],
  ["delay-gp-ucb", "exploration", { dimension: 2 }],
  ["delay-gp-ts", "exploration", { dimension: 2 }],
  ["mini-gp-ucb", "exploration", { ...process, ...inDomain }],
  ["mini-gp-ei", "exploration", { ...process, ...inDomain }],
];

it.each(multiplied)("%s has twice the width by twice the %s, and the same mean: %j", async (id, option, options) => {
  const [once, twice] = [await trained(id, { ...options, [option]: 0.75 }), await trained(id, { ...options, [option]: 1.5 })];
  const [a, b] = [ranking(once), ranking(twice)];
  expect(Math.max(...a.map(({ width }) => width))).toBeGreaterThan(0.01);
  // A policy that chooses one point at a time may choose another one.
  if (once.sequential) {
    const [first, second] = [once.predict(points).variance[a[0].index], twice.predict(points).variance[b[0].index]];
    expect(b[0].width / Math.sqrt(second)).toBeCloseTo((2 * a[0].width) / Math.sqrt(first), 10);
    return;
  }
  for (const [i, { mean, width }] of a.entries()) {
    expect(b[i].mean).toBe(mean);
    expect(b[i].width).toBeCloseTo(2 * width, 12);
  }
});

it.each(["otf-lin-ts", "delay-lin-ts", "asy-ts", "gp-bts", "gp-ts-sdf", "delay-gp-ts"])(
  "%s samples its mean without exploration",
  async (id) => {
    const options = id.includes("gp") || id === "asy-ts" ? (id.startsWith("delay") ? { dimension: 2 } : process) : linear;
    const policy = await trained(id, { ...options, exploration: 0 });
    const predicted = policy.predict(points).mean;
    for (const [i, { score, mean, width }] of ranking(policy).entries()) {
      expect(mean).toBeCloseTo(predicted[i], 12);
      expect(score).toBeCloseTo(mean, 12);
      expect(width).toBe(0);
    }
  },
);

it.each(["gp-ucb", "gp-bucb", "gp-ucb-sdf", "delay-gp-ucb", "delay-lin-ucb", "otf-lin-ucb"])(
  "%s scores a candidate by mean and width",
  async (id) => {
    const options = id.startsWith("gp") ? process : linear;
    for (const { score, mean, width } of ranking(await trained(id, options))) expect(score).toBe(mean + width);
  },
);

describe("the window", () => {
  it("of a policy that adds up what is open: none is open after it has passed", async () => {
    for (const id of ["gp-ucb-sdf", "gp-ts-sdf"]) {
      const policy = await trained(id, { ...process, beta: 0.25, rewardBound: 1 });
      const deviation = Math.sqrt(policy.predict([points[0]]).variance[0]);
      const multiplier = (round: number): number => policy.choose({ candidates: [{ features: points[0] }], round })[0].width / deviation;
      // Rounds 4 to 9 are open to round 10 in a window of 6. Each further round closes one.
      const open = [10, 11, 12, 13, 14, 15].map(multiplier);
      for (let i = 1; i < open.length; i++) expect(open[i]).toBeLessThan(open[i - 1]);
      expect(multiplier(15)).toBeGreaterThan(0.25);
      expect(multiplier(16)).toBeCloseTo(0.25, 12);
      const expected = points.slice(3, 9).reduce((sum, point) => sum + Math.sqrt(policy.predict([point]).variance[0]), 0);
      expect(multiplier(10)).toBeCloseTo(0.25 + expected, 10);
    }
  });
});

describe("expected improvement", () => {
  it("has the multiplier of the paper: by the information of all impressions, and their number", async () => {
    const all = await gaussianProcess(process);
    const { policy } = await Recommender.create({ policy: gpEi({ ...process, delta: 0.05 }), window: "none" });
    for (let n = 0; n < 9; n++) {
      const candidates = points.map((features) => ({ features }));
      const [{ width, index }] = policy.choose({ candidates, round: n + 1 });
      const gain = 2 * all.informationGain();
      const log = Math.log(Math.max(1, n) / 0.05);
      const deviation = Math.sqrt(policy.predict([points[index]]).variance[0]);
      expect(width / deviation).toBeCloseTo(Math.sqrt(gain + Math.sqrt(gain * log) + log), 10);
      all.append(Float64Array.from(points[n]));
      const impression = policy.append({ round: n + 1, features: points[n] });
      if (n % 2) policy.observe({ impression, reward: 0.5 });
    }
  });
});

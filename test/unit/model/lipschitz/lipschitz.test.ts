import { delayedZooming, dlpp, type Policy, type PolicyDescriptor, Recommender } from "afterclick";
import type { AppendedImpression } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { dyadicVectors, stream } from "../../../support/scenario.ts";

// Properties of the policies that zoom into a box or a set of points.

const line = { box: [[0, 1]] as [number, number][] };
const square = { box: [...line.box, ...line.box] };
const points = dyadicVectors(stream(21), 60, 2).map((point) => point.map((coordinate) => coordinate + 0.5));

async function running(policy: PolicyDescriptor): Promise<Policy> {
  return (await Recommender.create({ policy, window: "none" })).policy;
}

interface Round {
  readonly index: number;
  readonly features: number[];
  readonly score: number;
}

/** Plays a policy with feedback up to 20 rounds late or missing. `before` runs before each choice. */
async function play(policy: Policy, rounds: number, value: (features: number[]) => number, before?: (round: number) => void) {
  const random = stream(5);
  const due: { impression: AppendedImpression; reward: number }[][] = Array.from({ length: rounds + 21 }, () => []);
  const played: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const outcome of due[round]) policy.observe(outcome);
    before?.(round);
    const [{ index, score, features = [] }] = policy.choose({ round });
    const chosen = Array.from(features);
    played.push({ index, score, features: chosen });
    const reward = value(chosen) + 0.1 * (random() - 0.5);
    const impression = policy.append({ round, features });
    const delay = Math.floor(random() * 25);
    if (delay < 20) due[round + 1 + delay].push({ impression, reward });
  }
  return played;
}

const cone = (x: number[]): number => 0.9 - 0.7 * Math.max(...x.map((coordinate, j) => Math.abs(coordinate - (j === 0 ? 0.3 : 0.6))));

const distances = {
  maximum: (a: number[], b: number[]) => Math.max(...a.map((x, j) => Math.abs(x - b[j]))),
  euclidean: (a: number[], b: number[]) => Math.hypot(...a.map((x, j) => x - b[j])),
  manhattan: (a: number[], b: number[]) => a.reduce((sum, x, j) => sum + Math.abs(x - b[j]), 0),
};

describe("delayed zooming", () => {
  const zooming = { horizon: 1000, sigma: 0.05, delta: 0.1 };
  const grid = Array.from({ length: 17 * 17 }, (_, place) => [Math.floor(place / 17) / 16, (place % 17) / 16]);

  it.each(
    (["maximum", "euclidean", "manhattan"] as const).flatMap((metric) => [
      { metric, over: "a box", domain: square, all: grid },
      { metric, over: "points", domain: { points }, all: points },
    ]),
  )("activates the first point that no ball covers, by the $metric distance over $over", async ({ metric, domain, all }) => {
    const policy = await running(delayedZooming({ ...zooming, domain, metric, ...("box" in domain && { resolution: 17 }) }));
    const widest = (policy.choose({ round: 1 })[0].width as number) / 2;
    const uncovered: number[] = [];
    const played = await play(policy, 600, cone, () => {
      const sums = policy.statistics();
      const arms = Array.from({ length: sums.length / 5 }, (_, i) => [all[sums[5 * i]], widest / Math.sqrt(1 + sums[5 * i + 1])] as const);
      uncovered.push(all.findIndex((point) => !arms.some(([arm, radius]) => distances[metric](arm, point) <= radius + 1e-12)));
    });
    const seen = new Set<number>();
    for (const [i, { index, features }] of played.entries()) {
      expect(features).toEqual(all[index]);
      if (uncovered[i] >= 0) expect(index).toBe(uncovered[i]);
      else expect(seen).toContain(index);
      seen.add(index);
    }
    expect(seen.size).toBeGreaterThan(5);
    expect(uncovered.filter((place) => place < 0).length).toBeGreaterThan(100);
  });

  it("activates any uncovered point if asked to", async () => {
    const policy = await running(delayedZooming({ ...zooming, domain: line, resolution: 11, activation: "random" }));
    const first = (uniform: number) => policy.choose({ round: 1, uniforms: [uniform] })[0].index;
    expect([0.01, 0.5, 0.99, 1].map(first)).toEqual([0, 5, 10, 10]);
  });

  it("decides in any box as in the unit cube", async () => {
    const unit = await play(await running(delayedZooming({ ...zooming, domain: line })), 400, cone);
    const wide = delayedZooming({ ...zooming, domain: { box: [[-8, 56]] } });
    const scaled = await play(await running(wide), 400, ([x]) => cone([(x + 8) / 64]));
    expect(scaled.map(({ index }) => index)).toEqual(unit.map(({ index }) => index));
    scaled.forEach(({ features: [x] }, i) => void expect(x).toBeCloseTo(64 * unit[i].features[0] - 8, 12));
  });

  it("counts an impression decided elsewhere for the point of the grid next to it", async () => {
    const policy = await running(delayedZooming({ ...zooming, domain: line, resolution: 11 }));
    policy.observe({ impression: policy.append({ round: 1, features: [0.52] }), reward: 0.25 });
    expect(Array.from(policy.statistics())).toEqual([5, 1, 0.25, 0, 0]);
  });

  it("puts rewards aside once an arm has four times as many as at its last pull, and takes corrections of them", async () => {
    const policy = await running(delayedZooming({ ...zooming, domain: { points: [[0], [0.001]] } }));
    const impressions = Array.from({ length: 6 }, (_, i) => policy.append({ round: i + 1, features: [0] }));
    for (const impression of impressions) policy.observe({ impression, reward: 0.5 });
    expect(Array.from(policy.statistics())).toEqual([0, 4, 2, 2, 1]);
    policy.observe({ impression: impressions[0], reward: 1, previous: 0.5 });
    policy.observe({ impression: impressions[5], reward: 0, previous: 0.5 });
    expect(Array.from(policy.statistics())).toEqual([0, 4, 2.5, 2, 0.5]);
    policy.append({ round: 7, features: [0] });
    expect(Array.from(policy.statistics())).toEqual([0, 6, 3, 0, 0]);
  });
});

describe("dlpp", () => {
  const phased = { horizon: 4000, sigma: 0.03, delta: 0.1 };

  it("ends up near the best point of a box", async () => {
    const played = await play(await running(dlpp({ ...phased, domain: { box: [[10, 12], [-1, 0]] }, pruneMultiplier: 1.5 })), 4000, ([x, y]) => cone([(x - 10) / 2, y + 1])); // biome-ignore format: one line
    for (const { features } of played.slice(-500)) {
      expect(Math.abs(features[0] - 10.6)).toBeLessThan(0.5);
      expect(Math.abs(features[1] + 0.4)).toBeLessThan(0.25);
    }
  });

  it("ends up at the best of given points", async () => {
    const played = await play(await running(dlpp({ ...phased, domain: { points } })), 4000, cone);
    for (const { index, features } of played) expect(features).toEqual(points[index]);
    const best = Math.max(...points.map(cone));
    expect(Math.min(...played.slice(-500).map(({ features }) => cone(features)))).toBeGreaterThan(best - 0.15);
    expect(new Set(played.map(({ index }) => index)).size).toBeGreaterThan(points.length / 2);
  });

  it("draws an arm of a ball of given points uniformly", async () => {
    const policy = await running(dlpp({ ...phased, domain: { points } }));
    const at = (uniform: number) => policy.choose({ round: 1, uniforms: [uniform] })[0].index;
    expect(points.map((_, i) => at((i + 0.5) / points.length))).toEqual(points.map((_, i) => i));
    expect(at(1)).toBe(points.length - 1);
  });

  it("divides its balls no further than there is memory for, and goes on with them", async () => {
    const box = Array.from({ length: 4 }, (): [number, number] => [0, 1]);
    const policy = await running(dlpp({ ...phased, sigma: 1e-6, domain: { box } }));
    const balls = (): number => (policy.statistics().length - 1) / (box.length + 2);
    // One reward per ball is enough, and all are equal: 1 + 16 + ... + 16^4 rounds, then the last phase again.
    for (let round = 1; round <= 69_905 + 100; round++) {
      const [{ features }] = policy.choose({ round });
      policy.observe({ impression: policy.append({ round, features }), reward: 0.5 });
    }
    expect(balls()).toBe(65_536);
    expect(policy.statistics()[0]).toBe(6);
  });

  it("drops what comes from an older phase, and what was decided outside its balls", async () => {
    const policy = await running(dlpp({ ...phased, domain: line, pruneMultiplier: 0.5 }));
    const old = [1, 2].map((round) => policy.append({ round, features: [0.2] }));
    policy.observe({ impression: old[0], reward: 1 });
    const left = policy.append({ round: 3, features: [0.2] });
    const before = policy.digest();
    policy.observe({ impression: old[1], reward: 1 });
    policy.observe({ impression: old[0], reward: 0, previous: 1 });
    expect(policy.digest()).toBe(before);
    expect(policy.choose({ round: 4, uniforms: [0.5] })[0].features).toEqual(Float64Array.of(0.75));
    policy.observe({ impression: left, reward: 1 });
    policy.observe({ impression: policy.append({ round: 4, features: [0.8] }), reward: 0 });
    // The upper half is pruned. Its impressions count for no ball and take no ball's turn.
    const [next] = policy.choose({ round: 5 });
    const outside = policy.append({ round: 5, features: [0.9] });
    expect(policy.choose({ round: 5 })).toEqual([next]);
    const sums = Array.from(policy.statistics());
    expect(sums).toEqual([3, 0.125, 0, 0, 0.375, 0, 0]);
    policy.observe({ impression: outside, reward: 1 });
    expect(Array.from(policy.statistics())).toEqual(sums);
  });

  it.each([
    [0.5, 1],
    [0.515625, 2],
  ])("prunes a ball from as many radii below the best as it is told: of 1 and %d it keeps %d", async (lesser, kept) => {
    const policy = await running(dlpp({ ...phased, sigma: 1e-6, domain: line, pruneMultiplier: 2 }));
    for (const [i, reward] of [1, 1, lesser].entries()) {
      const [{ features }] = policy.choose({ round: i + 1 });
      policy.observe({ impression: policy.append({ round: i + 1, features }), reward });
    }
    // The next phase begins with an impression: two balls for each that was kept, then their counts and sums.
    policy.append({ round: 4, features: [0.25] });
    expect(policy.statistics()).toHaveLength(1 + 2 * kept * 3);
  });

  it("keeps the turn of a ball when others decide for a later one", async () => {
    const policy = await running(dlpp({ ...phased, sigma: 1e-6, domain: square }));
    const first = policy.append({ round: 1, features: policy.choose({ round: 1 })[0].features });
    policy.observe({ impression: first, reward: 1 });
    const uniforms = [0.5, 0.5];
    expect(policy.choose({ round: 2, uniforms })[0].features).toEqual(Float64Array.of(0.25, 0.25));
    policy.append({ round: 2, features: [0.25, 0.75] });
    expect(policy.choose({ round: 3, uniforms })[0].features).toEqual(Float64Array.of(0.25, 0.25));
    policy.append({ round: 3, features: [0.25, 0.25] });
    expect(policy.choose({ round: 4, uniforms })[0].features).toEqual(Float64Array.of(0.75, 0.25));
  });

  it("drops what comes after a ball's last reward if frozen", async () => {
    for (const freeze of [false, true]) {
      const policy = await running(dlpp({ ...phased, domain: line, freeze }));
      const impressions = [1, 2].map((round) => policy.append({ round, features: [0.2] }));
      for (const impression of impressions) policy.observe({ impression, reward: 1 });
      expect(Array.from(policy.statistics())).toEqual([1, 0.5, freeze ? 1 : 2, freeze ? 1 : 2]);
    }
  });

  it("stays finite where no noise and no slope would have it divide for ever", async () => {
    const deep = await running(dlpp({ horizon: 1, sigma: 1e-200, domain: { points: [[0.25], [0.5]] } }));
    const wide = await running(dlpp({ horizon: 1, sigma: 1e-200, domain: { box: Array(10).fill([0, 1]) } }));
    for (const policy of [deep, wide]) {
      for (let round = 1; round <= 1500; round++) {
        const [{ features, score }] = policy.choose({ round });
        policy.observe({ impression: policy.append({ round, features }), reward: 0.5 });
        expect(Number.isFinite(score)).toBe(true);
      }
    }
    expect(deep.statistics()[0]).toBe(41);
    // 1,024 balls of radius 1/4, which are not divided further.
    expect(wide.statistics()[0]).toBe(3);
    expect(wide.statistics().length).toBe(1 + 1024 * 12);
  });
});

describe.each([
  { name: "delayed-zooming", make: delayedZooming as (options: never) => PolicyDescriptor },
  { name: "dlpp", make: dlpp as (options: never) => PolicyDescriptor },
])("$name", ({ name, make }) => {
  const options = { domain: line, horizon: 100 };

  it.each([
    ["domain", undefined],
    ["domain", {}],
    ["domain", { box: [[0, 1]], points: [[0]] }],
    ["domain.box", { box: "unit" }],
    ["domain.box", { box: [] }],
    ["domain.box", { box: Array(20).fill([0, 1]) }],
    ["domain.box[1]", { box: [[0, 1], 3] }],
    ["domain.box[0]", { box: [[0, 1, 2]] }],
    ["domain.box[0][0]", { box: [[Number.NaN, 1]] }],
    ["domain.box[0][1]", { box: [[1, 1]] }],
    ["domain.box[0][1]", { box: [[0, 1e300]] }],
    ["domain.points", { points: [] }],
    ["domain.points[2]", { points: [[0, 1], [1, 1], [0, 1]] }], // biome-ignore format: one line
    ["domain.points[1]", { points: [[0, 1], [1]] }],
  ])("refuses a bad %s", (argument, domain) => {
    expect(() => make({ ...options, domain } as never)).toThrow(`${argument}:`);
  });

  const bad: [string, unknown][] = [
    ["horizon", 0],
    ["horizon", 1.5],
    ["horizon", undefined],
    ["sigma", 0],
    ["sigma", -1],
    ["sigma", Number.POSITIVE_INFINITY],
    ["delta", 0],
    ["delta", 1],
    ["delta", "small"],
    ...((name === "dlpp"
      ? [
          ["pruneMultiplier", 0],
          ["freeze", 1],
          ["domain.points", { points: [[0], [1.5]] }],
        ]
      : [
          ["resolution", 1],
          ["resolution", 1e7],
          ["metric", "cosine"],
          ["lazy", "yes"],
          ["lazyFloor", 2],
          ["unobserved", "last"],
          ["activation", "all"],
        ]) as [string, unknown][]),
  ];
  it.each(bad)("refuses a bad %s: %s", (option, value) => {
    const [key] = option.split(".");
    expect(() => make({ ...options, [key]: value } as never)).toThrow(`${option}:`);
  });

  it("refuses features outside its domain, and changes nothing", async () => {
    for (const domain of [line, { points: [[0.25], [0.5]] }]) {
      const recommender = await Recommender.create({ policy: make({ ...options, domain } as never), window: { rounds: 9 } });
      const before = recommender.snapshot();
      expect(() => recommender.register({ impressionId: "a", features: [1.25] })).toThrow(/features/);
      expect(recommender.snapshot()).toEqual(before);
    }
  });

  it("refuses more rewards than impressions, and changes nothing", async () => {
    const policy = await running(make(options as never));
    const impression = policy.append({ round: 1, features: [0.5] });
    policy.observe({ impression, reward: 0.5 });
    const before = policy.digest();
    expect(() => policy.observe({ impression, reward: 0.5 })).toThrow(RangeError);
    expect(() => policy.observe({ impression: { ...impression, slot: impression.slot + 0.5 }, reward: 0.5 })).toThrow(RangeError);
    expect(policy.digest()).toBe(before);
  });

  it("has no posterior", async () => {
    const policy = await running(make(options as never));
    expect(() => policy.predict([[0.5]])).toThrow(/no posterior/);
  });
});

import { delayedZooming, delayLinTs, gpBucb, otfLinUcb, type PolicyDescriptor, Recommender, squaredExponential, uniform } from "afterclick";
import { describe, expect, it } from "vitest";
import { Player } from "../../../../pages/playground/player.ts";
import { DIMENSION, grid, LENGTHSCALE, type Problem, problemOf, type Scene } from "../../../../pages/playground/problem.ts";

const WINDOW = 5;
const ROUNDS = 40;
const domain = { points: grid };
const kernel = squaredExponential({ lengthscale: LENGTHSCALE, variance: 0.25 });

/** A problem that records choices. A fixed plan decides delays and conversions. */
async function played(policy: PolicyDescriptor, { waits = false, id = "linear" as "linear" | "curve" } = {}) {
  const given = await problemOf(id, 3);
  const picked: number[] = [];
  const problem: Problem = { ...given, place: (scene, index) => given.place(scene, picked[picked.push(index) - 1]) };
  const player = await Player.create({ policy, window: WINDOW, seed: 9, waits, problem });
  const scenes: Scene[] = [];
  const delay = (shown: number) => (shown * 5) % 9;
  const lot = (shown: number) => (shown % 3 === 0 ? 0.999999 : 0);
  const course = Array.from({ length: ROUNDS }, (_, i) => {
    scenes.push(problem.scene());
    player.decide(i + 1, scenes[i], lot(i + 1));
    for (let shown = 1; shown <= i + 1; shown++) if (shown + delay(shown) === i + 1) player.arrive(shown);
    return { pending: player.pending, counted: player.counted, late: player.late, regret: player.regret };
  });
  const converts = (shown: number) => lot(shown) < scenes[shown - 1].rates[picked[shown - 1]];
  return { player, problem, course, scenes, picked, delay, converts };
}

const policies: [string, PolicyDescriptor, object][] = [
  ["DelayLinTS", delayLinTs({ dimension: DIMENSION }), {}],
  ["a policy that looks at no features", uniform(), {}],
  ["a policy that is told when windows close", otfLinUcb({ dimension: DIMENSION }), { waits: true }],
  ["a policy of the curve, where failures are reported", gpBucb({ kernel, noiseVariance: 0.2, domain }), { id: "curve" }],
  ["one that waits there", gpBucb({ kernel, noiseVariance: 0.2, domain }), { id: "curve", waits: true }],
  ["one with a domain of its own", delayedZooming({ domain, horizon: ROUNDS, sigma: 0.1 }), { id: "curve" }],
];

describe.each(policies)("%s", (_, policy, how) => {
  it("is counted by when outcomes come: in the window, late, or not yet", async () => {
    const { course, delay, converts, problem } = await played(policy, how);
    const { delayOffset } = (await Recommender.create({ policy, window: { rounds: WINDOW } })).policy;
    const shown = Array.from({ length: ROUNDS }, (_, i) => i + 1);
    for (const [i, { pending, counted, late }] of course.entries()) {
      const round = i + 1;
      const arrived = shown.filter((each) => each + delay(each) <= round && (problem.reportsFailures || converts(each)));
      const inTime = arrived.filter((each) => delay(each) + delayOffset <= WINDOW);
      const open = shown.filter((each) => each <= round && round - each + delayOffset <= WINDOW && !inTime.includes(each));
      expect({ round, pending, counted, late }).toEqual({
        round,
        pending: open.length,
        counted: inTime.length,
        late: arrived.length - inTime.length,
      });
    }
  });

  it("misses what the best choice of each round would have had more, and counts its choices by place", async () => {
    const { player, problem, course, scenes, picked } = await played(policy, how);
    let missed = 0;
    for (const [i, { regret }] of course.entries()) {
      missed += Math.max(...scenes[i].rates) - scenes[i].rates[picked[i]];
      expect(regret).toBeCloseTo(missed, 12);
    }
    expect(course.at(-1)?.regret).toBeGreaterThan(0);
    const places = picked.map((index, i) => problem.place(scenes[i], index));
    expect(Array.from(player.choices)).toEqual(
      Array.from({ length: problem.places }, (_, place) => places.filter((each) => each === place).length),
    );
  });
});

it("learns of an impression only when its window has closed, if it waits", async () => {
  const policy = otfLinUcb({ dimension: DIMENSION });
  const { player, scenes, picked, delay, converts } = await played(policy, { waits: true });
  const sdk = await Recommender.create({ policy, window: { rounds: WINDOW }, seed: 9 });
  for (let shown = 1; shown <= ROUNDS - WINDOW - 1; shown++) {
    const impressionId = String(shown);
    const features = scenes[shown - 1].points.slice(picked[shown - 1] * DIMENSION, (picked[shown - 1] + 1) * DIMENSION);
    sdk.register({ impressionId, features });
    if (converts(shown) && delay(shown) <= WINDOW) sdk.convert({ impressionId, reward: 1 });
  }
  expect(player.digest).toBe(sdk.digest());
});

it("says what it expects, with the square root of the variance, or nothing without a posterior", async () => {
  const policy = gpBucb({ kernel, noiseVariance: 0.2, domain });
  const prior = (await Player.create({ policy, window: 5, seed: 9, waits: false, problem: await problemOf("curve", 3) })).estimate();
  expect(Array.from(prior?.deviation ?? [])).toEqual(grid.map(() => expect.closeTo(0.5, 12)));
  const estimate = (await played(policy, { id: "curve" })).player.estimate();
  expect(estimate?.mean).toHaveLength(grid.length);
  for (const deviation of estimate?.deviation ?? []) {
    expect(deviation).toBeGreaterThan(0);
    expect(deviation).toBeLessThanOrEqual(0.5 + 1e-12);
  }
  expect((await played(uniform())).player.estimate()).toBeNull();
});

describe("the linear problem", () => {
  it("has ten directions a round, whose chance is their product with the truth, and ranks them", async () => {
    const problem = await problemOf("linear", 8);
    const { truth } = problem;
    expect(Math.hypot(...truth)).toBeCloseTo(1, 12);
    expect(problem).toMatchObject({ reportsFailures: false, places: 10 });
    expect(problem.points).toEqual([0, 1, 2, 3, 4].map((j) => [0, 1, 2, 3, 4].map((i) => Number(i === j))));
    const seen = new Set<number>();
    for (let round = 0; round < 20; round++) {
      const scene = problem.scene();
      const { points, rates } = scene;
      expect([points.length, rates.length]).toEqual([50, 10]);
      for (let i = 0; i < 10; i++) {
        const row = Array.from(points.subarray(5 * i, 5 * i + 5));
        expect(Math.hypot(...row)).toBeCloseTo(1, 12);
        expect(Math.min(...row)).toBeGreaterThanOrEqual(0);
        expect(rates[i]).toBeCloseTo(
          row.reduce((sum, each, j) => sum + each * truth[j], 0),
          12,
        );
        expect(rates[i]).toBeLessThanOrEqual(1);
        seen.add(rates[i]);
      }
      const ranked = Array.from(rates).toSorted((a, b) => b - a);
      expect(Array.from(rates, (_, i) => problem.place(scene, i))).toEqual(Array.from(rates, (rate) => ranked.indexOf(rate)));
    }
    expect(seen.size).toBe(200);
  });

  it.each(["linear", "curve"] as const)("of %s is drawn by its seed", async (id) => {
    const drawn = async (seed: number) => {
      const problem = await problemOf(id, seed);
      return [problem.truth, Array.from(problem.scene().rates)];
    };
    expect(await drawn(1)).toEqual(await drawn(1));
    expect((await drawn(1))[0]).not.toEqual((await drawn(2))[0]);
    expect((await drawn(1))[1]).not.toEqual((await drawn(2))[1]);
  });
});

describe("the curve", () => {
  it("is smooth, from 0.05 to 0.95, at fifty-one points, and the same each round", async () => {
    const problem = await problemOf("curve", 8);
    expect(problem).toMatchObject({ reportsFailures: true, places: 51, points: grid });
    expect(grid.map(([x]) => x)).toEqual(Array.from({ length: 51 }, (_, i) => i / 50));
    const scene = problem.scene();
    expect(problem.scene()).toBe(scene);
    const rates = Array.from(scene.rates);
    expect(problem.truth).toEqual(rates);
    expect([Math.min(...rates), Math.max(...rates)]).toEqual([expect.closeTo(0.05, 12), expect.closeTo(0.95, 12)]);
    for (let i = 1; i < rates.length; i++) expect(Math.abs(rates[i] - rates[i - 1])).toBeLessThan(0.25);
    expect([0, 20, 50].map((index) => problem.place(scene, index))).toEqual([0, 20, 50]);
    expect(scene.points).toEqual(Float64Array.from(grid.flat()));
  });
});

import { gpUcbSdf, otfLinTs, otfLinUcb, Recommender, squaredExponential, type Window } from "afterclick";
import { type AppendedImpression, type GaussianProcess, gaussianProcess } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { Ridge } from "../../../../src/model/linear/ridge.ts";
import { DelayedPosterior } from "../../../../src/model/pending/delayed-posterior.ts";
import { freshCore } from "../../../support/core.ts";
import { stream } from "../../../support/scenario.ts";

// Compares GP-UCB-SDF with its definition: one process of all impressions, one of known outcomes, which is refitted, and
// the widths of all impressions in the window.

const settings = { dimension: 1, kernel: squaredExponential({ lengthscale: 0.3 }), noiseVariance: 0.05 };
const EVERY = 5;
const WINDOW = 6;

interface Shown {
  readonly features: Float64Array;
  readonly time: number;
  /** Width under the posterior before the impression. */
  readonly width: number;
  known: boolean;
}

function learn(process: GaussianProcess, features: Float64Array, reward: number): void {
  process.reward({ features, slot: process.append(features) }, reward, 0);
}

const deviation = (process: GaussianProcess, features: Float64Array): number => process.moments(features).deviation[0];

describe.each<[string, Window, number]>([
  ["rounds", { rounds: WINDOW }, 1],
  ["ms", { ms: 1000 * WINDOW }, 1000],
  ["no window", "none", 1],
])("in %s", (_, window, unit) => {
  it.each(["exact", "buffered"] as const)("adds up the widths of what is open, and fits to what is known: %s", async (norms) => {
    const options = { ...settings, norms, beta: 0.5, rewardBound: 2, exploration: 0.3, refit: { every: EVERY } };
    const { policy } = await Recommender.create({ policy: gpUcbSdf(options), window });
    const [all, known] = [await gaussianProcess(settings), await gaussianProcess(settings)];
    const random = stream(6);
    const shown: [AppendedImpression, Shown][] = [];
    const oldest = (round: number): number => (window === "none" ? 0 : round - WINDOW);
    const asked = Float64Array.of(0.35);
    for (let round = 1; round <= 26; round++) {
      const open = shown.filter(([, { time }]) => time >= oldest(round));
      const widths = open.map(([, each]) => (norms === "exact" ? deviation(all, each.features) : each.width));
      const nu = 2 * widths.reduce((sum, each) => sum + each, 0) + 0.5;
      const [{ width, mean }] = policy.choose({ candidates: [{ features: asked }], round, now: unit * round });
      expect(width).toBeCloseTo(0.3 * nu * deviation(all, asked), 8);
      expect(mean).toBeCloseTo(all.moments(asked).mean[0], 8);

      const features = Float64Array.of(Math.floor(8 * random()) / 8);
      const before = deviation(all, features);
      shown.push([policy.append({ features, round, now: unit * round }), { features, time: round, width: before, known: false }]);
      all.append(features);
      for (const [, each] of shown) {
        if (each.known || each.time >= oldest(round)) continue;
        learn(known, each.features, 0);
        each.known = true;
      }
      if (round % EVERY === 0) {
        known.refit();
        all.adopt(known.kernel);
      }
      const [impression, late] = shown[Math.max(0, round - 1 - Math.floor(9 * random()))];
      if (random() < 0.4) continue;
      // An impression with a closed window was known as a 0. A converted one changes its reward.
      const reward = Math.sin(5 * impression.features[0]);
      const previous = rewards.get(impression);
      policy.observe({ impression, reward: (previous ?? reward) / (previous ? 2 : 1), previous });
      const change = previous === undefined ? reward : -previous / 2;
      rewards.set(impression, (previous ?? 0) + change);
      all.reward({ features: impression.features, slot: all.locate(impression.features) }, change, 0);
      if (!late.known) known.append(impression.features);
      late.known = true;
      known.reward({ features: impression.features, slot: known.locate(impression.features) }, change, 0);
    }
    expect(all.kernel.lengthscale[0]).not.toBe(0.3);
  });
  const rewards = new Map<AppendedImpression, number>();
});

describe("a forgotten vector of an open impression", () => {
  const at = (x: number): Float64Array => Float64Array.of(x);
  const ROUNDS = [0.1, 0.12, 0.5, 0.9, 0.3, 0.7, 0.2, 0.6];
  const asked = at(0.35);

  it.each(["exact", "buffered"] as const)("has the nearest one instead, in widths and when its window closes: %s", async (norms) => {
    const options = { ...settings, norms, beta: 0.5, refit: { every: ROUNDS.length } };
    const { policy } = await Recommender.create({ policy: gpUcbSdf(options), window: { rounds: 5 } });
    const [all, known] = [await gaussianProcess(settings), await gaussianProcess(settings)];
    const widths: number[] = [];
    const width = (round: number): number => policy.choose({ candidates: [{ features: asked }], round })[0].width;
    for (const [i, x] of ROUNDS.entries()) {
      widths.push(deviation(all, at(x)));
      const impression = policy.append({ features: at(x), round: i + 1 });
      if (i % 2 === 0) policy.observe({ impression, reward: x });
      // The policy learns at 0.12 until it forgets it.
      all.append(at(i === 1 ? 0.1 : x));
      if (i % 2 === 0) learn(known, at(x), x);
      if (i % 2 === 0) all.reward({ features: at(x), slot: all.locate(at(x)) }, x, 0);
      if (i !== 1) continue;
      const before = await gaussianProcess(settings);
      for (const each of [0.1, 0.12]) before.append(at(each));
      const own = deviation(before, at(0.1)) + deviation(before, at(0.12));
      if (norms === "exact") expect(width(3)).toBeCloseTo((own + 0.5) * deviation(before, asked), 8);
      expect(policy.forget(at(0.12))).toBe(true);
      const sum = norms === "exact" ? 2 * deviation(all, at(0.1)) : widths[0] + widths[1];
      expect(width(3)).toBeCloseTo((sum + 0.5) * deviation(all, asked), 8);
    }
    // Its window has closed, without a conversion.
    known.append(at(0.1));
    known.refit();
    all.adopt(known.kernel);
    expect(known.kernel.lengthscale[0]).not.toBe(0.3);
    expect(policy.predict([asked]).mean[0]).toBeCloseTo(all.moments(asked).mean[0], 8);
  });

  it("takes its width along, if no other vector is left", async () => {
    const options = { ...settings, norms: "buffered", beta: 0.5, refit: { every: 50 } } as const;
    const { policy } = await Recommender.create({ policy: gpUcbSdf(options), window: { rounds: 6 } });
    policy.append({ features: at(0.1), round: 1 });
    expect(policy.forget(at(0.1))).toBe(true);
    policy.append({ features: at(0.5), round: 2 });
    const process = await gaussianProcess(settings);
    process.append(at(0.5));
    const [{ width }] = policy.choose({ candidates: [{ features: asked }], round: 3 });
    expect(width).toBeCloseTo((1 + 0.5) * deviation(process, asked), 8);
  });

  it("leaves the widths of other vectors", () => {
    const { core } = freshCore();
    const posterior = new Ridge(core, { dimension: 1, ridge: 1 });
    const open = new DelayedPosterior(posterior, { rounds: 2 }, { norms: "exact", measure: (norm) => norm, buffer: "before" });
    for (const [i, x] of [0.1, 0.1, 0.5, 0.1, 0.7].entries()) open.append(at(x), { round: i + 1 });
    expect(open.forget(at(0.1))).toBe(true);
    expect(open.openWidth({ round: 5 })).toBeCloseTo(posterior.deviation(at(0.5)) + posterior.deviation(at(0.7)), 12);
  });
});

it("an empty window adds nothing to a bonus, whatever the rounding of the widths that have left it", async () => {
  const widths = await Promise.all(
    (["exact", "buffered"] as const).map(async (norms) => {
      const { policy } = await Recommender.create({ policy: gpUcbSdf({ ...settings, norms }), window: { rounds: WINDOW } });
      for (let round = 1; round <= 40; round++) policy.append({ features: [((round * 29) % 47) / 47], round });
      return [46, 47].map((round) => policy.choose({ candidates: [{ features: [0.35] }], round })[0].width);
    }),
  );
  const [[exactOpen, exact], [bufferedOpen, buffered]] = widths;
  expect(buffered).toBe(exact);
  expect(exactOpen).toBeGreaterThan(exact);
  expect(bufferedOpen).toBeGreaterThan(buffered);
});

it.each([
  ["otfLinTs", otfLinTs({ dimension: 2, norms: "exact" })],
  ["otfLinUcb", otfLinUcb({ dimension: 2, norms: "exact" })],
])("%s states the same widths with as many impressions open as candidates as with fewer", async (_, descriptor) => {
  const { policy } = await Recommender.create({ policy: descriptor, window: { rounds: WINDOW } });
  const some = [
    [0.5, 0],
    [0.25, 0.75],
    [0, 0.125],
  ].map((features) => ({ features }));
  for (let round = 1; round <= 4; round++) {
    for (const greedy of [true, false]) {
      const widthsAmong = (candidates: typeof some) => {
        const choices = policy.choose({ candidates, round, limit: candidates.length, greedy });
        return choices.toSorted((a, b) => a.index - b.index).map(({ width }) => width);
      };
      const expected = widthsAmong([...some, ...some, ...some]).slice(0, some.length);
      expect(widthsAmong(some)).toEqual(expected);
      expect(some.map((each) => widthsAmong([each])[0])).toEqual(expected);
    }
    policy.append({ features: [1 / 2 ** round, 0.5], round });
  }
});

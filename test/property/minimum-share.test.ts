import { delayedZooming, otfLinTs, otfLinUcb, type PolicyDescriptor, Recommender, uniform } from "afterclick";
import { describe, expect, it } from "vitest";

const candidates = [
  [1, 0],
  [0, 1],
  [0.6, 0.6],
  [0.2, 0.1],
].map((features) => ({ features }));

async function running(policy: PolicyDescriptor) {
  const { policy: running } = await Recommender.create({ policy, window: "none", seed: 3 });
  const impression = running.append({ ...(running.dimension > 0 && { features: [1, 0] }), round: 1 });
  running.observe({ impression, reward: 1 });
  return running;
}

const DECISIONS = 20_000;

describe.each([
  ["otf-lin-ts", otfLinTs({ dimension: 2 })],
  ["otf-lin-ucb", otfLinUcb({ dimension: 2 })],
  ["uniform", uniform()],
])("a minimum share under %s", (_, descriptor) => {
  it.each([0.05, 0.25, 1])("of %d gives every candidate that chance, and says each choice's own", async (minimumShare) => {
    const policy = await running(descriptor);
    const shown = new Array<number>(candidates.length).fill(0);
    const stated = new Array<number>(candidates.length).fill(0);
    for (let n = 0; n < DECISIONS; n++) {
      const [choice] = policy.choose({ candidates, round: 2, decision: `decision ${n}`, draws: 100, minimumShare });
      shown[choice.index]++;
      stated[choice.index] = choice.probability as number;
    }
    shown.forEach((count, index) => {
      expect(stated[index]).toBeGreaterThanOrEqual(Math.min(minimumShare, 1 / candidates.length) - 1e-12);
      const deviation = Math.sqrt((stated[index] * (1 - stated[index])) / DECISIONS);
      expect(Math.abs(count / DECISIONS - stated[index])).toBeLessThan(5 * deviation + 1e-9);
    });
    expect(stated.reduce((sum, chance) => sum + chance, 0)).toBeCloseTo(1, 9);
  });
});

it("gives every place of a list its probability", async () => {
  const policy = await running(otfLinUcb({ dimension: 2 }));
  const order = policy.choose({ candidates, round: 2, limit: 4 }).map(({ index }) => index);
  for (let n = 0; n < 200; n++) {
    const choices = policy.choose({ candidates, round: 2, limit: 4, decision: `decision ${n}`, minimumShare: 0.1 });
    expect(new Set(choices.map(({ index }) => index)).size).toBe(4);
    choices.forEach(({ index, probability }, place) => {
      expect(probability).toBeCloseTo(0.1 + 0.6 * Number(order[place] === index), 12);
    });
  }
});

it("says which lists it ranks at random", async () => {
  const policy = await running(otfLinUcb({ dimension: 2 }));
  const own = policy.choose({ candidates, round: 2, limit: 4 }).map(({ index }) => index);
  let random = 0;
  for (let n = 0; n < 2000; n++) {
    const request = { round: 2, decision: `decision ${n}`, minimumShare: 0.1 };
    const order = policy.choose({ ...request, candidates, limit: 4 }).map(({ index }) => index);
    if (policy.ranksAtRandom(request, 4)) random++;
    else expect(order).toEqual(own);
  }
  // Four candidates, each with a share of 0.1.
  expect(Math.abs(random / 2000 - 0.4)).toBeLessThan(0.05);
  expect(policy.ranksAtRandom({ round: 2 }, 4)).toBe(false);
  expect(policy.ranksAtRandom({ round: 2, minimumShare: 0.25 }, 4)).toBe(true);
  expect(() => policy.ranksAtRandom({ round: 2, minimumShare: 2 }, 4)).toThrow(/minimumShare/);
  expect(() => policy.ranksAtRandom({ round: 2 }, 0)).toThrow(/count/);
});

it("refuses shares that are none, and policies that choose in their own domain", async () => {
  const policy = await running(otfLinUcb({ dimension: 2 }));
  for (const minimumShare of [-0.1, 1.1, Number.NaN]) {
    expect(() => policy.choose({ candidates, round: 2, minimumShare })).toThrow(/minimumShare/);
  }
  const domain = { box: [[0, 1]] as [number, number][] };
  const { policy: zooming } = await Recommender.create({ policy: delayedZooming({ domain, horizon: 10 }), window: "none" });
  expect(() => zooming.choose({ round: 1, minimumShare: 0.1 })).toThrow(/minimumShare: expected 0/);
});

import { delayGpUcb, delayLinTs, type PolicyDescriptor, Recommender } from "afterclick";
import { describe, expect, it } from "vitest";
import { stream } from "../../../support/scenario.ts";

const WINDOW_MS = 5000;
const MEAN_DELAY_MS = 1000;
const RATE = 0.3;

/** An impression in each ms, whose conversion comes in the window at a rate of `RATE`. */
async function lived(policy: PolicyDescriptor, seed: number, count: number): Promise<Recommender> {
  const random = stream(seed);
  const recommender = await Recommender.create({ policy, window: { ms: WINDOW_MS } });
  const due = new Map<number, string[]>();
  for (let now = 1; now <= count; now++) {
    const impressionId = `at ${now}`;
    recommender.register({ impressionId, features: now % 2 ? [1, 0] : [0, 1], now });
    const delay = Math.ceil(-MEAN_DELAY_MS * Math.log(1 - random()));
    if (random() < RATE && delay < WINDOW_MS) due.set(now + delay, [...(due.get(now + delay) ?? []), impressionId]);
    for (const id of due.get(now) ?? []) recommender.convert({ impressionId: id, reward: 1, at: now });
  }
  return recommender;
}

/** Mean of what is predicted for both actions over several worlds, and its standard error. */
async function predicted(policy: PolicyDescriptor, worlds: number) {
  const points = [
    [1, 0],
    [0, 1],
  ];
  const means: number[] = [];
  for (let seed = 1; seed <= worlds; seed++) {
    const { mean } = (await lived(policy, seed, 3300)).policy.predict(points);
    means.push((mean[0] + mean[1]) / 2);
  }
  const mean = means.reduce((sum, each) => sum + each, 0) / worlds;
  const squares = means.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  return { mean, error: Math.sqrt(squares / (worlds - 1) / worlds) };
}

describe("a half-life that is short against the window", () => {
  it.each<[string, number, (forgetting: { readonly halfLife: number } | null) => PolicyDescriptor]>([
    ["a linear policy", 12, (forgetting) => delayLinTs({ dimension: 2, shrinkage: "fixed", forgetting })],
    ["a Gaussian process with log-odds", 8, (forgetting) => delayGpUcb({ dimension: 2, rewards: "bernoulli", forgetting })],
  ])("does not lower the rates of %s", async (_, worlds, policyOf) => {
    const kept = await predicted(policyOf(null), worlds);
    const forgot = await predicted(policyOf({ halfLife: 200 }), worlds);
    expect(forgot.error).toBeLessThan(0.025);
    // Younger impressions count more, and know less of the delays: the rates were 0.19 instead of 0.28.
    expect(Math.abs(forgot.mean - kept.mean)).toBeLessThan(3 * Math.hypot(forgot.error, kept.error) + 0.01);
  });

  it("leaves an interval that holds the rate and is about as wide as the impressions that count allow", async () => {
    const { policy } = await lived(delayLinTs({ dimension: 2, forgetting: { halfLife: 500 } }), 7, 6000);
    const [{ low, high }] = policy.interval([[1, 0]]);
    expect(low).toBeLessThan(RATE);
    expect(high).toBeGreaterThan(RATE);
    // About 360 impressions of each action count, of which a third has not matured.
    expect(high - low).toBeGreaterThan(0.08);
    expect(high - low).toBeLessThan(0.25);
  });

  it("goes on from a snapshot to the bit", async () => {
    const policy = delayLinTs({ dimension: 2, forgetting: { halfLife: 50 } });
    const here = await lived(policy, 3, 700);
    const there = await Recommender.restore(here.snapshot(), { policies: [delayLinTs] });
    expect(there.snapshot()).toEqual(here.snapshot());
    expect(there.policy.interval([[1, 0]])).toEqual(here.policy.interval([[1, 0]]));
    for (const each of [here, there])
      for (let now = 701; now < 800; now++) each.register({ impressionId: `${now}`, features: [1, 0], now });
    expect(there.policy.predict([[1, 0]])).toEqual(here.policy.predict([[1, 0]]));
  });
});

import { type ConversionEvent, type PolicyFactory, policies, Recommender } from "afterclick";
import { describe, expect, it } from "vitest";
import { create, listed, shuffled } from "../support/history.ts";
import { candidatesFor, type Setting, stream } from "../support/scenario.ts";

// Laws of what the order of arrival may not change: what has been learnt, and after a rebuild every byte.

const WINDOW = { ms: 1_000_000 };

interface Shown {
  readonly impressionId: string;
  readonly features: Float64Array;
  readonly now: number;
}

/** What a policy shows in 40 rounds in which it learns nothing. */
async function impressions(factory: PolicyFactory, setting: Setting): Promise<Shown[]> {
  const recommender = await create(factory, setting.options, WINDOW);
  const random = stream(31);
  return Array.from({ length: 40 }, (_, i) => {
    const now = 1000 * (i + 1);
    const { impressionId } = recommender.recommend({ candidates: candidatesFor(setting, random), now }).action;
    return { impressionId, features: recommender.impression(impressionId)?.features as Float64Array, now };
  });
}

const dyadic = (random: () => number): number => Math.floor(random() * 4096) / 4096;

/** For every other impression a few events of two goals: a reward, another one later, a retraction last or in between. */
function events(shown: readonly Shown[], retract: boolean): ConversionEvent[] {
  const random = stream(32);
  return shown
    .filter((_, i) => i % 2 === 0)
    .flatMap(({ impressionId, now }) =>
      ["conversion", "signup"].flatMap((goal) =>
        Array.from({ length: Math.floor(random() * 4) }, (_, i): ConversionEvent => {
          const reward = retract && random() < 0.4 ? null : dyadic(random);
          // Few times and ids, so that now and then the id decides, or the reward.
          return { impressionId, goal, reward, eventId: `${goal} ${i % 2}`, at: now + Math.floor(2 * random()) };
        }),
      ),
    );
}

/** Registers impressions and delivers conversions among them, each after its own; restores whenever `restoring` says so. */
async function deliver(
  start: () => Promise<Recommender>,
  shown: readonly Shown[],
  arriving: readonly ConversionEvent[],
  random: () => number,
  restoring = 0,
): Promise<Recommender> {
  let recommender = await start();
  const waiting = [...arriving];
  for (const impression of shown) {
    recommender.register(impression);
    for (let i = waiting.length - 1; i >= 0; i--) {
      if (random() < 0.9 || !recommender.impression(waiting[i].impressionId)) continue;
      recommender.convert(waiting[i]);
      waiting.splice(i, 1);
    }
    if (random() < restoring) recommender = await Recommender.restore(recommender.snapshot(), { policies });
  }
  for (const event of waiting) recommender.convert(event);
  return recommender;
}

describe.each(listed)("$name", ({ factory, setting }) => {
  const start = (): Promise<Recommender> => create(factory, setting.options, WINDOW);

  it("is the same, byte for byte, once rebuilt: in whatever order conversions came, repeated, with restores in between", async ({
    skip,
  }) => {
    if (!(await start()).policy.orderInvariant) skip("its state depends on the order of conversions, as it declares");
    const shown = await impressions(factory, setting);
    const arriving = events(shown, false);
    const reference = await deliver(start, shown, arriving, () => 0);
    reference.policy.refactor();
    expect(arriving.length).toBeGreaterThan(30);
    for (const seed of [1, 2, 3]) {
      const order = shuffled([...arriving, ...arriving], stream(seed));
      const other = await deliver(start, shown, order, stream(seed + 10), 0.2);
      other.policy.refactor();
      expect(other.snapshot()).toEqual(reference.snapshot());
    }
  });

  it("learns the same from conversions, restatements and retractions in any order and repeated", async ({ skip }) => {
    if (!(await start()).policy.orderInvariant) skip("its state depends on the order of conversions, as it declares");
    const shown = await impressions(factory, setting);
    const arriving = events(shown, true);
    const reference = await deliver(start, shown, arriving, () => 0);
    expect(arriving.filter(({ reward }) => reward === null).length).toBeGreaterThan(10);
    expect(reference.counts().converted).toBeGreaterThan(5);
    for (const seed of [1, 2, 3]) {
      const order = shuffled([...arriving, ...arriving], stream(seed));
      expect((await deliver(start, shown, order, stream(seed + 10), 0.2)).digest()).toBe(reference.digest());
    }
  });

  it("forgets a retracted conversion exactly: as if it had never come", async ({ skip }) => {
    if (!(await start()).policy.orderInvariant) skip("its state depends on the order of conversions, as it declares");
    const shown = await impressions(factory, setting);
    const kept = events(shown, false);
    const regretted = shown.filter((_, i) => i % 2 === 1).map(({ impressionId, now }) => ({ impressionId, reward: 0.75, at: now + 5 }));
    const retractions = regretted.map((event) => ({ ...event, reward: null, at: event.at + 1 }));
    const reference = await deliver(start, shown, kept, stream(1));
    const other = await deliver(start, shown, shuffled([...kept, ...regretted, ...retractions], stream(2)), stream(3), 0.2);
    expect(other.digest()).toBe(reference.digest());
    expect(other.counts().converted).toBe(reference.counts().converted);
    expect(other.counts().retracted).toBeGreaterThan(0);
  });
});

import { type ConversionEvent, policies, Recommender } from "afterclick";
import { describe, expect, it } from "vitest";
import { shuffled } from "../../src/simulation/stream.ts";
import { create } from "../support/logs/history.ts";
import { candidatesFor, dyadicVectors, stream } from "../support/scenario.ts";
import { type Listed, listed, predicting } from "./stated.ts";

// The order of arrival changes neither sums nor predictions, and after a rebuild no byte of a snapshot.

/** Windows close while impressions are shown. A conversion in time still counts if it is delivered afterwards. */
const WINDOW = { ms: 30_000, grace: 1_000_000 };

interface Shown {
  readonly impressionId: string;
  readonly features: Float64Array;
  readonly now: number;
  readonly action: string;
}

/** The impressions of 40 rounds, of a policy that learns nothing. */
const shownBy = new Map<string, Promise<Shown[]>>();
function impressions(each: Listed): Promise<Shown[]> {
  const shown = shownBy.get(each.name) ?? show(each);
  shownBy.set(each.name, shown);
  return shown;
}

async function show({ factory, setting }: Listed): Promise<Shown[]> {
  const recommender = await create(factory, setting, WINDOW);
  const random = stream(31);
  return Array.from({ length: 40 }, (_, i) => {
    const now = 1000 * (i + 1);
    const { impressionId, id: action } = recommender.recommend({ candidates: candidatesFor(setting, random), now }).action;
    return { impressionId, features: recommender.impression(impressionId)?.features as Float64Array, now, action };
  });
}

/** Rewards that repeat now and then, so that an event may change only the time of a conversion. */
const dyadic = (random: () => number): number => (random() < 0.4 ? 0.5 : Math.floor(random() * 4096) / 4096);

interface Arriving {
  readonly retract?: boolean;
  readonly reward?: (random: () => number) => number;
}

/** A few events of two goals for every other impression: a reward, a later one, and a retraction at the end or in between. */
function events(shown: readonly Shown[], { retract = false, reward: drawn = dyadic }: Arriving = {}): ConversionEvent[] {
  const random = stream(32);
  return shown
    .filter((_, i) => i % 2 === 0)
    .flatMap(({ impressionId, now }) =>
      ["conversion", "click"].flatMap((goal) =>
        Array.from({ length: Math.floor(random() * 4) }, (_, i): ConversionEvent => {
          const reward = retract && random() < 0.4 ? null : drawn(random);
          // Few times and ids, so that the id or the reward sometimes decides. The last time is too late.
          return { impressionId, goal, reward, eventId: `${goal} ${i % 2}`, at: now + 7_600 * Math.floor(5 * random()) };
        }),
      ),
    );
}

interface Delivery {
  readonly each: Listed;
  readonly shown: readonly Shown[];
  readonly arriving: readonly ConversionEvent[];
  /** If set, events arrive among the impressions and the recommender is restored. Otherwise all events follow in order. */
  readonly random?: () => number;
}

async function deliver({ each, shown, arriving, random }: Delivery): Promise<Recommender> {
  let recommender = await create(each.factory, each.setting, WINDOW);
  const waiting = [...arriving];
  for (const impression of shown) {
    recommender.register(impression);
    if (!random) continue;
    for (let i = waiting.length - 1; i >= 0; i--) {
      if (random() < 0.9 || !recommender.impression(waiting[i].impressionId)) continue;
      recommender.convert(waiting[i]);
      waiting.splice(i, 1);
    }
    if (random() < 0.06) recommender = await Recommender.restore(recommender.snapshot(), { policies });
  }
  for (const event of waiting) recommender.convert(event);
  return recommender;
}

/** Final states after ordered delivery and after two shuffled ones with repetitions. "always" shuffles among the impressions. */
async function orders(each: Listed, when: "always" | "afterwards", kind?: Arriving): Promise<[Recommender, Recommender[]]> {
  const shown = await impressions(each);
  const arriving = events(shown, kind);
  expect(arriving.length).toBeGreaterThan(30);
  const reference = await deliver({ each, shown, arriving });
  expect(reference.counts().converted).toBeGreaterThan(5);
  const others = [1, 2].map((seed) => {
    const order = shuffled([...arriving, ...arriving], stream(seed));
    return deliver({ each, shown, arriving: order, random: when === "always" ? stream(seed + 10) : undefined });
  });
  return [reference, await Promise.all(others)];
}

interface Learnt {
  readonly digest: string;
  /** After a rebuild. */
  readonly snapshot: Uint8Array;
}

/** The states of the reference and of the others. Two laws are about the same deliveries. */
const learntBy = new Map<string, Promise<readonly [Learnt, readonly Learnt[]]>>();
function learnt(each: Listed, when: "always" | "afterwards"): Promise<readonly [Learnt, readonly Learnt[]]> {
  const learning = learntBy.get(`${each.name} ${when}`) ?? learn(each, when);
  learntBy.set(`${each.name} ${when}`, learning);
  return learning;
}

async function learn(each: Listed, when: "always" | "afterwards"): Promise<readonly [Learnt, readonly Learnt[]]> {
  const [reference, others] = await orders(each, when);
  const rebuilt = (recommender: Recommender): Learnt => {
    const digest = recommender.digest();
    recommender.policy.refactor();
    return { digest, snapshot: recommender.snapshot() };
  };
  return [rebuilt(reference), others.map(rebuilt)];
}

const POINTS = dyadicVectors(stream(10), 20, 4);

describe.each(["always", "afterwards"] as const)("of conversions, %s", (when) => {
  it.each(listed.filter(({ sums }) => sums === when))("$name learns the same sums in any order", async (each) => {
    const [reference, others] = await learnt(each, when);
    for (const { digest } of others) expect(digest).toBe(reference.digest);
  });

  it.each(listed.filter(({ sums }) => sums === when))("$name learns the same sums with retractions", async (each) => {
    const [reference, others] = await orders(each, when, { retract: true });
    for (const other of others) expect(other.digest()).toBe(reference.digest());
  });

  it.each(listed.filter(({ state }) => state === when))("$name is the same in any order, byte for byte, once rebuilt", async (each) => {
    const [reference, others] = await learnt(each, when);
    for (const { snapshot } of others) expect(snapshot).toEqual(reference.snapshot);
  });

  it.each(predicting.filter(({ predictions }) => predictions === when))("$name predicts the same, but for 1e-12", async (each) => {
    const [reference, others] = await orders(each, when, { reward: (random) => random() });
    const expected = reference.policy.predict(POINTS);
    for (const { policy } of others) {
      const { mean, variance } = policy.predict(POINTS);
      for (let i = 0; i < POINTS.length; i++) {
        expect(Math.abs(mean[i] - expected.mean[i])).toBeLessThan(1e-12);
        expect(Math.abs(variance[i] - expected.variance[i])).toBeLessThan(1e-12);
      }
    }
  });
});

describe("a retracted conversion", () => {
  const always = listed.filter(({ sums }) => sums === "always");
  const byConversion = ["gp-ucb", "asy-ts", "gp-bucb", "gp-bts", "gp-ei", "mini-gp-ucb", "mini-gp-ei", "delay-gp-ucb", "delay-gp-ts"];
  const byImpression = always.filter(
    ({ factory, setting }) => !byConversion.includes(factory.id) || setting.options.rewards === "bernoulli",
  );

  /** Learns the events of every other impression, and those that `said` makes for the rest. */
  async function learning(each: Listed, said: (rest: { impressionId: string; at: number }[]) => ConversionEvent[], seed: number) {
    const shown = await impressions(each);
    const rest = shown.filter((_, i) => i % 2 === 1).map(({ impressionId, now }) => ({ impressionId, at: now + 5 }));
    return deliver({ each, shown, arriving: shuffled([...events(shown), ...said(rest)], stream(seed)), random: stream(seed + 1) });
  }
  const taken = (event: { impressionId: string; at: number }): ConversionEvent[] => [
    { ...event, reward: 0.75 },
    { ...event, reward: null, at: event.at + 1 },
  ];

  const corrected = (event: { impressionId: string; at: number }): ConversionEvent[] => [
    { ...event, reward: 0.75, eventId: "order" },
    { ...event, reward: 0, eventId: "order", at: event.at + 1 },
  ];

  it.each(always)("is to $name as one that is corrected to 0", async (each) => {
    const reference = await learning(each, (rest) => rest.flatMap(corrected), 1);
    const other = await learning(each, (rest) => rest.flatMap(taken), 2);
    expect(other.digest()).toBe(reference.digest());
    expect(other.counts().retracted).toBe(20);
  });

  it.each(byImpression)("is to $name as if it had never come", async (each) => {
    const reference = await learning(each, () => [], 1);
    const other = await learning(each, (rest) => rest.flatMap(taken), 2);
    expect(other.digest()).toBe(reference.digest());
    expect(other.counts().converted).toBe(reference.counts().converted);
  });
});

import { type ConversionEvent, type Goals, policies, Recommender, type Window } from "afterclick";
import { describe, expect, it } from "vitest";
import { type Listed, listed } from "../conformance/stated.ts";
import { PRICED } from "../policies/facts.ts";
import { candidatesFor, stream, TWO_GOALS } from "../support/scenario.ts";

// A reward of 0 is what an impression without conversions has. Zeros that are mixed into a stream change no bit: decisions, sums,
// predictions, publications, counts. Snapshots differ, because a recommender remembers the ids of zeros: they may still correct something.

/** Streams in which zeros are mixed. `ZERO_STREAMS=1000 npx vitest run test/property/zeros.test.ts` takes more. */
const STREAMS = Number(process.env.ZERO_STREAMS ?? 60);

const silent = listed.filter(({ factory }) => factory.countsZeros !== true);
const WINDOWS: readonly Window[] = [{ ms: 20_000 }, { ms: 9_000, grace: 5_000 }, { rounds: 8 }, "none"];
const GOALS: readonly (Goals | undefined)[] = [undefined, TWO_GOALS, PRICED, { click: { weight: 1 }, conversion: { weight: -2 } }];

type Choose = <T>(of: readonly T[]) => T;

/** A recommender, and all that it has said. */
interface Told {
  recommender: Recommender;
  readonly said: unknown[];
}

/** Plays a stream twice, with zeros and without. */
async function played({ factory, setting }: Listed, seed: number) {
  const random = stream(seed);
  const choose: Choose = (of) => of[Math.floor(random() * of.length)];
  const windows = WINDOWS.filter((window) => window !== "none" || !factory.countsZeros);
  // A half-life takes no goal after another.
  const isHalved = Object(setting.options.forgetting).halfLife !== undefined;
  const [window, goals] = [choose(windows), choose(GOALS.filter((each) => each !== PRICED || !isHalved))];
  const reward = random() < 0.5 && setting.options.rewards !== "bernoulli" ? { min: -1, max: 1 } : { min: 0, max: 1 };
  const make = factory as unknown as (options: object) => ReturnType<typeof factory>;
  const create = () => Recommender.create({ policy: make(setting.options), window, goals, reward, seed });
  const both: Told[] = [
    { recommender: await create(), said: [] },
    { recommender: await create(), said: [] },
  ];
  const inMs = typeof window === "object" && "ms" in window;
  const shown: { readonly impressionId: string; readonly now: number }[] = [];
  const due: ConversionEvent[] = [];
  let zeros = 0;
  const zero = (of: Partial<ConversionEvent>) => {
    const { impressionId, now } = choose(shown);
    const at = inMs ? { at: now + Math.floor(random() * 25_000) } : {};
    const own = { impressionId, goal: choose(["click", "conversion"]), eventId: `no ${choose([1, 2, ++zeros])}`, ...at };
    const event = { ...own, ...of, reward: choose([0, -0]) };
    for (let i = 0; i < choose([1, 1, 2]); i++) both[1].recommender.convert(event);
  };
  for (let round = 1; round <= 40; round++) {
    const now = 1000 * round;
    const request = { candidates: candidatesFor(setting, random), limit: setting.proposes ? 1 : choose([1, 2]), now };
    for (const each of both) each.said.push(each.recommender.recommend(request));
    for (const { impressionId } of (both[0].said.at(-1) as { ranking: readonly { impressionId: string }[] }).ranking) {
      shown.push({ impressionId, now });
      for (let i = 0; i < choose([0, 0, 1, 2]); i++) {
        const amount = choose([0.25, 1, (random() * (1 - reward.min) + reward.min) / 2]);
        const at = inMs ? { at: now + Math.floor(random() * 12_000) } : {};
        due.push({
          impressionId,
          goal: choose(["click", "conversion"]),
          reward: choose([amount, amount, null]),
          eventId: `buy ${i}`,
          ...at,
        });
      }
    }
    for (let i = due.length - 1; i >= 0; i--) {
      const { impressionId, goal, eventId, at = 0, reward } = due[i];
      // Before the event or after it, but from earlier.
      const draft = () => random() < 0.3 && zero({ impressionId, goal, eventId, ...(inMs && { at: at - choose([0, 1, 4]) }) });
      if (random() < 0.7) continue;
      if (reward !== 0 && reward !== null && reward > 0) draft();
      for (const each of both) each.said.push(each.recommender.convert(due[i]));
      if (reward !== 0 && reward !== null && reward > 0) draft();
      if (random() < 0.8) due.splice(i, 1);
    }
    while (random() < 0.6) zero({});
    if (inMs && random() < 0.1) for (const each of both) each.said.push(each.recommender.expire(now + 500));
    if (random() < 0.05) for (const each of both) each.recommender = await Recommender.restore(each.recommender.snapshot(), { policies });
  }
  return { both, shown, zeros };
}

/** All that may be seen of a recommender, but for the events that it remembers. */
function seen({ recommender, said }: Told, shown: readonly { readonly impressionId: string }[]): unknown {
  const { policy } = recommender;
  const impressions = shown.map(({ impressionId }) => {
    const { conversions: _, ...rest } = recommender.impression(impressionId) ?? { conversions: [] };
    return rest;
  });
  return [said, recommender.counts(), recommender.digest(), policy.statistics(), recommender.publication(), impressions];
}

describe("zeros mixed into streams", () => {
  it(`change no bit in ${STREAMS} streams`, async () => {
    let all = 0;
    for (let seed = 1; seed <= STREAMS; seed++) {
      const each = silent[seed % silent.length];
      const { both, shown, zeros } = await played(each, seed);
      const [without, having] = both.map((told) => seen(told, shown));
      expect(having, `${each.name}, stream ${seed}`).toEqual(without);
      for (const { recommender } of both) recommender.refactor();
      const [one, other] = both.map((told) => seen(told, shown));
      expect(other, `${each.name}, stream ${seed}, refactored`).toEqual(one);
      all += zeros;
    }
    expect(all).toBeGreaterThan(30 * STREAMS);
  });
});

describe("a policy that waits for every reward", () => {
  it.each(policies.filter(({ countsZeros }) => countsZeros === true).map(({ id }) => id))("counts zeros: %s", async (id) => {
    const { factory, setting } = listed.find(({ factory }) => factory.id === id) as Listed;
    const make = factory as unknown as (options: object) => ReturnType<typeof factory>;
    const recommender = await Recommender.create({ policy: make(setting.options), window: { rounds: 5 } });
    const { impressionId } = recommender.recommend({ candidates: candidatesFor(setting, stream(1)) }).action;
    expect(recommender.convert({ impressionId, reward: 0 })).toEqual({ status: "applied" });
    expect(recommender.counts()).toMatchObject({ converted: 1 });
  });
});

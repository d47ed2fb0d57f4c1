import { type Goals, type Policy, type PolicyFactory, Recommender, type RecommenderOptions } from "afterclick";
import { describe, expect, it } from "vitest";
import { candidatesFor, dyadicVectors, stream } from "../support/scenario.ts";
import { type Listed, listed, predicting } from "./stated.ts";

// Laws of what is stated to people: an expected reward inside the range of rewards, and the average of its product with an interval that
// has a width.

interface World extends Pick<RecommenderOptions, "reward" | "goals" | "examination"> {
  readonly range: { readonly min: number; readonly max: number };
  /** Set for rewards that policies with log-odds refuse, and for goals that policies with a half-life refuse. */
  readonly signed?: true;
  readonly funnel?: true;
}

const beside: Goals = { click: { weight: -0.5 }, conversion: { weight: 2 } };
const after: Goals = { click: { weight: -0.5 }, conversion: { weight: 2, after: "click" } };
const returned: Goals = { click: { weight: 0 }, conversion: { weight: -3 } };

const worlds: Readonly<Record<string, World>> = {
  "rewards of 0 to 1": { range: { min: 0, max: 1 } },
  "rewards of half at most, never less than a quarter": { reward: { min: 0.25, max: 0.5 }, range: { min: 0, max: 0.5 } },
  "rewards of -1 to 1": { reward: { min: -1, max: 1 }, range: { min: -1, max: 1 }, signed: true },
  "losses alone": { reward: { min: -2, max: -1 }, range: { min: -2, max: 0 }, signed: true },
  "a click that costs": { goals: beside, range: { min: -0.5, max: 2 } },
  "a click that costs, before a conversion": { goals: after, range: { min: -0.5, max: 2 }, funnel: true },
  "a goal that only costs": { goals: returned, range: { min: -3, max: 0 } },
  "places that few examine": { examination: [1, 0.25], range: { min: 0, max: 1 } },
};

const byHalfLife = ({ setting }: Listed): boolean => typeof setting.options.forgetting === "object";
/** Whether a setting has no goals of its own, and takes those of the world. */
const takes = (each: Listed, { signed, funnel }: World): boolean =>
  each.setting.goals === undefined && !(signed && each.setting.options.rewards === "bernoulli") && !(funnel && byHalfLife(each));

/** Rounds after which statements are looked at. */
const LOOKS = [0, 1, 20];

/** Plays rounds in which most conversions are the greatest or the least reward, so that means leave the range. */
async function play(each: Listed, { reward = { min: 0, max: 1 }, goals, examination }: World, look: (policy: Policy) => void) {
  const { factory, setting, proposes } = each;
  const policy = (factory as PolicyFactory<object>)(setting.options);
  const recommender = await Recommender.create({ policy, window: { rounds: 20 }, reward, goals, examination, seed: 3 });
  const random = stream(31);
  for (let round = 0; round <= (LOOKS.at(-1) as number); round++) {
    if (LOOKS.includes(round)) look(recommender.policy);
    const { ranking } = recommender.recommend({ candidates: candidatesFor(setting, random), limit: proposes ? 1 : 2 });
    for (const { impressionId } of ranking) {
      const goal = goals && random() < 0.5 ? "click" : "conversion";
      if (random() < 0.5) recommender.convert({ impressionId, goal, reward: random() < 0.7 ? reward.max : reward.min });
    }
  }
}

/** The posterior means of a decision among six candidates, or of a choice in the policy's own domain. */
function meansOf(policy: Policy, { setting, proposes }: Listed, greedy = false): number[] {
  const candidates = candidatesFor(setting, stream(32));
  return policy.choose({ candidates, round: policy.impressions + 1, limit: proposes ? 1 : 6, greedy }).map(({ mean }) => mean);
}

function pointsOf({ setting }: Listed): readonly (readonly number[])[] {
  const { domain } = setting.options as { readonly domain?: { readonly points: readonly (readonly number[])[] } };
  return domain?.points ?? dyadicVectors(stream(33), 12, 4);
}

describe.each(Object.entries(worlds))("with %s", (_, world) => {
  const { min, max } = world.range;

  it.each(listed.filter((each) => takes(each, world)))(
    "$name states rewards in their range, with an interval that has a width",
    async (each) => {
      await play(each, world, (policy) => {
        expect(policy.range).toEqual({ min, max });
        for (const mean of [...meansOf(policy, each), ...meansOf(policy, each, true)]) {
          const stated = policy.stated(mean);
          expect([stated >= min, stated <= max, stated === mean]).toEqual([true, true, mean >= min && mean <= max]);
        }
        if (!predicting.includes(each)) return;
        if (!policy.hasIntervals)
          return void expect(() => policy.interval(pointsOf(each))).toThrow(expect.objectContaining({ code: "no-interval" }));
        const { mean: means } = policy.predict(pointsOf(each));
        policy.interval(pointsOf(each)).forEach(({ mean, average, low, high }, i) => {
          expect(mean).toBe(policy.stated(means[i]));
          expect([low >= min, high <= max, low < high]).toEqual([true, true, true]);
          if (policy.impressions > 0) expect([low <= average, average <= high]).toEqual([true, true]);
          else expect([low, average, high]).toEqual([min, Number.NaN, max]);
        });
      });
    },
  );
});

it("needs its bounds: posterior means of most linear policies leave the range", async () => {
  const outside: string[] = [];
  const linear = listed.filter(
    (each) => /-lin-/.test(each.factory.id) && takes(each, {} as World) && each.setting.options.rewards !== "bernoulli",
  );
  for (const each of linear) {
    await play(each, worlds["rewards of 0 to 1"], (policy) => {
      if (meansOf(policy, each).some((mean) => mean < 0 || mean > 1)) outside.push(each.name);
    });
  }
  expect(new Set(outside).size).toBeGreaterThan(linear.length / 2);
});

import {
  asyTs,
  delayLinTs,
  evaluateLists,
  type LoggedDecision,
  linear,
  otfLinTs,
  otfLinUcb,
  Recommender,
  UnsupportedError,
  uniform,
} from "afterclick";
import { isTooFew } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { stream } from "../../../src/simulation/stream.ts";
import { drawn, estimateIn, evaluated, K, points } from "../../support/logs/logged-decisions.ts";
import { unboundedEvaluation } from "../../support/reference/unbounded-evaluation.ts";

// Evaluation of a policy that learns from the first part of a log, and refused input.

describe("a policy", () => {
  it("may give the index of the one candidate that it takes", async () => {
    const log = drawn(400, stream("index"));
    expect(await evaluated(log, { policy: () => 2 })).toEqual(await evaluated(log, { policy: () => [0, 0, 1] }));
  });

  it("is evaluated as it stands after the first part of the log, and one that has learnt earns more than chance", async () => {
    const log = drawn(2000, stream("policy"));
    const learnt = await evaluated(log, { policy: otfLinTs({ dimension: K, exploration: 0.1 }) });
    const chance = await evaluated(log, { policy: uniform() });
    expect(learnt.since).toBe(1000);
    expect(learnt.decisions).toMatchObject({ learnt: 1000, evaluated: 1000 });
    expect(estimateIn(learnt.doublyRobust).low).toBeGreaterThan(estimateIn(chance.doublyRobust).high);
    // The policy does not know events of the evaluated part.
    const other = log.map((decision, i) => (i < 1000 ? decision : { ...decision, conversions: [] }));
    expect((await evaluated(other, { policy: otfLinTs({ dimension: K, exploration: 0.1 }) })).weights).toEqual(learnt.weights);
    const ucb = await evaluated(log, { policy: otfLinUcb({ dimension: K }) });
    expect(ucb.weights.greatest).toBeCloseTo(10, 12);
  });

  it("has seen what happened until the time since when it is evaluated, in order of time, and draws by its seed", async () => {
    const random = stream("order of time");
    const log = drawn(60, random, () => 1 + random.below(40)).map((decision, i): LoggedDecision => {
      const { conversions = [] } = decision;
      // One conversion happens at the start of the evaluated part, others have two goals.
      if (i === 20) return { ...decision, conversions: [{ at: 30, reward: 1 }] };
      return { ...decision, conversions: i % 4 === 0 ? [...conversions, { at: i + 9, reward: 0.5 }] : conversions };
    });
    const [policy, reward, window] = [delayLinTs({ dimension: K }), { min: 0, max: 2 }, { ms: 35 }];
    const recommender = await Recommender.create({ policy, window, reward, seed: 5 });
    for (let time = 0; time <= 30; time++) {
      const features = points.slice(K * log[time].index, K * log[time].index + K);
      if (time < 30) recommender.register({ impressionId: `${time}`, features, now: time });
      for (const [place, { conversions = [] }] of log.entries()) {
        for (const [i, { at, reward }] of conversions.entries()) {
          if (at === time && place < 30) recommender.convert({ impressionId: `${place}`, goal: `${i}`, reward, at });
        }
      }
    }
    const chances = (draws: number) => (_: LoggedDecision, place: number) =>
      recommender.policy.chances({ points, round: 31, now: 30, draws, decision: `decision ${place}` });
    const learnt = await evaluated(log, { policy, reward, window, seed: 5, draws: 37 });
    expect(learnt.since).toBe(30);
    expect(learnt).toEqual(await evaluated(log, { policy: chances(37), reward, window }));
    const usual = await evaluated(log, { policy, reward, window, seed: 5 });
    expect(usual).toEqual(await evaluated(log, { policy: chances(100), reward, window }));
    expect(usual).not.toEqual(await evaluated(log, { policy, reward, window }));
  });

  it("without features chooses among so many candidates", async () => {
    const log = drawn(20, stream("plain")).map(({ points: _, ...decision }) => decision);
    const { weights } = await evaluated(log, { policy: uniform() });
    expect(weights.mean).toBeCloseTo(log.slice(10).reduce((sum, { probability }) => sum + 1 / 3 / probability, 0) / 10, 12);
  });

  it("is refused if it has no chances among the log's candidates", async () => {
    const log = drawn(10, stream("refused"));
    const domain = { points: [[0], [1]] };
    await expect(evaluated(log, { policy: asyTs({ domain, kernel: linear() }) })).rejects.toBeInstanceOf(UnsupportedError);
  });

  it("tells the chance of each candidate, of which that of its first choice is one", async () => {
    const recommender = await Recommender.create({ policy: otfLinTs({ dimension: K }), window: "none" });
    const request = { points, round: 1, draws: 50, minimumShare: 0.05 };
    const chances = recommender.policy.chances(request);
    expect(chances.reduce((sum, each) => sum + each, 0)).toBeCloseTo(1, 12);
    for (const decision of ["a", "b", "c", "d"]) {
      const [{ index, probability }] = recommender.policy.choose({ ...request, decision });
      expect(chances[index]).toBe(probability);
    }
    expect(() => recommender.policy.chances({ points, round: 1 })).toThrow(UnsupportedError);
    const greedy = recommender.policy.chances({ points, round: 1, greedy: true });
    expect(Array.from(greedy)).toEqual([1, 0, 0]);
    const ucb = await Recommender.create({ policy: otfLinUcb({ dimension: K }), window: "none" });
    expect(Array.from(ucb.policy.chances({ points, round: 1 }))).toEqual([1, 0, 0]);
  });
});

describe("an evaluation", () => {
  it("of no decisions says that it knows nothing", async () => {
    const result = await evaluated(drawn(10, stream("none")), { split: 1 });
    expect(result).toMatchObject({ asOf: 10, since: 10, decisions: { learnt: 10, evaluated: 0, tooYoung: 0 } });
    for (const figure of [result.logged, result.ips, result.snips, result.doublyRobust]) expect(isTooFew(figure)).toBe(true);
    expect(result.weights).toEqual({ mean: 0, greatest: 0, effective: 0 });
    expect(result.immature).toEqual({ decisions: 0, conversions: 0 });
  });

  it("takes decisions by the time as of which it is, that of the time included, and knows no others", async () => {
    const log = drawn(10, stream("as of"));
    const { decisions } = await evaluated(log, { asOf: 6 });
    expect(decisions).toEqual({ learnt: 3, evaluated: 4, tooYoung: 0 });
  });

  it("without a window counts conversions however late", async () => {
    const one = [{ shownAt: 0, count: 1, index: 0, probability: 1, conversions: [{ at: 1e9, reward: 1 }] }];
    const { ips } = await unboundedEvaluation({ log: one, policy: () => [1], asOf: 1e9, window: "none", split: 0 });
    expect(ips.value).toBe(1);
  });

  it("takes a conversion that is said to be before its impression for one without delay", async () => {
    const log = [{ shownAt: 5, count: 1, index: 0, probability: 1, conversions: [{ at: 3, reward: 1 }] }];
    const { ips, immature } = await unboundedEvaluation({ log, policy: () => [1], asOf: 5, window: { ms: 9 }, split: 0 });
    expect([ips.value, immature.decisions]).toEqual([1, 0]);
  });

  it("teaches the policy a conversion by a slow clock as one without delay, for decisions and lists", async () => {
    const log = (skew: number) => drawn(600, stream("slow clock"), () => -skew);
    const lists = (skew: number) =>
      log(skew).map(({ shownAt, count, ...item }) => ({ shownAt, count, points: item.points, items: [{ ...item, points: undefined }] }));
    const asked = { policy: otfLinUcb({ dimension: K, exploration: 0 }), window: { ms: 1000 }, asOf: 2000, examination: [1] };
    const ofLists = async (skew: number) => (await evaluateLists({ ...asked, log: lists(skew) })).itemPosition;
    const ofDecisions = async (skew: number) => (await evaluated(log(skew), { policy: asked.policy })).weights;
    for (const skew of [1, 300_000]) {
      expect(await ofDecisions(skew)).toEqual(await ofDecisions(0));
      expect(await ofLists(skew)).toEqual(await ofLists(0));
    }
  });

  it("teaches the policy nothing of a conversion so late that its impression is forgotten", async () => {
    const log = drawn(600, stream("late"));
    const late = log.map((each) => ({ ...each, conversions: [...(each.conversions ?? []), { at: each.shownAt + 250, reward: 1 }] }));
    const asked = { policy: otfLinUcb({ dimension: K, exploration: 0 }), window: { ms: 100 }, maturity: () => 1 };
    expect((await evaluated(late, asked)).weights).toEqual((await evaluated(log, asked)).weights);
  });

  it("tells its progress every 64 decisions, and its end", async () => {
    const calls: [number, number][] = [];
    await evaluated(drawn(150, stream("progress")), { split: 0, progress: (done, all) => void calls.push([done, all]) });
    expect(calls).toEqual([0, 64, 128, 150].map((done) => [done, 150]));
  });
});

it.each([
  ["log: expected an array", { log: {} }],
  ["log[1].index: expected a number between 0 and 2", { log: [drawn(1, stream("a"))[0], { ...drawn(1, stream("a"))[0], index: 3 }] }],
  ["log[0].probability: expected a positive number, got 0", { log: [{ ...drawn(1, stream("a"))[0], probability: 0 }] }],
  ["log[0].probability: expected at least 1e-12, got 1e-320", { log: [{ ...drawn(1, stream("a"))[0], probability: 1e-320 }] }],
  ["log[0].probability: expected a finite number", { log: [{ ...drawn(1, stream("a"))[0], probability: Number.POSITIVE_INFINITY }] }],
  ["log[0].kept: expected at least 1e-12", { log: [{ ...drawn(1, stream("a"))[0], kept: 5e-324 }] }],
  ["log[0].ids: expected 3 ids", { log: [{ ...drawn(1, stream("a"))[0], ids: ["a"] }] }],
  ["log[0].probability: expected at most 1", { log: [{ ...drawn(1, stream("a"))[0], probability: 1.5 }] }],
  ["log[0].conversions[0].reward: expected a number", { log: [{ ...drawn(1, stream("a"))[0], conversions: [{ at: 0, reward: null }] }] }],
  ["log[0].shownAt: expected a number of at least 0", { log: [{ ...drawn(1, stream("a"))[0], shownAt: -1 }] }],
  ["log[0].count: expected a number between 1", { log: [{ ...drawn(1, stream("a"))[0], count: 0 }] }],
  ["log[0].index: expected a number between 0 and 2", { log: [{ ...drawn(1, stream("a"))[0], index: -1 }] }],
  ["log[0].conversions: expected an array", { log: [{ ...drawn(1, stream("a"))[0], conversions: {} }] }],
  [
    "log[0].conversions[0].at: expected a finite number",
    { log: [{ ...drawn(1, stream("a"))[0], conversions: [{ at: Number.NaN, reward: 0 }] }] },
  ],
  ["log[0].kept: expected a positive number", { log: drawn(20, stream("a")).map((each) => ({ ...each, kept: 0 })) }],
  ["log[0].kept: expected at most 1", { log: drawn(20, stream("a")).map((each) => ({ ...each, kept: 2 })) }],
  ["log[0]: expected an object", { log: [null] }],
  ["points: expected 3 rows of numbers", { log: drawn(20, stream("a")).map((each) => ({ ...each, points: new Float64Array(4) })) }],
  ["policy(decision): expected 3 chances that sum to 1", { policy: () => [0.5, 0.5, 0.5] }],
  ["policy(decision): expected 3 chances that sum to 1", { policy: () => [0.5, 0.5] }],
  ["policy(decision): expected 3 chances that sum to 1", { policy: () => [1.5, -0.5, 0] }],
  ["policy(decision): expected an array of 3 chances", { policy: () => null }],
  ["policy(decision): expected a number between 0 and 2, got 3", { policy: () => 3 }],
  ["draws: expected a number between 1", { policy: uniform(), draws: 0 }],
  ["asOf: expected a number of at least 0", { asOf: -1 }],
  ["policy: expected a descriptor or a function", { policy: "uniform" }],
  ["window.ms: expected a positive number", { window: { ms: 0 } }],
  ["split: expected a number between 0 and 1", { split: 2 }],
  ["reward.max: expected more than the minimum 0", { reward: { min: 0, max: 0 } }],
  ["maturity(age): expected a number between 0 and 1", { maturity: () => 2 }],
  ["request.untilNow: expected no such option", { untilNow: true }],
])("says %s", async (message, request) => {
  const refused = evaluated(drawn(20, stream("refused")), request as never);
  await expect(refused).rejects.toThrow(message);
});

import { type Evaluation, evaluate, evaluateLists, type LoggedDecision, otfLinUcb } from "afterclick";
import { isTooFew } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { sampleRatioEvidence } from "../../../src/comparison/sample-ratio.ts";
import { stream } from "../../support/scenario.ts";

const DAY_MS = 86_400_000;

/** An estimate that needs no more data. */
function stated(figure: Evaluation["logged"]) {
  if (isTooFew(figure)) throw new Error("too few");
  return figure as { readonly value: number; readonly low: number; readonly high: number };
}

const even = (): number[] => [0.5, 0.5];

describe("a purchase after the window of its click", () => {
  it("counts as a click that nobody saw, and hides no other one", async () => {
    const random = stream(1);
    const log = Array.from({ length: 4000 }, (_, i): LoggedDecision => {
      const shownAt = (i * DAY_MS) / 400;
      const clicked = { goal: "click", at: shownAt + 0.9 * DAY_MS * random(), reward: 1 };
      const bought = { goal: "purchase", at: clicked.at + 2 * DAY_MS * random(), reward: 1 };
      const conversions = random() < 0.3 ? [clicked, ...(random() < 0.3 ? [bought] : [])] : [];
      return { shownAt, count: 2, index: Math.floor(2 * random()), probability: 0.5, conversions };
    });
    const goals = { click: { weight: 0.1, window: { ms: DAY_MS } }, purchase: { weight: 1, after: "click" } };
    const request = { policy: even, asOf: 20 * DAY_MS, window: { ms: 7 * DAY_MS }, goals };
    const before = await evaluate({ log, ...request });
    const unseen = { ...log[90], conversions: [{ goal: "purchase", at: log[90].shownAt + 2 * DAY_MS, reward: 1 }] };
    const after = await evaluate({ log: log.with(90, unseen), ...request });
    expect(after.decisions).toEqual({ learnt: 2000, evaluated: 2000, tooYoung: 0 });
    expect(stated(after.logged).value).toBeCloseTo(stated(before.logged).value, 3);
  });
});

describe("one conversion that came later than all others could", () => {
  it("says nothing of its delays, so rewards count within a shorter time", async () => {
    const random = stream(2);
    const log = Array.from({ length: 8000 }, (_, i): LoggedDecision => {
      const shownAt = (15 + i / 800) * DAY_MS;
      const at = shownAt - 0.5 * DAY_MS * Math.log(1 - random());
      return {
        shownAt,
        count: 2,
        index: Math.floor(2 * random()),
        probability: 0.5,
        conversions: random() < 0.1 ? [{ at, reward: 1 }] : [],
      };
    });
    const trial = (at: number): LoggedDecision => ({ shownAt: 0, count: 2, index: 0, probability: 0.5, conversions: [{ at, reward: 1 }] });
    const evaluated = (at: number) => evaluate({ log: [trial(at), ...log], policy: even, asOf: 25 * DAY_MS, window: { ms: 21 * DAY_MS } });
    for (const at of [DAY_MS, 20 * DAY_MS]) {
      const { decisions, logged, withinMs } = await evaluated(at);
      expect(decisions.evaluated).toBeGreaterThan(3000);
      expect(stated(logged)).toMatchObject({ value: expect.closeTo(0.1, 2), high: expect.closeTo(0.11, 2) });
      expect(withinMs.conversion).toBeGreaterThan(8 * DAY_MS);
      expect(withinMs.conversion).toBeLessThan(10 * DAY_MS);
    }
  });
});

describe("a log of one time", () => {
  it("teaches the policy all decisions before the evaluated ones", async () => {
    const random = stream(3);
    const points = Float64Array.of(1, 0, 0, 1);
    const log = Array.from({ length: 2000 }, (): LoggedDecision => {
      const index = Math.floor(2 * random());
      const conversions = random() < (index === 1 ? 0.6 : 0.1) ? [{ at: 5, reward: 1 }] : [];
      return { shownAt: 5, count: 2, index, probability: 0.5, points, conversions };
    });
    const policy = otfLinUcb({ dimension: 2 });
    const { decisions, ips } = await evaluate({ log, policy, asOf: 10, window: { ms: 5 } });
    expect(decisions).toEqual({ learnt: 1000, evaluated: 1000, tooYoung: 0 });
    expect(stated(ips).value).toBeGreaterThan(0.5);
  });
});

describe("a known delay of a goal after another", () => {
  it("begins with that goal, as for the policies", async () => {
    const random = stream(4);
    const log = Array.from({ length: 8000 }, (_, i): LoggedDecision => {
      const shownAt = (i * 20 * DAY_MS) / 8000;
      const at = shownAt + 0.9 * DAY_MS * random();
      const bought = { goal: "purchase", at: at + DAY_MS, reward: 1 };
      const conversions = random() < 0.4 ? [{ goal: "click", at, reward: 1 }, ...(random() < 0.5 ? [bought] : [])] : [];
      return { shownAt, count: 2, index: Math.floor(2 * random()), probability: 0.5, conversions };
    });
    const goals = { click: { weight: 0 }, purchase: { weight: 1, after: "click", delay: { ms: DAY_MS } } };
    const request = { log, policy: even, asOf: 20 * DAY_MS, window: { ms: 7 * DAY_MS }, goals };
    // The evaluation estimates how late purchases come, because clicks come at any time.
    expect((await evaluate(request)).logged).toEqual(
      (await evaluate({ ...request, goals: { ...goals, purchase: { weight: 1, after: "click" } } })).logged,
    );
  });
});

describe("what contradicts itself is refused by name:", () => {
  const points = new Float64Array(12).fill(0.5);
  const decision = { shownAt: 1, count: 3, index: 0, probability: 0.5, points };

  it.each([1, 2, 3, 6, 12])("features of 4 numbers for a policy of %d", async (dimension) => {
    const log = Array.from({ length: 10 }, () => decision);
    await expect(evaluate({ log, policy: otfLinUcb({ dimension }), asOf: 10, window: { ms: 5 } })).rejects.toThrow(
      /points: expected vectors/,
    );
  });

  it("a candidate at two places of a list, or an item with no chance of its place", async () => {
    const item = { index: 0, probability: 1 / 3 };
    const lists = (items: object[]) =>
      evaluateLists({
        log: [{ shownAt: 1, count: 3, items }] as never,
        policy: () => [],
        asOf: 10,
        window: { ms: 5 },
        examination: [1, 0.5],
      } as never);
    await expect(lists([item, item])).rejects.toThrow("log[0].items[1].index: expected another candidate than that of log[0].items[0]");
    await expect(
      lists([
        { ...item, chances: [0, 1] },
        { ...item, index: 1 },
      ]),
    ).rejects.toThrow("log[0].items[0].chances[0]: expected a chance");
  });
});

it("the evidence against declared shares is finite, however strong", () => {
  expect(sampleRatioEvidence([54_000, 3000], [0.9, 0.1])).toBe(Number.MAX_VALUE);
  expect(sampleRatioEvidence([54_000, 6000], [0.9, 0.1])).toBeLessThan(1);
});

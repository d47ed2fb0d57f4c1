import { DelayEstimate } from "afterclick/research";
import { expect, it } from "vitest";
import { changingWorld, decisionDays } from "../../../experiments/daily-looks.ts";
import { compareArms, type Stratum } from "../../../src/comparison/arm-comparison.ts";
import { armSteps, type ShownList } from "../../../src/comparison/arm-step.ts";
import { intervalHalfWidth } from "../../../src/comparison/confidence-sequence.ts";
import { commonLaw } from "../../../src/comparison/laws.ts";
import { sampleRatioEvidence } from "../../../src/comparison/sample-ratio.ts";
import { isTooFew } from "../../../src/values/too-few.ts";

const options = { effect: 0.01, now: 30 };

/** Lists of one impression shown at one time, of which the first `converted` convert. */
function lists(count: number, converted: number, shownAt = 0): ShownList[] {
  return Array.from({ length: count }, (_, i) => ({ shownAt, size: 1, came: Number(i < converted) }));
}

const arm = (all: readonly ShownList[]) => armSteps(all, (time) => time);

/** Compares strata of which each conversion came after a day. */
function compared(strata: readonly { readonly control: readonly ShownList[]; readonly treatment: readonly ShownList[] }[], more = {}) {
  const all: Stratum[] = strata.map(({ control, treatment }) => ({ control: arm(control), treatment: arm(treatment) }));
  const delays = new DelayEstimate({ window: 14 });
  for (const { shownAt, impressions, conversions } of all.flatMap(({ control, treatment }) => [...control, ...treatment])) {
    if (!(shownAt <= options.now)) continue;
    delays.show(shownAt, impressions);
    if (conversions > 0) delays.convert({ shownAt, at: shownAt + 1, count: conversions });
  }
  delays.advance(options.now);
  return compareArms(all, commonLaw(delays), { ...options, ...more });
}

/** The stated difference. */
function stated(comparison: ReturnType<typeof compareArms>) {
  if (isTooFew(comparison.difference)) throw new Error("too few");
  return comparison.difference;
}

it("equals the plain rates once all windows have closed", () => {
  const comparison = compared([{ control: lists(1000, 50), treatment: lists(1000, 60) }]);
  expect([comparison.control, comparison.treatment]).toEqual([0.05, 0.06]);
  const { value, low, high } = stated(comparison);
  expect(value).toBeCloseTo(0.01, 12);
  const half = intervalHalfWidth((0.05 * 0.95 + 0.06 * 0.94) / 999, 0.01, 0.05);
  expect((high - low) / 2).toBeCloseTo(half, 12);
});

it("widens the interval when the impressions of each list agree", () => {
  const doubled = (all: ShownList[]): ShownList[] => all.map(({ shownAt, size, came }) => ({ shownAt, size: 2 * size, came: 2 * came }));
  const [control, treatment] = [lists(1000, 50), lists(1000, 60)];
  const once = stated(compared([{ control, treatment }]));
  const twice = stated(compared([{ control: doubled(control), treatment: doubled(treatment) }]));
  expect(twice.high).toBeCloseTo(once.high, 12);
});

it("sums by step what single lists give", () => {
  const sizes = Array.from({ length: 900 }, (_, i) => ({
    shownAt: i % 7,
    size: 1 + (i % 3),
    came: (i * 7) % 5 === 0 ? 1 + (i % 2 && 1) : 0,
  }));
  const [control, treatment] = [sizes.filter((_, i) => i % 2 === 0), sizes.filter((_, i) => i % 2 === 1)];
  const naive = (all: ShownList[]) => {
    const impressions = all.reduce((sum, { size }) => sum + size, 0);
    const rate = all.reduce((sum, { came }) => sum + came, 0) / impressions;
    const squares = all.reduce((sum, { came, size }) => sum + (came - rate * size) ** 2, 0);
    return { rate, variance: (squares / impressions ** 2) * (all.length / (all.length - 1)) };
  };
  const { value, low, high } = stated(compared([{ control, treatment }]));
  const [a, b] = [naive(control), naive(treatment)];
  expect(value).toBeCloseTo(b.rate - a.rate, 12);
  expect((high - low) / 2).toBeCloseTo(intervalHalfWidth(a.variance + b.variance, 0.01, 0.05), 12);
});

it("compares within each share, so rates that change with the share are no difference", () => {
  const before = { control: lists(500, 50), treatment: lists(500, 50) };
  const after = { control: lists(100, 40, 10), treatment: lists(900, 360, 10) };
  const { control, treatment, decided, difference } = compared([before, after]);
  expect(difference).toMatchObject({ value: expect.closeTo(0, 12) });
  expect([control, treatment, decided]).toEqual([expect.closeTo(treatment as number, 12), expect.closeTo(0.1794, 4), false]);
});

it("weights the shares by their impressions, as Mantel and Haenszel do", () => {
  const before = { control: lists(500, 100), treatment: lists(500, 150) };
  const after = { control: lists(100, 40, 10), treatment: lists(900, 450, 10) };
  expect(stated(compared([before, after])).value).toBeCloseTo((250 * 0.1 + 90 * 0.1) / 340, 12);
});

it("takes nothing from a share of 0 or 1, or from a single list", () => {
  const informative = { control: lists(1000, 100), treatment: lists(1000, 150) };
  const alone = [
    { control: [], treatment: lists(5000, 2500, 10) },
    { control: lists(5000, 10, 10), treatment: [] },
    { control: lists(1, 1, 10), treatment: lists(5000, 2500, 10) },
  ];
  const all = compared([informative, ...alone]);
  expect(all.compared).toEqual([true, false, false, false]);
  expect(stated(all).value).toBeCloseTo(0.05, 12);
  const { control, treatment, difference, decided } = compared(alone);
  expect([control, treatment, isTooFew(difference), decided]).toEqual([null, null, true, false]);
});

it("states how many converted lists are missing", () => {
  expect(compared([{ control: lists(1000, 29), treatment: lists(1000, 90) }])).toMatchObject({
    difference: { tooFew: { more: 1, of: "converted lists of the arm that has fewer" } },
    decided: false,
  });
  // Two shares together have enough.
  const half = { control: lists(500, 15), treatment: lists(500, 45) };
  expect(isTooFew(compared([half, half]).difference)).toBe(false);
});

it("corrects the rates of open windows, and ignores what is shown later", () => {
  const before = { control: lists(1000, 50), treatment: lists(1000, 60) };
  const later = { control: lists(1000, 0, 31), treatment: lists(1000, 0, 31) };
  const [once, more] = [before, { control: [...before.control, ...later.control], treatment: [...before.treatment, ...later.treatment] }];
  expect(compared([more])).toEqual(compared([once]));
});

it("says within which time it counts conversions, while few impressions are as old as the window", () => {
  const young = { control: lists(100, 40, 22), treatment: lists(100, 40, 25) };
  // Ages of impressions are known in groups.
  expect(compared([young]).within).toBeGreaterThan(7);
  expect(compared([young]).within).toBeLessThan(9);
  expect(compared([young, { control: lists(100, 40), treatment: lists(100, 40) }]).within).toBe(14);
});

it("is not certain of an arm in which none or all have converted", () => {
  const { value, low, high } = stated(compared([{ control: lists(50, 50), treatment: lists(50, 50) }]));
  expect([value, low < -0.02, high > 0.02]).toEqual([0, true, true]);
});

it.each([
  ["effect", { effect: 2 }],
  ["alpha", { alpha: 1 }],
])("refuses a wrong %s", (name, wrong) => {
  expect(() => compared([], wrong)).toThrow(`${name}: expected`);
});

it("refuses times that are no numbers", () => {
  expect(() => compared([{ control: lists(2, 0, Number.NaN), treatment: lists(2, 0) }])).toThrow("shownAt: expected");
});

it("finds a mismatch of shares, and none in matching counts", () => {
  expect(sampleRatioEvidence([0, 0], [0.5, 0.5])).toBeCloseTo(1, 9);
  expect(sampleRatioEvidence([5050, 4950], [0.5, 0.5])).toBeLessThan(1);
  expect(sampleRatioEvidence([5300, 4700], [0.5, 0.5])).toBeGreaterThan(20);
  expect(sampleRatioEvidence([9000, 1000], [0.9, 0.1])).toBeLessThan(1);
  expect(() => sampleRatioEvidence([1, 2], [0.5, 0.6])).toThrow("shares: expected");
});

it("decides sooner than a test that waits for windows, and seldom without a difference", { timeout: 60_000 }, () => {
  const runs = Array.from({ length: 2 }, (_, i) =>
    decisionDays({ seed: `t-${i}`, lift: 0.5, perDay: 800, longer: 0, tests: ["corrected", "waiting"] }),
  );
  const sum = (test: string): number => runs.reduce((total, run) => total + run[test], 0);
  expect(sum("corrected")).toBeLessThan(0.7 * sum("waiting"));
  const nulls = Array.from({ length: 6 }, (_, i) =>
    decisionDays({ seed: `n-${i}`, lift: 0, perDay: 150, longer: 0.3, tests: ["corrected"] }),
  );
  expect(nulls.filter((run) => run.correctedDecided === 1).length).toBeLessThanOrEqual(1);
});

it("seldom decides without a difference while shares change and rates rise", { timeout: 60_000 }, () => {
  const nulls = Array.from({ length: 6 }, (_, run) => decisionDays(changingWorld(run, 150)));
  expect(nulls.filter((run) => run.correctedDecided === 1).length).toBeLessThanOrEqual(1);
});

it("takes an age that equals the end of a bin of the delay law into the next bin", () => {
  const at = (age: number) => {
    const shownAt = options.now - age;
    const delays = new DelayEstimate({ window: 14 });
    delays.show(0, 400);
    for (let day = 0.5; day < 14; day += 0.5) delays.convert({ shownAt: 0, at: day, count: 3 });
    delays.show(shownAt, 2000);
    for (let i = 1; i < 90; i++) delays.convert({ shownAt, at: shownAt + (i * age) / 90.5 });
    delays.advance(options.now);
    const strata = [{ control: arm(lists(1000, 40, shownAt)), treatment: arm(lists(1000, 50, 16)) }];
    return { ends: delays.distribution(delays.followed).delays, ...stated(compareArms(strata, commonLaw(delays), options)) };
  };
  const end = at(4).ends.find((each) => each > 4) as number;
  expect(at(end).high).toBeCloseTo(at(end + 1e-9).high, 6);
  expect(Math.abs(at(end).high - at(end - 1e-9).high)).toBeGreaterThan(1e-3);
});

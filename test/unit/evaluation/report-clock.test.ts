import { evaluate } from "afterclick";
import { isTooFew } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { clockOf } from "../../../src/evaluation/log/report-clock.ts";
import { stream } from "../../../src/simulation/stream.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const allDay = Float64Array.from({ length: 240 }, (_, hour) => hour * HOUR_MS);
/** Ten events a day that become known at an hour. */
const knownAt = (hour: number) => Array.from({ length: 100 }, (_, i) => Math.floor(i / 10) * DAY_MS + hour * HOUR_MS);

describe("the clock of a goal whose events become known at one time of the day", () => {
  const clock = clockOf(knownAt(6), allDay, 9.5 * DAY_MS);

  it("counts the reports since the impression", () => {
    const [evening, night] = [3 * DAY_MS + 20 * HOUR_MS, 4 * DAY_MS + 5 * HOUR_MS];
    for (const shownAt of [evening, night]) {
      const knownAfter = 5 * DAY_MS + 6 * HOUR_MS - shownAt;
      expect([clock.delay(shownAt, knownAfter), clock.age(shownAt)]).toEqual([2 * DAY_MS, 6 * DAY_MS]);
    }
  });

  it("allows a report to come some minutes early", () => {
    expect(clock.delay(3 * DAY_MS, DAY_MS + 5.9 * HOUR_MS)).toBe(2 * DAY_MS);
  });

  it("has followed nothing since the last report", () => {
    expect(clock.age(9.4 * DAY_MS)).toBe(0);
  });
});

it("the clock of other goals is time", () => {
  const random = stream("times");
  const clock = clockOf(
    Array.from({ length: 100 }, () => random() * 10 * DAY_MS),
    allDay,
    10 * DAY_MS,
  );
  expect([clock.age(2 * DAY_MS), clock.delay(2 * DAY_MS, HOUR_MS)]).toEqual([8 * DAY_MS, HOUR_MS]);
});

/** Values of logs of twelve days whose rate is 0.2, over the rate. The log ends at a report. */
async function ratios(of: (at: number) => { readonly at: number; readonly knownAt?: number }): Promise<number[]> {
  const values: number[] = [];
  for (let run = 0; run < 10; run++) {
    const random = stream("reports", run);
    const log = Array.from({ length: 3000 }, () => {
      const shownAt = Math.floor(random() * 12 * DAY_MS);
      const at = shownAt - Math.log(1 - random()) * 0.5 * DAY_MS;
      return { shownAt, count: 1, index: 0, probability: 1, conversions: random() < 0.2 ? [{ ...of(at), reward: 1 }] : [] };
    });
    const { logged } = await evaluate({ log, policy: () => [1], asOf: 12 * DAY_MS, window: { ms: 6 * DAY_MS } });
    if (!isTooFew(logged)) values.push(logged.value / 0.2);
  }
  return values;
}

const midnight = (at: number): number => Math.ceil(at / DAY_MS) * DAY_MS;

it.each([
  ["that state the time of a daily report", (at: number) => ({ at: midnight(at) })],
  ["that are uploaded each night", (at: number) => ({ at, knownAt: midnight(at) })],
])("a log has its value with conversions %s", async (_, of) => {
  const values = await ratios(of);
  expect(values.length).toBe(10);
  expect(values.reduce((sum, each) => sum + each, 0) / 10).toBeCloseTo(1, 1);
});

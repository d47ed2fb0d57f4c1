import { expect, it } from "vitest";
import { withDefaults } from "../../../worker/domain/model/model.ts";
import { publishesAt } from "../../../worker/domain/model/publication.ts";

const DAY_S = 86_400;
/** Limit of writes to KV on the free plan, per day. */
const FREE_WRITES = 1000;
const defaults = withDefaults({});

/** Publishes a new model for a day, second by second. Returns the times in seconds, and the greatest share of rows not published. */
function day(rowsAt: (second: number) => number, config: Parameters<typeof publishesAt>[2] = defaults) {
  const times: number[] = [];
  let [published, marks, most] = [{ version: 3, at: 0 }, 3, 0];
  for (let second = 0; second < DAY_S; second++) {
    const seq = rowsAt(second) + marks;
    const due = publishesAt(published, seq, config);
    if (due !== undefined && due <= second * 1000) {
      // A publication is a row of the log as well.
      marks++;
      published = { version: seq + 1, at: second * 1000 };
      times.push(second);
    }
    const before = rowsAt(second - 1) + marks;
    if (second > 0) most = Math.max(most, (before - published.version) / before);
  }
  return { times, most };
}

const steady = (rate: number) => (second: number) => Math.max(0, Math.floor(second * rate));

it.each([0.0001, 0.01, 0.1, 1, 10, 100, 1000, 10_000])("stays within the free plan of KV at %d rows a second", (rate) => {
  const { times } = day(steady(rate));
  expect(times.length).toBeGreaterThan(0);
  expect(times.length).toBeLessThanOrEqual(FREE_WRITES);
});

it("leaves 200 writes to others on its first day at a row a second", () => {
  expect(day(steady(1)).times.length).toBeLessThanOrEqual(800);
});

it("stays within it whatever the course of a day", () => {
  const courses = [
    (second: number) => (second < 43_200 ? 0 : second * 1000),
    (second: number) => 1.0002 ** second,
    (second: number) => Math.floor(second / 3600) * 1e5,
    (second: number) => second ** 2 / 10,
  ];
  for (const rowsAt of courses)
    expect(day((second) => Math.max(0, Math.floor(rowsAt(second)))).times.length).toBeLessThanOrEqual(FREE_WRITES);
});

it("lets no publication lack more than a sixteenth of the rows, beside those of the last second", () => {
  for (const rate of [1, 10, 100, 1000]) expect(day(steady(rate)).most).toBeLessThanOrEqual(1 / 16);
});

it("publishes every second at first, and later as often as the model says", () => {
  const { times } = day(steady(100));
  expect(times.slice(0, 10)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  const gaps = times.map((time, i) => time - (times[i - 1] ?? 0));
  expect(gaps.every((gap, i) => gap >= (gaps[i - 1] ?? 0))).toBe(true);
  expect(gaps.at(-1)).toBe(defaults.publish.ms / 1000);
});

it("adds fewer than 280 publications to those of time, even with a day between these", () => {
  for (const rate of [0.01, 1, 100, 1000])
    expect(day(steady(rate), { publish: { ms: DAY_S * 1000 }, local: false }).times.length).toBeLessThan(280);
});

it("publishes nothing twice, and at once what was never published", () => {
  const config = { publish: { ms: 5000 }, local: false };
  expect(publishesAt({ version: 7, at: 1000 }, 7, config)).toBeUndefined();
  expect(publishesAt({ version: 7, at: 1000 }, 8, config)).toBe(2000);
  expect(publishesAt({ version: 71, at: 1000 }, 72, config)).toBe(6000);
  expect(publishesAt({ version: -1, at: null }, 2, config)).toBeLessThan(Date.now());
});

it("publishes a local model by time alone, so that no publication is of few visitors", () => {
  const { times } = day(steady(100), { publish: { ms: 60_000 }, local: true });
  expect(times.slice(0, 3)).toEqual([60, 120, 180]);
});

import { expect, it } from "vitest";
import { reportTimeOf } from "../../../src/values/report-time.ts";

const [QUARTER_MS, HOUR_MS] = [900_000, 3_600_000];
const FIRST = 20_000 * 96;

/** Conversions at quarters of some days. */
const at = (quarters: readonly number[], count: number, days = 5): Record<number, number> =>
  Object.fromEntries(Array.from({ length: days }, (_, day) => quarters.map((quarter) => [FIRST + day * 96 + quarter, count])).flat());
const allDay = Array.from({ length: 24 * 5 }, (_, n) => ({ shownAt: FIRST * QUARTER_MS + n * HOUR_MS, impressions: 10 }));
const atNoon = allDay.map((each, n) => (n % 24 === 12 ? { ...each, impressions: 1000 } : each));

it("names the time of a report at midnight, or in the middle of the day", () => {
  expect(reportTimeOf(at([0], 10), allDay)).toBe(0);
  expect(reportTimeOf(at([48], 10), allDay)).toBe(12 * HOUR_MS);
});

it("names that of one around a quarter of an hour, also around midnight", () => {
  expect(reportTimeOf({ ...at([47], 3), ...at([48], 7) }, allDay)).toBe(12 * HOUR_MS);
  expect(reportTimeOf({ ...at([95], 7), ...at([0], 3) }, allDay)).toBe(23.75 * HOUR_MS);
  expect(reportTimeOf({ ...at([40], 7), ...at([48], 7) }, allDay)).toBeNull();
});

it("names none if a tenth comes at other times, if visitors come then, or if little is known", () => {
  expect(reportTimeOf({ ...at([0], 18), ...at([50], 2) }, allDay)).toBe(0);
  expect(reportTimeOf({ ...at([0], 17), ...at([50], 3) }, allDay)).toBeNull();
  expect(reportTimeOf(at([48], 10), atNoon)).toBeNull();
  expect(reportTimeOf(at([0], 10), [])).toBeNull();
  expect(reportTimeOf(at([0], 3), allDay)).toBeNull();
  expect(reportTimeOf(at([0], 30, 2), allDay)).toBeNull();
  expect(reportTimeOf({}, allDay)).toBeNull();
});

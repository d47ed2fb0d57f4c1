import { expect, it } from "vitest";
import { loggedConversions, type TimedConversion } from "../../../../cli/evaluate/logged-conversions.ts";
import type { Rules } from "../../../../worker/domain/conversion/refusal.ts";

const DAY = 86_400_000;
const line = (event: string, at: number, reward: number | null, more: Partial<TimedConversion> = {}): TimedConversion => {
  return { type: "conversion", seq: 1, impression: "i", goal: "order", event, at, reward, status: "applied", reportedAfter: at, ...more };
};
const rules = { goals: { order: { weight: 1, value: { currency: "EUR" } } }, reward: { min: 0, max: 1 } } as unknown as Rules;
const of = (lines: readonly TimedConversion[], asOf = 100 * DAY) => loggedConversions(lines, { rules, shownAt: 0, asOf });
const order = { goal: "order", eventId: "report", at: DAY, reward: 30 };

it.each<[string, TimedConversion[], object[]]>([
  ["an order", [line("a", DAY, 30)], [order]],
  [
    "a refund that states the time of its order is known when it was reported",
    [line("a", DAY, 30), line("b", DAY + 1, -30, { reportedAfter: 9 * DAY })],
    [order, { ...order, at: DAY + 1, knownAt: 9 * DAY, reward: 0 }],
  ],
  [
    "a refund that has a time of its own is known by then",
    [line("a", DAY, 30), line("b", 9 * DAY, -10, { reportedAfter: 20 * DAY })],
    [order, { ...order, at: DAY + 1, knownAt: 9 * DAY, reward: 20 }],
  ],
  ["an upload has the times of its orders", [line("a", DAY, 30, { reportedAfter: 2 * DAY })], [order]],
  ["a refund without its order says nothing", [line("b", DAY, -30)], []],
  ["lines in any order", [line("b", 9 * DAY, -10), line("a", DAY, 30)], [order, { ...order, at: DAY + 1, knownAt: 9 * DAY, reward: 20 }]],
  ["what does not count", [line("a", DAY, 30), line("b", DAY, 9, { status: "late" }), line("c", DAY, 9, { goal: "gone" })], [order]],
])("%s", (_, lines, expected) => {
  expect(of(lines)).toEqual(expected);
});

it("knows by an earlier time what had been reported by then", () => {
  expect(of([line("a", DAY, 30), line("b", DAY + 1, -30, { reportedAfter: 9 * DAY })], 8 * DAY)).toEqual([order]);
});

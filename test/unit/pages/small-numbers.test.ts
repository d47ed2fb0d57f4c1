import { describe, expect, it } from "vitest";
import { LiftOf } from "../../../pages/dashboard/lift.tsx";
import { column, decimal, percent, signedPercent } from "../../../pages/ui/notation.ts";
import type { Lift } from "../../../worker/protocol/metrics-answer.ts";
import { busy } from "../../browser/report.ts";
import { drawn } from "../../support/markup.ts";

describe("a small share", () => {
  it.each([
    [0.0099, "0.99 %"],
    [0.00996, "1.0 %"],
    [0.005, "0.50 %"],
    [0.00034, "0.034 %"],
    [-0.00034, "−0.034 %"],
    [0.000001, "0.00010 %"],
    [1e-12, "0 %"],
    [-1e-12, "0 %"],
    [-0, "0 %"],
  ])("of %d has two significant digits: %s", (share, text) => {
    expect(percent(share)).toBe(text);
  });

  it.each([
    [0.03, "+3.0 %"],
    [0.0003, "+0.030 %"],
    [1e-12, "0 %"],
    [0, "0 %"],
    [-1e-12, "0 %"],
    [-0.03, "−3.0 %"],
  ])("of %d has a sign only if it does not round to zero: %s", (share, text) => {
    expect(signedPercent(share)).toBe(text);
  });

  it("is no zero where it is the lift over the holdout", () => {
    const lift = busy.lift as Lift;
    const goals = [{ ...lift.goals[0], difference: { value: 0.0003, low: -0.0002, high: 0 }, relative: 1e-12 }];
    const { text } = drawn(LiftOf, { metrics: { ...busy, lift: { ...lift, goals } } });
    expect(text).toContain("+0.030 points, 0 % of the holdout's rate");
    expect(text).toContain("−0.020 points to 0 points");
  });
});

it("a number that rounds to zero has no sign", () => {
  expect([decimal(-0), ...[-0.001, 9].map(column([-0.001, 9]))]).toEqual(["0", "0.00", "9.00"]);
});

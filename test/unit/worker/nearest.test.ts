import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { didYouMean, nearest } from "../../../worker/protocol/nearest.ts";

const fields = ["goal", "timestamp", "impressionId", "reward", "model", "key", "action", "byPage"];

describe("the nearest name", () => {
  it.each([
    ["rewards", "reward"],
    ["reward_", "reward"],
    ["impression_id", "impressionId"],
    ["ImpressionID", "impressionId"],
    ["timestmp", "timestamp"],
    ["golas", undefined],
    ["goals", "goal"],
    ["amount", undefined],
    ["k", undefined],
    ["", undefined],
    ["x".repeat(1000), undefined],
  ])("of %s is %s", (name, meant) => {
    expect(nearest(name, fields)).toBe(meant);
    expect(didYouMean(name, fields)).toBe(meant === undefined ? "" : `; did you mean "${meant}"?`);
  });

  it("is the name itself if there is one", () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,32}$/), { minLength: 1, maxLength: 50 });
    fc.assert(fc.property(names, (all) => all.every((name) => nearest(name, all) === name)));
  });
});

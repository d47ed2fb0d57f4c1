import { describe, expect, it } from "vitest";
import { ExplanationOf } from "../../../pages/dashboard/explanation.tsx";
import { Rate } from "../../../pages/dashboard/rate.tsx";
import type { Explanation } from "../../../worker/protocol/answers.ts";
import { busy, explained } from "../../browser/report.ts";
import { drawn } from "../../support/markup.ts";

describe("the chart of rates", () => {
  const keyOf = (metrics: typeof busy) => (Rate({ metrics }) as unknown as { key: string }).key;

  it("is made anew for another model, for other buckets and for other assignments, and stays otherwise", () => {
    const [bucket] = busy.buckets;
    const kinds = [
      busy,
      { ...busy, model: "blog" },
      { ...busy, bucketMs: busy.bucketMs / 60 },
      { ...busy, buckets: [{ ...bucket, arm: "default" as const }] },
    ];
    expect(new Set(kinds.map(keyOf)).size).toBe(kinds.length);
    expect(keyOf({ ...busy, now: busy.now + 2000 })).toBe(keyOf(busy));
  });
});

describe("the explanation of a pinned action", () => {
  const decision = { ...(explained.decision as NonNullable<Explanation["decision"]>), score: 0, mean: 0, width: 0, probability: 1 };
  const pinned = (action: string, place: number, more: Partial<Explanation> = {}) => {
    const pin = [
      { action: "mug", place: 0 },
      { action, place },
    ];
    return drawn(ExplanationOf, { explanation: { ...explained, ...more, decision: { ...decision, asked: { pin } } }, now: 0 }).text;
  };

  it("names the place that the request gave, and no figures", () => {
    const text = pinned(explained.action, decision.place);
    expect(text).toContain("The request pinned it to place 1. Model version 29,087.");
    expect(text).not.toMatch(/The policy put it|score 0|chance of place/);
    expect(pinned(explained.action, decision.place, { arm: "holdout" })).not.toContain("drawn uniformly");
  });

  it("says that it moved up", () => {
    expect(pinned(explained.action, decision.place + 4)).toContain("pinned it to place 5. Too few candidates moved it up to place 1.");
  });

  it("is the usual one if the request pinned only other actions", () => {
    expect(pinned("another", decision.place)).toContain("The policy put it in place 1");
  });
});

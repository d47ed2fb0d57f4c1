import { describe, expect, it } from "vitest";
import { ExplanationOf } from "../../../../pages/dashboard/explanation.tsx";
import { Rate } from "../../../../pages/dashboard/rate.tsx";
import { moment } from "../../../../pages/ui/notation.ts";
import { linkTo } from "../../../../pages/ui/route.ts";
import type { Explanation } from "../../../../worker/protocol/answers.ts";
import { busy, explained } from "../../../browser/report.ts";
import { drawn } from "../../../support/markup.ts";

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

describe("an explanation beside the figures of a model", () => {
  const beside = (model: string) => drawn(ExplanationOf, { explanation: explained, now: 0, beside: model });
  const links = ({ elements }: ReturnType<typeof drawn>) => elements.flatMap(({ props }) => (props.href ? [props.href] : []));

  it("names the other model that it is of, and closes to this one", () => {
    const other = beside("blog");
    expect(other.text).toContain(`An impression of model ${explained.model}.`);
    expect(links(other)).toEqual([linkTo("blog"), linkTo(explained.model, explained.impressionId)]);
  });

  it("names no model if it is of this one", () => {
    const own = beside(explained.model);
    expect(own.text).not.toContain("An impression of model");
    expect(links(own)).toEqual([linkTo(explained.model)]);
  });
});

it("a deferred impression is not called shown", () => {
  const explanation = { ...explained, status: "deferred" as const, reward: null, conversions: [] };
  const { text } = drawn(ExplanationOf, { explanation, now: explained.shownAt });
  expect(text).toContain(`Recommended at ${moment(explained.shownAt, true)}, not shown yet.`);
  expect(text).not.toContain("Shown at");
});

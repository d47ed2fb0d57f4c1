import { describe, expect, it } from "vitest";
import { Rate } from "../../../pages/dashboard/rate.tsx";
import { busy } from "../../browser/report.ts";

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

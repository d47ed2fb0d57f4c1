import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { costOf, shops, tableOf } from "../../../trials/sizing/cost.ts";
import { bucketMs } from "../../../worker/domain/impression/bucket.ts";
import { checkSize, mostCapacity } from "../../../worker/domain/model/capacity.ts";
import { configureModel } from "../../../worker/domain/model/model.ts";

// docs/sizing.md against the code and against its own formulas.

const text = await readFile("docs/sizing.md", "utf8");

it("has the table that npm run sizing prints", () => {
  const costs = shops.map((views) => costOf({ views, list: 6, converts: 0.02, windowDays: 7, retentionDays: 30, dimension: 256 }));
  expect(/<!-- sizing -->\n\n([^<]*)\n\n<!-- \/sizing -->/.exec(text)?.[1]).toBe(tableOf(costs));
});

it("computes less for impressions that come together, and more for rows that are kept longer", () => {
  const shop = { views: 30_000, list: 6, converts: 0.02, windowDays: 7, retentionDays: 30, dimension: 128 };
  const [alone, together, longer] = [shop, { ...shop, list: 60 }, { ...shop, retentionDays: 67 }].map(costOf);
  expect(together.rowsPerMillion).toBeLessThan(alone.rowsPerMillion / 3);
  expect(together.bytes).toBeLessThan(alone.bytes);
  expect(longer.gigabytes).toBeCloseTo(2 * alone.gigabytes, 9);
});

it("states the defaults of a model", async () => {
  const config = await configureModel({ window: { ms: 1 } });
  expect(config).toMatchObject({ limits: { open: 2_000_000, bytes: 2e9 }, retention: { ms: 30 * 86_400_000 }, publish: { ms: 120_000 } });
  for (const stated of ["| 2,000,000; 200,000 for a Gaussian process", "| 2 GB |", "| 30 days |", "| 2 minutes |"])
    expect(text).toContain(stated);
});

it("states the limits of policies", () => {
  const fits = (options: object, policies: number) => {
    try {
      checkSize(options, policies);
      return true;
    } catch {
      return false;
    }
  };
  const limits = (make: (size: number) => object, alone: number, beside: number) => {
    expect([fits(make(alone), 1), fits(make(alone + 1), 1), fits(make(beside), 2), fits(make(beside + 1), 2)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  };
  limits((dimension) => ({ dimension }), 1024, 512);
  limits((dimension) => ({ dimension, shrinkage: "evidence" }), 512, 256);
  limits((capacity) => ({ dimension: 512, kernel: {}, capacity }), 512, 128);
  limits((count) => ({ kernel: {}, domain: { points: new Array(count) } }), 512, 512);
  expect([mostCapacity(16, 1), mostCapacity(16, 2)]).toEqual([1024, 512]);
  expect(fits({ domain: { box: new Array(5) } }, 1) && !fits({ domain: { box: new Array(6) } }, 1)).toBe(true);
});

it("and the architecture has the bucket of a week's window", async () => {
  expect(bucketMs(7 * 86_400_000)).toBe(3_600_000);
  expect(await readFile("docs/architecture.md", "utf8")).toContain("a window of 7 days has buckets of 1 hour");
});

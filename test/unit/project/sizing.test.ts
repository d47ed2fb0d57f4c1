import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { bucketMs } from "../../../worker/domain/bucket.ts";
import { checkSize, mostCapacity } from "../../../worker/domain/capacity.ts";
import { configureModel } from "../../../worker/domain/model.ts";

// docs/sizing.md against the code and against its own formulas.

const text = await readFile("docs/sizing.md", "utf8");
const number = (cell: string): number => Number(cell.replaceAll(/[,$]| M/g, "")) * (cell.endsWith(" M") ? 1e6 : 1);

describe("the table of costs", () => {
  const rows = Array.from(text.matchAll(/^\| [\d,]+ \| [\d,]+ \| .*$/gm), ([row]) => row.split("|").map((cell) => cell.trim()));

  it.each(rows)("follows from its formulas for %#", (_, impressions, conversions, isolates, rowsWritten, kvWrites, kvReads, total) => {
    const publications = (30 * 86_400) / 120;
    const expected = {
      rows: 3 * number(impressions) + 4 * number(conversions),
      writes: number(conversions) + publications,
      reads: number(isolates) * 6 * 30 * 24 * 60,
    };
    const dollars = { rows: expected.rows / 1e6, writes: (5 * expected.writes) / 1e6, reads: (0.5 * expected.reads) / 1e6 };
    for (const [name, cell] of Object.entries({ rows: rowsWritten, writes: kvWrites, reads: kvReads })) {
      const [amount, price] = cell.split(", $");
      expect(number(amount) / expected[name as "rows"], cell).toBeCloseTo(1, 1);
      expect(Number(price), cell).toBeCloseTo(dollars[name as "rows"], 2);
    }
    expect(number(total)).toBeCloseTo(dollars.rows + dollars.writes + dollars.reads, 1);
  });

  it("has rows", () => expect(rows).toHaveLength(3));
});

it("states the defaults of a model", async () => {
  const config = await configureModel({ window: { ms: 1 } });
  expect(config).toMatchObject({ limits: { open: 200_000, bytes: 2e9 }, retention: { ms: 30 * 86_400_000 }, publish: { ms: 120_000 } });
  for (const stated of ["| 200,000 |", "| 2 GB |", "| 30 days |", "| 2 minutes |"]) expect(text).toContain(stated);
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

import { delayLinUcb, type Policy, Recommender } from "afterclick";
import fc from "fast-check";
import { expect, it } from "vitest";
import { gaussianLikelihood } from "../../src/model/linear/likelihood.ts";
import { ChosenRidges } from "../../src/model/linear/shrinkage.ts";
import { freshCore } from "../support/core.ts";
import { dyadicVectors, stream } from "../support/scenario.ts";

// Laws of the ridges that data choose for blocks of features.

const LEAST = 0.125;
const given = fc.record({
  blocks: fc.array(fc.nat({ max: 6 }), { minLength: 2, maxLength: 7 }),
  count: fc.constantFrom(1, 3, 40, 200),
  seed: fc.nat({ max: 1e6 }),
});
type Case = typeof given extends fc.Arbitrary<infer T> ? T : never;

/** Impressions whose first feature is 1, and their rewards, which depend on the second. */
function data({ blocks, count, seed }: Case): { readonly x: readonly number[]; readonly reward: number }[] {
  const random = stream(seed);
  const vectors = dyadicVectors(random, count, blocks.length - 1);
  return vectors.map((rest) => ({ x: [1, ...rest], reward: Number(random() < 0.4 + 0.6 * rest[0]) }));
}

/** The packed lower triangle of an outer product. */
const squareOf = (x: ArrayLike<number>): number[] =>
  Array.from(x).flatMap((each, i) => Array.from(x).flatMap((other, j) => (j <= i ? [each * other] : [])));
/** The entry of a packed lower triangle. */
const entry = (packed: Float64Array, i: number, j: number): number => packed[(Math.max(i, j) * (Math.max(i, j) + 1)) / 2 + Math.min(i, j)];
const total = (rows: readonly (readonly number[])[]): Float64Array =>
  Float64Array.from(rows[0], (_, i) => rows.reduce((sum, row) => sum + row[i], 0));

/** The ridges that are chosen: what they add to the sums, as a matrix, beyond the least ridge. */
function chosen(each: Case) {
  const rows = data(each);
  const settings = { dimension: each.blocks.length, shrinkage: "evidence", ridge: LEAST, halfLife: Number.POSITIVE_INFINITY } as const;
  const ridges = new ChosenRidges(freshCore().core, { ...settings, likelihood: gaussianLikelihood(0.25), blocks: each.blocks });
  const sums = {
    gram: total(rows.map(({ x }) => squareOf(x))),
    moment: total(rows.map(({ x, reward }) => x.map((own) => own * reward))),
    level: total(rows.map(({ x }) => x)),
    count: rows.length,
    rewards: rows.reduce((sum, { reward }) => sum + reward, 0),
    squares: rows.reduce((sum, { reward }) => sum + reward ** 2, 0),
    offsets: new Float64Array(0),
  };
  ridges.refactor(rows.length, sums);
  const level = ridges.level(sums);
  const added = ridges.shrunk(sums, level).map((own, i) => own - sums.gram[i]);
  return { ridges, level, added };
}

it("no direction has less than the least ridge, in the mean and in the variance", () => {
  fc.assert(
    fc.property(given, (each) => {
      const { ridges, added } = chosen(each);
      const d = each.blocks.length;
      for (const v of dyadicVectors(stream(each.seed + 1), 20, d)) {
        let sum = 0;
        for (let i = 0; i < d; i++) for (let j = 0; j < d; j++) sum += v[i] * entry(added, i, j) * v[j];
        expect(sum).toBeGreaterThan(-1e-9);
        expect(sum).toBeLessThan(Number.POSITIVE_INFINITY);
      }
      for (const ridge of ridges.variance(0) as Float64Array) expect(ridge).toBeGreaterThanOrEqual(LEAST);
    }),
  );
});

it("neither the constant is shrunk, nor the level that is found without one", () => {
  fc.assert(
    fc.property(given, (each) => {
      const { level, added } = chosen(each);
      const { blocks } = each;
      for (const i of blocks.keys()) {
        const row = blocks.map((_, j) => entry(added, i, j));
        if (blocks[i] === 0) expect(row.every((own) => Math.abs(own) < 1e-9)).toBe(true);
        if (level) expect(Math.abs(row.reduce((sum, own, j) => sum + own * level[j], 0))).toBeLessThan(1e-9);
      }
      if (blocks.includes(0)) expect(level).toBeUndefined();
    }),
  );
});

it("all features of a block have the same ridge, but for the level", () => {
  fc.assert(
    fc.property(given, (each) => {
      const { level, added } = chosen(each);
      const byBlock = new Map<number, number>();
      for (const [i, block] of each.blocks.entries()) {
        if (level && block === 1) continue;
        const own = entry(added, i, i);
        expect(Math.abs((byBlock.get(block) ?? own) - own)).toBeLessThan(1e-9 * (1 + own));
        byBlock.set(block, own);
      }
    }),
  );
});

async function learnt(each: Case, order: readonly number[]): Promise<Policy> {
  const options = { dimension: order.length, blocks: order.map((i) => each.blocks[i]) };
  const { policy } = await Recommender.create({ policy: delayLinUcb(options), window: { rounds: 20 } });
  for (const [n, { x, reward }] of data(each).entries()) {
    const impression = policy.append({ features: order.map((i) => x[i]), round: n + 1 });
    if (reward > 0) policy.observe({ impression, reward });
  }
  policy.refactor();
  return policy;
}

it("features in another order, with their blocks, give the same predictions", async () => {
  await fc.assert(
    fc.asyncProperty(given, async (each) => {
      const order = Array.from(each.blocks.keys());
      const random = stream(each.seed + 2);
      const moved = order.map((i) => ({ i, lot: random() })).sort((a, b) => a.lot - b.lot).map(({ i }) => i); // biome-ignore format: one line
      const [own, other] = await Promise.all([learnt(each, order), learnt(each, moved)]);
      const points = dyadicVectors(stream(each.seed + 3), 4, order.length);
      const [expected, got] = [own.predict(points), other.predict(points.map((x) => moved.map((i) => x[i])))];
      for (const n of points.keys()) {
        expect(Math.abs(got.mean[n] - expected.mean[n])).toBeLessThan(1e-9);
        expect(Math.abs(got.variance[n] - expected.variance[n])).toBeLessThan(1e-9);
      }
    }),
    { numRuns: 40 },
  );
});

import { delayLinTs, type Goals, Recommender } from "afterclick";
import { describe, expect, it } from "vitest";
import { stream } from "../../../support/scenario.ts";

// What a delay-aware linear policy is told of sales before it learnt anything.

const HOUR_MS = 3_600_000;
const WINDOW = { ms: 48 * HOUR_MS };
/** A constant, three products, and an interaction of each with an attribute of the visitor. */
const BLOCKS = [0, 1, 1, 1, 3, 3, 3];
const DIMENSION = BLOCKS.length;
const PRODUCTS = [0, 1, 2];
const SALES = [30, 90, 60];

const featuresOf = (product: number, visitor = 0): number[] => [1, ...PRODUCTS.map((each) => Number(each === product)), ...PRODUCTS.map((each) => (each === product ? visitor : 0))]; // biome-ignore format: one line
const candidates = PRODUCTS.map((product) => featuresOf(product));
const priorOf = (sales: readonly number[], views?: readonly number[]) =>
  sales.map((sold, i) => ({ features: candidates[i], sales: sold, ...(views && { views: views[i] }) }));

type Options = Omit<Parameters<typeof delayLinTs>[0], "dimension">;
const KINDS: Readonly<Record<string, { readonly options?: Options; readonly goals?: Goals; readonly max?: number }>> = {
  "with blocks": { options: { blocks: BLOCKS } },
  "without blocks": {},
  "of log-odds": { options: { rewards: "bernoulli" } },
  "of log-odds with evidence": { options: { rewards: "bernoulli", shrinkage: "evidence", blocks: BLOCKS } },
  "with a half-life": { options: { blocks: BLOCKS, forgetting: { halfLife: 100 } } },
  "of amounts": { options: { blocks: BLOCKS }, goals: { order: { weight: 1, value: { currency: "EUR" } } } },
  "of a funnel": { options: { blocks: BLOCKS }, goals: { click: { weight: 0.1 }, order: { weight: 1, after: "click" } } },
};

function started(kind: keyof typeof KINDS): Promise<Recommender> {
  const { options, goals } = KINDS[kind];
  return Recommender.create({ policy: delayLinTs({ dimension: DIMENSION, ...options }), window: WINDOW, goals, seed: 7 });
}

/** Shows products in turn. Each tenth impression converts. */
function play(recommender: Recommender, kind: keyof typeof KINDS, rounds: number, from = 0): void {
  const { goals } = KINDS[kind];
  const random = stream(from + 1);
  for (let i = from; i < from + rounds; i++) {
    const [impressionId, now] = [`${i}`, (i + 1) * 60_000];
    recommender.register({ impressionId, features: featuresOf(i % 3, i % 2 === 0 ? 1 : -1), now });
    if (random() >= 0.1 + 0.1 * (i % 3)) continue;
    for (const goal of goals ? Object.keys(goals) : [undefined]) recommender.convert({ impressionId, goal, reward: 1, at: now });
  }
}

const meansOf = ({ policy }: Recommender): number[] => Array.from(policy.predict(candidates).mean);
const NOW = 40 * 24 * HOUR_MS;
const decisionsOf = ({ policy }: Recommender): unknown => {
  const points = Float64Array.from(candidates.flat());
  return Array.from({ length: 5 }, (_, i) => policy.choose({ points, round: 9000 + i, now: NOW, limit: 3 }));
};

describe.each(Object.keys(KINDS))("a policy %s", (kind) => {
  it("prefers what sold most before it has learnt anything, and is finite", async () => {
    const recommender = await started(kind);
    recommender.policy.prior(priorOf(SALES));
    const [first, second, third] = meansOf(recommender);
    expect([first, second, third].every(Number.isFinite)).toBe(true);
    expect(second).toBeGreaterThan(third);
    expect(third).toBeGreaterThan(first);
    play(recommender, kind, 60);
    expect(meansOf(recommender).every(Number.isFinite)).toBe(true);
  });

  it("stays as it is if it is told the same again, replaces a prior, and forgets it for an empty one", async () => {
    const [told, other, plain] = await Promise.all([started(kind), started(kind), started(kind)]);
    for (const each of [told, other, plain]) play(each, kind, 40);
    for (const each of [told, other, plain]) each.policy.refactor();
    const before = plain.snapshot();
    told.policy.prior(priorOf(SALES));
    expect(told.policy.digest()).toBe(plain.policy.digest());
    expect(decisionsOf(told)).not.toEqual(decisionsOf(plain));
    const once = told.snapshot();
    told.policy.prior(priorOf(SALES));
    expect(told.snapshot()).toEqual(once);
    other.policy.prior(priorOf([5, 2, 1]));
    other.policy.prior(priorOf(SALES));
    for (const each of [told, other]) each.policy.refactor();
    expect(other.snapshot()).toEqual(told.snapshot());
    told.policy.prior([]);
    told.policy.refactor();
    expect(decisionsOf(told)).toEqual(decisionsOf(plain));
    expect(told.snapshot()).toEqual(before);
  });

  it("keeps it in a snapshot and in a publication", async () => {
    const told = await started(kind);
    play(told, kind, 40);
    told.policy.prior(priorOf(SALES));
    const restored = await Recommender.restore(told.snapshot(), { policies: [delayLinTs] });
    expect(decisionsOf(restored)).toEqual(decisionsOf(told));
    const published = await Recommender.restore(told.publication(), { policies: [delayLinTs] });
    expect(Array.from(published.policy.predict(candidates).mean)).toEqual(meansOf(told));
    for (const each of [told, restored]) play(each, kind, 40, 40);
    expect(decisionsOf(restored)).toEqual(decisionsOf(told));
  });

  it("knows nothing by no sales, or no views", async () => {
    const [told, plain] = await Promise.all([started(kind), started(kind)]);
    told.policy.prior(priorOf([0, 0, 0]));
    told.policy.prior(priorOf(SALES, [0, 0, 0]));
    expect(told.snapshot()).toEqual(plain.snapshot());
  });

  it("takes views as counts or as shares", async () => {
    const [counts, shares] = await Promise.all([started(kind), started(kind)]);
    counts.policy.prior(priorOf(SALES, [256, 1024, 512]));
    shares.policy.prior(priorOf(SALES, [0.25, 1, 0.5]));
    expect(meansOf(shares)).toEqual(meansOf(counts));
  });
});

it("ranks by sales per view", async () => {
  const recommender = await started("with blocks");
  recommender.policy.prior(priorOf(SALES, [100, 3000, 1000]));
  const [first, second, third] = meansOf(recommender);
  expect(first).toBeGreaterThan(third);
  expect(third).toBeGreaterThan(second);
});

it("fades as impressions come", async () => {
  const distanceAfter = async (rounds: number): Promise<number> => {
    const [told, plain] = await Promise.all([started("with blocks"), started("with blocks")]);
    told.policy.prior(priorOf([600, 60, 6]));
    for (const each of [told, plain]) play(each, "with blocks", rounds);
    for (const each of [told, plain]) each.policy.refactor();
    const [own, others] = [meansOf(told), meansOf(plain)];
    return Math.max(...own.map((each, i) => Math.abs(each - others[i])));
  };
  const [soon, later] = [await distanceAfter(30), await distanceAfter(3000)];
  expect(later).toBeLessThan(soon / 4);
  expect(later).toBeLessThan(0.03);
});

it("is added once by several policies that are merged", async () => {
  const [told, alone, other] = await Promise.all([1, 2, 3].map(() => started("with blocks")));
  play(told, "with blocks", 40);
  play(alone, "with blocks", 40);
  play(other, "with blocks", 40, 40);
  for (const each of [told, other]) each.policy.prior(priorOf(SALES));
  const copy = await Recommender.restore(other.snapshot(), { policies: [delayLinTs] });
  copy.policy.prior([]);
  told.policy.merge(other.policy);
  alone.policy.merge(copy.policy);
  alone.policy.prior(priorOf(SALES));
  for (const each of [told, alone]) each.policy.refactor();
  expect(meansOf(told)).toEqual(meansOf(alone));
});

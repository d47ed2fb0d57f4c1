import { delayLinTs, encoder, Recommender } from "afterclick";
import { stream } from "../simulation/stream.ts";
import type { Workload } from "./workload.ts";

// A decision among a whole catalogue, as an isolate makes it: d = 128, five features of a visitor, 100 draws, a list of six.

const DIMENSION = 128;
const LIMIT = 6;
const CONTEXTS = 64;
const IMPRESSIONS = 2000;
const SIZES = { "10,000 actions": 10_000, "1,000 actions": 1000 } as const;
const DECISIONS = { "10,000 actions": 8, "1,000 actions": 64 } as const;

export const catalogueWorkload: Workload = {
  name: "catalogue-decision",
  unit: "ms",
  rounds: 15,
  peer: "1,000 actions",
  // Ten times the actions may take twelve times as long.
  targets: [{ variant: "10,000 actions", peer: "1,000 actions", atLeast: 1 / 12 }],
  async prepare() {
    const variants = Object.entries(SIZES).map(
      async ([name, size]) => [name, await deciding(size, DECISIONS[name as keyof typeof SIZES])] as const,
    );
    return { variants: Object.fromEntries(await Promise.all(variants)) };
  },
};

/** Milliseconds per decision among so many actions. */
async function deciding(size: number, decisions: number): Promise<() => number> {
  const draw = stream("catalogue", size);
  const { among } = encoder({
    dimension: DIMENSION,
    numeric: { price: { min: 0, max: 200 }, hour: { min: 0, max: 24 } },
    interactions: "all",
  });
  const pointsIn = among(
    Array.from({ length: size }, (_, i) => ({
      id: `product-${i}`,
      brand: `brand-${draw.below(60)}`,
      category: `category-${draw.below(20)}`,
      price: 200 * draw(),
    })),
  );
  const contexts = Array.from({ length: CONTEXTS }, () => ({
    country: `country-${draw.below(30)}`,
    device: `device-${draw.below(2)}`,
    hour: draw.below(24),
    returning: draw() < 0.5,
    source: `source-${draw.below(8)}`,
  }));
  const recommender = await Recommender.create({ policy: delayLinTs({ dimension: DIMENSION }), window: { ms: 86_400_000 } });
  const points = pointsIn(contexts[0]);
  for (let n = 0; n < IMPRESSIONS; n++) {
    const row = draw.below(size) * DIMENSION;
    recommender.register({ impressionId: `${n}`, features: points.subarray(row, row + DIMENSION), now: 1000 * n });
    if (draw() < 0.05) recommender.convert({ impressionId: `${n}`, reward: 1, at: 1000 * n });
  }
  const { policy } = await Recommender.restore(recommender.publication(), { policies: [delayLinTs] });
  let made = 0;
  return () => {
    const start = performance.now();
    for (let n = 0; n < decisions; n++) {
      const request = { round: IMPRESSIONS + 1, now: 1000 * IMPRESSIONS, decision: `decision ${made++}`, draws: 100, limit: LIMIT };
      policy.choose({ ...request, points: pointsIn(contexts[made % CONTEXTS]) });
    }
    return (performance.now() - start) / decisions;
  };
}

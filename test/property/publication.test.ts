import { delayLinTs, delayLinUcb, type PolicyFactory, policies, Recommender } from "afterclick";
import fc from "fast-check";
import { expect, it } from "vitest";
import { dyadicVectors, stream } from "../support/scenario.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Above 128 features the mean is not solved at once, so its coefficients depend on when it was solved. */
const options = fc.record({
  dimension: fc.constantFrom(1, 3, 130, 257),
  rewards: fc.constantFrom("linear" as const, "bernoulli" as const),
  shrinkage: fc.constantFrom("evidence" as const, "fixed" as const),
  forgetting: fc.option(fc.record({ halfLife: fc.integer({ min: 2, max: 30 }) })),
});

/** The events of one minute. */
const minute = fc.record({
  seed: fc.nat(),
  shown: fc.integer({ min: 0, max: 3 }),
  converts: fc.option(fc.record({ back: fc.nat({ max: 9 }), reward: fc.integer({ min: 0, max: 4096 }).map((n) => n / 4096) })),
  restarts: fc.boolean(),
});

type Minute = typeof minute extends fc.Arbitrary<infer Value> ? Value : never;

async function lived(policy: Parameters<typeof Recommender.create>[0]["policy"], minutes: readonly Minute[]) {
  let recommender = await Recommender.create({ policy, window: { ms: HOUR }, seed: 5 });
  const ids: string[] = [];
  for (const [n, { seed, shown, converts, restarts }] of minutes.entries()) {
    const now = n * 7 * MINUTE;
    const candidates = dyadicVectors(stream(seed), 4, recommender.policy.dimension).map((features) => ({ features }));
    if (shown > 0) ids.push(...recommender.recommend({ candidates, limit: shown, now }).ranking.map(({ impressionId }) => impressionId));
    const impressionId = converts && ids[ids.length - 1 - converts.back];
    if (impressionId) recommender.convert({ impressionId, reward: converts.reward, at: now + MINUTE });
    if (restarts) recommender = await Recommender.restore(recommender.snapshot(), { policies });
  }
  return recommender;
}

it.each([delayLinTs, delayLinUcb] as PolicyFactory<{ dimension: number }>[])(
  "a publication of $id decides, bit for bit, as its recommender after any history",
  async (factory) => {
    await fc.assert(
      fc.asyncProperty(options, fc.array(minute, { maxLength: 12 }), fc.nat(), async (given, minutes, seed) => {
        const recommender = await lived(factory(given), minutes);
        const { policy } = await Recommender.restore(recommender.publication(), { policies });
        const points = dyadicVectors(stream(seed), 7, given.dimension);
        const candidates = points.map((features) => ({ features }));
        const round = recommender.policy.impressions + 1;
        for (const draws of [0, 50, 100]) {
          for (const limit of [1, 7]) {
            const request = { candidates, round, now: minutes.length * 7 * MINUTE, limit, draws, decision: `of ${seed}` };
            expect(policy.choose(request)).toEqual(recommender.policy.choose(request));
          }
        }
        expect(policy.predict(points)).toEqual(recommender.policy.predict(points));
      }),
      { numRuns: 20 },
    );
  },
);

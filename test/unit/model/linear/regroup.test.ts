import { delayGpUcb, delayLinTs, delayLinUcb, merge, type PolicyDescriptor, policies, Recommender, UnsupportedError } from "afterclick";
import { describe, expect, it } from "vitest";
import { dyadicVectors, stream } from "../../../support/scenario.ts";

// Blocks of features that are replaced in a policy which has learnt.

const WINDOW = { ms: 60_000 };
const BEFORE = [0, 1, 1, 4];
const AFTER = [0, 1, 4, 5];
const points = [
  [1, 0.5, 0, 0.25],
  [1, -0.25, 0.75, -1],
];

/** A recommender that has learnt so many impressions of its own, every other one with a conversion. */
async function learnt(policy: PolicyDescriptor, count = 40, name = "a"): Promise<Recommender> {
  const recommender = await Recommender.create({ policy, window: WINDOW });
  const random = stream(count);
  for (let i = 0; i < count; i++) {
    const features = [1, ...dyadicVectors(random, 1, 3)[0]];
    recommender.register({ impressionId: `${name}${i}`, features, now: 1000 + 10 * i });
    if (i % 2 === 0) recommender.convert({ impressionId: `${name}${i}`, reward: 0.5 + features[2] / 4, at: 1005 + 10 * i });
  }
  return recommender;
}

const restored = (bytes: Uint8Array): Promise<Recommender> => Recommender.restore(bytes, { policies });

describe.each([delayLinTs, delayLinUcb])("%o regrouped", (factory) => {
  it("by the same blocks is the same to the bit", async () => {
    const recommender = await learnt(factory({ dimension: 4, blocks: BEFORE }));
    const bytes = recommender.snapshot();
    recommender.policy.regroup(BEFORE);
    expect(recommender.snapshot()).toEqual(bytes);
  });

  it("by others keeps its sums, predicts otherwise, and goes on from a snapshot with the new blocks", async () => {
    const recommender = await learnt(factory({ dimension: 4, blocks: BEFORE }));
    const { policy } = recommender;
    const before = { digest: policy.digest(), predictions: policy.predict(points), bytes: recommender.snapshot() };
    policy.regroup(AFTER);
    expect(policy.digest()).toBe(before.digest);
    expect(policy.predict(points)).not.toEqual(before.predictions);
    const bytes = recommender.snapshot();
    expect(bytes).not.toEqual(before.bytes);
    const copy = await restored(bytes);
    expect(copy.snapshot()).toEqual(bytes);
    for (const each of [recommender, copy]) {
      each.policy.regroup(AFTER);
      each.register({ impressionId: "last", features: [1, 0.5, 0.5, 0.5], now: 5000 });
      each.policy.refactor();
    }
    expect(copy.snapshot()).toEqual(recommender.snapshot());
  });

  it("is the policy that was started with the blocks, once it is rebuilt", async () => {
    const [recommender, started] = [
      await learnt(factory({ dimension: 4, blocks: BEFORE })),
      await learnt(factory({ dimension: 4, blocks: AFTER })),
    ];
    recommender.policy.regroup(AFTER);
    for (const { policy } of [recommender, started]) policy.refactor();
    expect(recommender.policy.predict(points)).toEqual(started.policy.predict(points));
  });

  it("has all features in one block again after no blocks", async () => {
    const [recommender, plain] = [await learnt(factory({ dimension: 4, blocks: BEFORE })), await learnt(factory({ dimension: 4 }))];
    recommender.policy.regroup([]);
    for (const { policy } of [recommender, plain]) policy.refactor();
    const [mean, expected] = [recommender, plain].map(({ policy }) => policy.predict(points));
    for (const i of points.keys()) {
      expect(mean.mean[i]).toBeCloseTo(expected.mean[i], 12);
      expect(mean.variance[i]).toBeCloseTo(expected.variance[i], 12);
    }
  });

  it("refuses blocks of another length, and those that are none, and has changed nothing", async () => {
    const recommender = await learnt(factory({ dimension: 4, blocks: BEFORE }));
    const bytes = recommender.snapshot();
    for (const [blocks, error, message] of [
      [[0, 1, 1], RangeError, "blocks: expected 4 numbers"],
      [[0, 1, 1, 4, 4], RangeError, "blocks: expected 4 numbers"],
      [[0, 1, 1, 256], RangeError, "blocks[3]"],
      [[0, -1, 1, 4], RangeError, "blocks[1]"],
      [[0, 1.5, 1, 4], RangeError, "blocks[1]"],
      [[0, Number.NaN, 1, 4], RangeError, "blocks[1]"],
      [[0, "1", 1, 4], TypeError, "blocks[1]"],
      [undefined, TypeError, "blocks: expected an array of 4 numbers"],
      [4, TypeError, "blocks: expected an array of 4 numbers"],
    ] as const) {
      const act = (): void => recommender.policy.regroup(blocks as never);
      expect(act).toThrow(error);
      expect(act).toThrow(message);
    }
    expect(recommender.snapshot()).toEqual(bytes);
  });

  it("as a publication is refused", async () => {
    const published = await restored((await learnt(factory({ dimension: 4, blocks: BEFORE }))).publication());
    const act = (): void => published.policy.regroup(AFTER);
    expect(act).toThrow(UnsupportedError);
    expect(act).toThrow(expect.objectContaining({ code: "only-decides" }));
  });

  it("keeps its blocks when merged", async () => {
    const policy = factory({ dimension: 4, blocks: BEFORE, forgetting: null });
    const parts = await Promise.all([learnt(policy), learnt(policy, 30, "b")]);
    const started = factory({ dimension: 4, blocks: AFTER, forgetting: null });
    const others = await Promise.all([learnt(started), learnt(started, 30, "b")]);
    for (const part of parts) part.policy.regroup(AFTER);
    const [whole, expected] = await Promise.all(
      [parts, others].map((each) =>
        merge(
          each.map((part) => part.snapshot()),
          { policies },
        ),
      ),
    );
    for (const recommender of [whole, expected]) recommender.policy.refactor();
    expect(whole.policy.predict(points)).toEqual(expected.policy.predict(points));
    const bytes = whole.snapshot();
    whole.policy.regroup(AFTER);
    expect(whole.snapshot()).toEqual(bytes);
  });
});

it("regrouping does nothing in a policy without blocks", async () => {
  const recommender = await learnt(delayGpUcb({ dimension: 4 }), 6);
  const bytes = recommender.snapshot();
  for (const blocks of [AFTER, []]) recommender.policy.regroup(blocks);
  expect(recommender.snapshot()).toEqual(bytes);
});

import {
  bpe,
  delayedZooming,
  delayGpUcb,
  delayLinUcb,
  dlpp,
  gpBucb,
  gpUcbSdf,
  miniGpUcb,
  otfLinUcb,
  type PolicyDescriptor,
  policies,
  Recommender,
  SnapshotError,
  uniform,
} from "afterclick";
import { expect, it } from "vitest";
import { freshCore } from "../../support/core.ts";
import { type Contents, contentsOf, crafted } from "../../support/crafted/crafted.ts";

// Numbers that no writer writes, each in a snapshot with a correct checksum.

const { core } = freshCore();
const domain = { points: [0, 0.25, 0.5, 1].map((x) => [x]) };

async function played(policy: PolicyDescriptor): Promise<Contents> {
  const recommender = await Recommender.create({ policy, window: { rounds: 2 }, seed: 1 });
  for (let i = 1; i <= 5; i++) {
    const { action } = recommender.recommend(recommender.policy.hasDomain ? {} : { candidates: [{ features: [0.5, i / 8] }] });
    if (i > 3) recommender.convert({ impressionId: action.impressionId, reward: 0.5 });
  }
  return contentsOf(recommender.snapshot());
}

/** Changes numbers of a section: from the front, or from the back if negative. */
function withNumbers(contents: Contents, section: number, changes: Record<number, number>): Contents {
  const at = (section + contents.sections.length) % contents.sections.length;
  const numbers = [...(contents.sections[at] as number[])];
  expect(numbers.length).toBeGreaterThan(0);
  for (const [place, value] of Object.entries(changes)) numbers[Number(place)] = value;
  return { ...contents, sections: contents.sections.with(at, numbers) };
}

function withText(contents: Contents, section: number, text: string): Contents {
  return { ...contents, sections: contents.sections.with((section + contents.sections.length) % contents.sections.length, text) };
}

const restored = (contents: Contents): Promise<Recommender> => Recommender.restore(crafted(core, contents), { policies });

type Change = (contents: Contents) => Contents;
const numbers =
  (section: number, changes: Record<number, number>): Change =>
  (contents) =>
    withNumbers(contents, section, changes);

const linear = otfLinUcb({ dimension: 2 });

// The last six sections are of the impressions: round and time, ids, moments, names, conversions, features.
const wrong: [string, PolicyDescriptor, Change][] = [
  ["impressions that are no count", linear, (contents) => ({ ...contents, impressions: 1.5 })],
  ["more impressions than can be counted on", linear, (contents) => ({ ...contents, impressions: 2 ** 53 - 1 })],
  ["a round later than the latest", linear, numbers(-6, { 0: 6 })],
  ["a time before 1970", linear, numbers(-6, { 1: -1 })],
  ["ids that are no texts", linear, (contents) => withText(contents, -5, "[1,2,3,4,5]")],
  ["names that are no texts", linear, (contents) => withText(contents, -3, "[{},{},{},{}]")],
  ["an impression of a later round", linear, numbers(-4, { 10: 6 })],
  ["an impression of no round", linear, numbers(-4, { 1: 0 })],
  ["impressions that are not in order", linear, numbers(-4, { 1: 5 })],
  ["a reward out of its range", linear, numbers(-2, { 4: 1.5 })],
  ["features that are too large", linear, numbers(-1, { 0: 1e7 })],
  ["a cohort without an impression", delayLinUcb({ dimension: 2 }), numbers(12, { 3: 0 })],
  ["pending impressions that are no count", gpBucb({ dimension: 2 }), numbers(1, { 0: -1 })],
  ["a refit at no impression", gpUcbSdf({ dimension: 2, refit: { every: 4 } }), numbers(1, { 2: 0.5 })],
  ["more outcomes than impressions", delayGpUcb({ dimension: 2 }), numbers(1, { 2: 6 })],
  ["open impressions after the last", delayGpUcb({ dimension: 2 }), numbers(19, { 0: 1e9 })],
  ["trials fewer than none", delayGpUcb({ dimension: 2, rewards: "bernoulli" }), numbers(4, { 0: -1 })],
  ["many more successes than trials", delayGpUcb({ dimension: 2, rewards: "bernoulli" }), numbers(4, { 1: 1e9 })],
  ["a latent value far from its data", delayGpUcb({ dimension: 2, rewards: "bernoulli" }), numbers(6, { 0: 1e4 })],
  ["more queries of a point than of the round", bpe({ domain, horizon: 100 }), numbers(5, { 0: 11 })],
  ["a batch of half a candidate", miniGpUcb({ domain, threshold: 10 }), numbers(1, { 2: 0.5 })],
  ["a ball outside of the box", dlpp({ domain: { box: [[0, 1]] }, horizon: 100 }), numbers(2, { 0: 0.75 })],
  ["half a ball", dlpp({ domain: { box: [[0, 1]] }, horizon: 100 }), numbers(1, { 2: 0.5 })],
  ["half a reward of a ball", dlpp({ domain: { box: [[0, 1]] }, horizon: 100 }), numbers(4, { 0: 0.5 })],
  ["pulls whose slots are no whole numbers", delayedZooming({ domain, horizon: 100 }), numbers(1, { 0: 2 ** 52 })],
  ["more waiting rewards than there are", delayedZooming({ domain, horizon: 100 }), numbers(2, { 1: 9, 5: 1 })],
];

it.each(wrong)("with %s is refused", async (_, policy, change) => {
  const contents = await played(policy);
  expect((await restored(contents)).snapshot()).toEqual(crafted(core, contents));
  const error = await restored(change(contents)).catch((caught) => caught);
  expect(error).toBeInstanceOf(SnapshotError);
  expect(error.code).toBe("malformed");
});

it("with 200,000 impressions in the wrong order is refused", async () => {
  const contents = await played(uniform());
  const count = 200_000;
  const ids = JSON.stringify(Array.from({ length: count }, (_, i) => i.toString(36)));
  const shown = Array.from({ length: count }, (_, i) => [0, count - i, 0]).flat();
  const sections = [(contents.sections[0] as string).replace(/"round":5}/, `"round":${count}}`), [count, 0], ids, shown, "[]", [], []];
  await expect(restored({ ...contents, sections })).rejects.toThrow(SnapshotError);
});

it("with a section whose length wraps at 2^32 is refused by its length", async () => {
  const contents = await played(linear);
  for (const section of [0, 1]) {
    for (const count of [2 ** 28, 2 ** 29, 2 ** 31, 2 ** 32 + (contents.sections[section].length as number)]) {
      await expect(restored({ ...contents, stated: { section, count } })).rejects.toThrow(/do not fit together$/);
    }
  }
});

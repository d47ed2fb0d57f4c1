import { policies, Recommender, UnsupportedError } from "afterclick";
import { expect, it } from "vitest";
import { history } from "../support/logs/history.ts";
import { candidatesFor, dyadicVectors, stream } from "../support/scenario.ts";
import { learnt } from "./learnt.ts";
import { listed, predicting } from "./stated.ts";

// Laws of a publication: it decides as the recommender that wrote it, and it does nothing else.

const published = (recommender: Recommender): Promise<Recommender> => Recommender.restore(recommender.publication(), { policies });

it.each(listed)("$name decides the same from a publication, whatever it is asked", async (each) => {
  const { recommender, request } = await learnt(each);
  const { policy } = await published(recommender);
  const { hasDomain, dimension, deterministic, delayOffset, impressions } = recommender.policy;
  expect(policy).toMatchObject({ hasDomain, dimension, deterministic, delayOffset, impressions, learns: false });
  for (const draws of [0, 50, 100]) {
    for (const more of each.proposes ? [{}] : [{}, { limit: 6 }, { greedy: true }, { minimumShare: 0.1, limit: 3 }]) {
      const asked = { ...request, ...more, draws, decision: `draws ${draws}` };
      expect(policy.choose(asked)).toEqual(recommender.policy.choose(asked));
    }
  }
});

it.each(predicting)("$name predicts the same from a publication", async (each) => {
  const { recommender } = await learnt(each);
  const points = dyadicVectors(stream(13), 5, 4);
  expect((await published(recommender)).policy.predict(points)).toEqual(recommender.policy.predict(points));
});

it.each(listed)("$name recommends from a publication under the same ids, and remembers nothing", async (each) => {
  const { recommender } = await learnt(each);
  const copy = await published(recommender);
  const request = { candidates: candidatesFor(each.setting, stream(23)) };
  const first = copy.recommend(request);
  expect(first).toEqual(recommender.recommend(request));
  expect(copy.counts()).toEqual({ pending: 0, converted: 0, expired: 0, retracted: 0 });
  expect(copy.recommend(request).action.impressionId).not.toBe(first.action.impressionId);
});

it.each(listed)("$name goes on learning after it has published", async (each) => {
  const [{ recommender }, { recommender: unpublished }] = [await learnt(each), await learnt(each)];
  recommender.publication();
  expect(recommender.snapshot()).toEqual(unpublished.snapshot());
  for (const learning of [recommender, unpublished])
    for (const event of history(learning, each.setting, stream(24))) learning.convert(event);
  expect(recommender.snapshot()).toEqual(unpublished.snapshot());
});

it.each(listed)("$name publishes the same after a restart", async (each) => {
  const { recommender } = await learnt(each);
  const again = await Recommender.restore(recommender.snapshot(), { policies });
  expect(again.publication()).toEqual(recommender.publication());
});

it.each(listed)("$name leaves out of a publication what it says, and always the impressions", async (each) => {
  const { recommender } = await learnt(each);
  const [{ length }, bytes] = [recommender.snapshot(), recommender.publication()];
  expect(bytes.length).toBeLessThan(each.factory.publishes ? length / 3 : length);
  const { impressionId } = recommender.recommend({ candidates: candidatesFor(each.setting, stream(23)) }).action;
  expect(new TextDecoder("latin1").decode(recommender.snapshot())).toContain(impressionId);
  expect(new TextDecoder("latin1").decode(recommender.publication())).not.toContain(impressionId);
});

it.each(listed)("$name does not learn from a publication, nor tell what was learnt", async (each) => {
  const { recommender, request } = await learnt(each);
  const copy = await published(recommender);
  const { policy } = copy;
  const [{ index }] = recommender.policy.choose(request);
  const features = request.candidates?.[index].features ?? recommender.policy.choose(request)[0].features;
  const impression = recommender.policy.append({ features, action: "item-0", round: 31 });
  const before = policy.choose(request);
  const calls: Record<string, () => unknown> = {
    append: () => policy.append({ features, round: 31 }),
    observe: () => policy.observe({ impression, reward: 1 }),
    forget: () => policy.forget(features ?? []),
    refactor: () => policy.refactor(),
    statistics: () => policy.statistics(),
    digestOfPolicy: () => policy.digest(),
    register: () => copy.register({ impressionId: "elsewhere", features }),
    convert: () => copy.convert({ impressionId: "elsewhere", reward: 1 }),
    digest: () => copy.digest(),
    snapshot: () => copy.snapshot(),
    publication: () => copy.publication(),
  };
  for (const [name, call] of Object.entries(calls)) {
    expect(call, name).toThrow(expect.objectContaining({ name: "UnsupportedError", code: "only-decides" }));
    expect(call, name).toThrow(UnsupportedError);
  }
  expect(policy.choose(request)).toEqual(before);
  expect(copy.counts().pending).toBe(0);
});

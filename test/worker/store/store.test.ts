import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { enter } from "../../../worker/learner/model/ledger.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import { call, createModel, describeModel, learnerOf, show } from "../support/client.ts";
import { useClock } from "../support/clock.ts";

useClock();

/** Reads or changes the tables of a model as its learner does. */
function inStore<T>(model: string, work: (store: LearnerStore) => T): Promise<T> {
  return runInDurableObject(learnerOf(model), (_, { storage }) => work(new LearnerStore(storage)));
}

it("states no conversion rate before a window has closed", async () => {
  const model = await createModel();
  await show(model, {});
  const answer = await learnerOf(model).describe();
  expect(answer).toMatchObject({ value: { conversionRate: null } });
});

it("sums up a closed bucket after an erasure, and no open one, not even the first", async () => {
  const model = await createModel();
  const watermark = await inStore(model, (store) => store.model.watermark);
  const lines = [0, 0, 1].map((after, n) => {
    const shownAt = watermark + after;
    return { type: "impression", id: uuidAt(shownAt, new Uint8Array(10).fill(n)), action: "mug", shownAt };
  });
  const log = lines.map((line) => JSON.stringify(line)).join("\n");
  expect((await call("POST", `/v1/models/${model}/events`, log)).body).toMatchObject({ impressions: 3 });
  expect(await learnerOf(model).erase(lines[0].id, (await describeModel(model)).generation)).toEqual({ value: true });
  const { buckets } = (await call("GET", `/v1/models/${model}/metrics`)).body;
  expect(buckets).toEqual([{ start: watermark, arm: "policy", impressions: 2, converted: 0, reward: 0, closed: false }]);
});

it("has nothing for the policies to observe where a conversion changes neither a reward nor a delay", async () => {
  const model = await createModel();
  const shownAt = Date.now();
  await show(model, {});
  const changes = await inStore(model, (store) => {
    const [{ id: impression }] = Array.from(store.impressions.after(0));
    const event = (reward: number | null, after: number) => ({ impression, goal: "order", event: "order 1", reward, at: shownAt + after });
    const entered = (reward: number | null, after: number) => store.transact(() => enter(store, event(reward, after), store.model.config));
    return [entered(0, 1), entered(0.75, 2), entered(null, 3), entered(0.5, 4), entered(0.5, 2), entered(0.25, 1)].map(
      ({ status, change }) => [status, change && [change.before, change.after]],
    );
  });
  const at = (reward: number, delay: number) => ({ reward, delay, delays: { "": delay } });
  expect(changes).toEqual([
    ["applied", undefined],
    ["applied", [null, at(0.75, 2)]],
    ["conflict", [at(0.75, 2), { reward: 0, delays: {} }]],
    ["conflict", [{ reward: 0, delays: {} }, at(0.5, 2)]],
    ["conflict", undefined],
    ["conflict", [at(0.5, 2), at(0.5, 1)]],
  ]);
  // The learner has not made these changes itself.
  await evictDurableObject(learnerOf(model));
  const { counts } = (await call("GET", `/v1/models/${model}`)).body;
  expect(counts).toMatchObject({ converted: 1, retracted: 0 });
});

it("makes another version of the model by a reward of 0 only if that takes something back", async () => {
  const model = await createModel();
  const shownAt = Date.now();
  await show(model, {});
  const changed = await inStore(model, (store) => {
    const [{ id: impression }] = Array.from(store.impressions.after(0));
    const entered = (event: string, reward: number, after: number) => {
      store.transact(() => enter(store, { impression, goal: "order", event, reward, at: shownAt + after }, store.model.config));
      return store.seq - store.changedAt;
    };
    return [entered("no", 0, 1), entered("no", 0, 2), entered("order", 1, 3), entered("order", 0, 2), entered("order", 0, 4)];
  });
  expect(changed).toEqual([1, 2, 0, 1, 0]);
});

it("knows the oldest row of a time by impressions and by conversions that wait", async () => {
  const model = await createModel();
  const shownAt = Date.now();
  await show(model, {});
  const oldest = await inStore(model, (store) => {
    const impression = uuidAt(shownAt - 1000, new Uint8Array(10));
    const before = store.oldestSince(0);
    store.transact(() => enter(store, { impression, goal: "order", event: "order 1", reward: 1, at: shownAt }, store.model.config));
    return [before, store.oldestSince(0), store.oldestSince(shownAt - 999), store.oldestSince(shownAt + 1)];
  });
  expect(oldest).toEqual([shownAt, shownAt - 1000, shownAt, undefined]);
});

it("takes a deferred impression of a past log from the watermark on", async () => {
  const model = await createModel();
  const watermark = await inStore(model, (store) => store.model.watermark);
  const line = (shownAt: number) => {
    return JSON.stringify({ type: "impression", id: uuidAt(shownAt, new Uint8Array(10)), action: "mug", shownAt, state: "deferred" });
  };
  const { body } = await call("POST", `/v1/models/${model}/events`, [watermark - 1, watermark].map(line).join("\n"));
  expect(body).toMatchObject({ impressions: 1 });
  const stored = await inStore(model, (store) => Array.from(store.impressions.after(0), ({ id, state }) => ({ id, state })));
  expect(stored).toEqual([{ id: uuidAt(watermark, new Uint8Array(10)), state: "deferred" }]);
});

it("keeps the note of an impression that the backend has shown until its bucket closes, and a page's until the deferral is over", async () => {
  const model = await createModel();
  const shownAt = Date.now();
  const ids = Array.from({ length: 4 }, (_, n) => uuidAt(shownAt, new Uint8Array(10).fill(n)));
  const noted = await inStore(model, (store) => {
    store.transact(() => ids.forEach((id, n) => void store.impressions.noteShown(id, n < 2)));
    // Both have shown this one.
    store.transact(() => store.impressions.noteShown(ids[1], false));
    const oldest = store.impressions.oldestWaiting;
    store.transact(() => store.deleteWaiting(shownAt + 1));
    store.transact(() => store.impressions.noteShown(ids[1], true));
    const open = [store.impressions.oldestWaiting, store.waiting];
    const taken = store.transact(() => [ids[0], ids[1], ids[2]].map((id) => store.impressions.takeShown(id)));
    store.transact(() => store.close(shownAt + 1));
    return { oldest, open, taken, closed: store.waiting };
  });
  expect(noted).toEqual({ oldest: shownAt, open: [undefined, 3], taken: [false, true, true], closed: 0 });
});

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { homeOf } from "../../../worker/domain/ids/home.ts";
import { KeyHasher } from "../../../worker/domain/ids/key-hasher.ts";
import { shardName } from "../../../worker/domain/ids/shard.ts";
import { Learner } from "../../../worker/learner/learner.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import { convert, createModel, describeModel, learnerOf, show, statusesOf } from "../support/client.ts";
import { START, useClock } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";

// Conversions with join keys in a model of several shards, while other calls reach the home of the key. Shard 0 coordinates, shard 1 is
// the home of the orders' keys, and a visitor's key makes the shard of an impression.

useClock();
afterEach(() => void vi.restoreAllMocks());

const HOME = 1;
const hasher = KeyHasher.create(env.AFTERCLICK_JOIN_KEY as string);

const sharded = () => createModel({ serving: "edge", encoder: { dimension: 16, interactions: "all" }, shards: 3 });

/** A key with a home, of a model of three shards. */
function keyAt(model: string, home: number, name: string): string {
  for (let i = 0; ; i++) {
    const [hash] = hasher.hash(model, `${name}-${i}`, "backend");
    if (homeOf(hash, 3) === home) return `${name}-${i}`;
  }
}

/** Registers an impression of a shard, which has an order's key too. `age`: ms before the conversions. */
const shownAt = (model: string, shard: number, key: string, age = 1000): Promise<string[]> =>
  show(model, { keys: [keyAt(model, shard, "visitor"), key], shownAt: START - age });

const order = (model: string, ...keys: string[]) =>
  convert(
    keys.map((key) => ({ model, key, reward: 1 })),
    { id: `of-${keys.join()}`, timestamp: START },
  );

const deliver = (model: string, shard: number) => runDurableObjectAlarm(learnerOf(shardName(model, shard)));

/** Holds the events that the home sends to the shards of impressions. */
function held(): { readonly sent: () => Promise<void>; readonly release: () => void } {
  const { ingest } = Learner.prototype;
  let [isSent, isReleased] = [false, false];
  vi.spyOn(Learner.prototype, "ingest").mockImplementation(async function (this: Learner, events) {
    const isAddressed = events.some((event) => "impression" in event && "key" in event);
    isSent ||= isAddressed;
    while (isAddressed && !isReleased) await scheduler.wait(0);
    return ingest.call(this, events);
  });
  return {
    // Requests wait by turns, because no promise of one request settles in another.
    async sent() {
      while (!isSent) await scheduler.wait(0);
    },
    release() {
      isReleased = true;
    },
  };
}

/** An event that waits, and impressions of the shards 0 and 2 with its key that the home has not heard of. */
async function waiting(): Promise<{ readonly model: string; readonly key: string }> {
  const model = await sharded();
  const key = keyAt(model, HOME, "order");
  expect(statusesOf(await order(model, key))).toEqual(["orphan"]);
  const spy = vi.spyOn(Learner.prototype, "link").mockRejectedValue(new Error("lost"));
  for (const shard of [0, 2]) await shownAt(model, shard, key);
  spy.mockRestore();
  return { model, key };
}

const once = (conversions: number) => ({ converted: conversions, applied: conversions, orphan: 0 });

it("sends an event that has waited to one impression, whichever others come at the same time", async () => {
  const { model, key } = await waiting();
  const { link } = Learner.prototype;
  let links = 0;
  vi.spyOn(Learner.prototype, "link").mockImplementation(function (this: Learner, notes, shard) {
    const linked = link.call(this, notes, shard);
    links++;
    return linked;
  });
  const { sent, release } = held();
  const delivered = [deliver(model, 0), deliver(model, 2)];
  while (links < 2) await scheduler.wait(0);
  await sent();
  await shownAt(model, HOME, key, 500);
  const repeated = order(model, key);
  release();
  await Promise.all(delivered);
  expect(["applied", "duplicate"]).toContain(statusesOf(await repeated)[0]);
  expect(statusesOf(await order(model, key))).toEqual(["duplicate"]);
  expect((await describeModel(model)).counts).toMatchObject(once(1));
});

it("sends an event that has waited to the same impression again, if the answer of its shard is lost", async () => {
  const { model, key } = await waiting();
  const { ingest } = Learner.prototype;
  const spy = vi.spyOn(Learner.prototype, "ingest").mockImplementation(async function (this: Learner, events) {
    await ingest.call(this, events);
    throw new Error("lost");
  });
  await deliver(model, 2);
  spy.mockRestore();
  expect((await describeModel(model)).counts).toMatchObject({ applied: 1, orphan: 1 });
  await shownAt(model, HOME, key, 500);
  await deliver(model, 0);
  expect((await describeModel(model)).counts).toMatchObject({ applied: 1, orphan: 1 });
  await deliver(model, 2);
  expect(statusesOf(await order(model, key))).toEqual(["duplicate"]);
  expect((await describeModel(model)).counts).toMatchObject(once(1));
  complaints();
});

it("finds an impression that came while another event of the message was on its way", async () => {
  const model = await sharded();
  const [early, late] = [keyAt(model, HOME, "early"), keyAt(model, HOME, "late")];
  await shownAt(model, 2, early);
  const { sent, release } = held();
  const replied = order(model, late, early);
  await sent();
  await shownAt(model, 0, late);
  release();
  expect(statusesOf(await replied)).toEqual(["applied", "applied"]);
  expect((await describeModel(model)).counts).toMatchObject(once(2));
});

it("sends a repeated event after the first one, although a newer impression has come", async () => {
  const model = await sharded();
  const key = keyAt(model, HOME, "order");
  await shownAt(model, 2, key);
  const { sent, release } = held();
  const first = order(model, key);
  await sent();
  await shownAt(model, HOME, key, 500);
  const repeated = order(model, key);
  release();
  expect([await first, await repeated].flatMap(statusesOf).sort()).toEqual(["applied", "duplicate"]);
  expect((await describeModel(model)).counts).toMatchObject(once(1));
});

it("deletes no event with the number of one that was sent before a reset", async () => {
  const { model } = await waiting();
  await runInDurableObject(learnerOf(shardName(model, HOME)), (_, { storage }) => {
    const store = new LearnerStore(storage);
    const [{ seq }] = store.database.query<{ seq: number }>("SELECT seq FROM conversions WHERE status = 'orphan'");
    store.transact(() => store.conversions.delivered(seq, "of an earlier generation"));
  });
  expect((await describeModel(model)).counts.orphan).toBe(1);
});

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { createApp } from "../../../worker/edge/app.ts";
import {
  call,
  convert,
  createModel,
  describeModel,
  HOUR_MS,
  keep,
  learnerOf,
  recommend,
  show,
  statusesOf,
  statusOf,
} from "../support/client.ts";
import { auditing, closing, DAY_MS, forgetting, MINUTE_MS, QUARTER_MS, ring, tick, useClock } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";
import { down } from "../support/fault.ts";

useClock();

const unreachable = { LEARNER: down.LEARNER };
const alarmOf = (model: string): Promise<number | null> => runInDurableObject(learnerOf(model), (_, { storage }) => storage.getAlarm());
const heal = async (model: string) => expect(await learnerOf(model).heal()).toEqual({ value: null });

/** Closes a first bucket, so that the watermark is at the start of the second. Returns that time, and sets the clock to it. */
async function afterFirstBucket(model: string): Promise<number> {
  await show(model, {});
  tick(QUARTER_MS);
  return Date.now();
}

it("learns what only KV took of an impression shown in the very moment in which its bucket began", async () => {
  const model = await createModel();
  const start = await afterFirstBucket(model);
  const [impressionId] = await show(model, { shownAt: start });
  expect(statusesOf(await convert({ impressionId, reward: 1 }, { env: unreachable }))).toEqual(["accepted"]);
  await ring(model, closing(start));
  expect(await statusOf(impressionId)).toBe("converted");
});

it("learns what only KV took at the next heartbeat, long before the bucket closes, and once", async () => {
  const model = await createModel();
  const [impressionId] = await show(model, {});
  const event = { impressionId, reward: 1 };
  expect(statusesOf(await convert(event, { env: unreachable }))).toEqual(["accepted"]);
  await heal(model);
  expect(await statusOf(impressionId)).toBe("converted");
  const notes = await env.EVENTS.list({ prefix: `owed/event/${model}/` });
  expect(notes.keys).toEqual([]);
  await heal(model);
  await ring(model, closing(Date.now()));
  expect((await describeModel(model)).counts).toMatchObject({ converted: 1, duplicate: 0, conflict: 0 });
});

it("counts what only KV took of a bucket that begins at the watermark, of which the learner has no row", async () => {
  const model = await createModel({ serving: "edge" });
  const start = await afterFirstBucket(model);
  const [impressionId] = await recommend(model, {}, { isolate: createApp(), env: unreachable });
  expect(statusesOf(await convert({ impressionId, reward: 1 }, { env: unreachable }))).toEqual(["accepted"]);
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 1, orphan: 0 });
  await ring(model, closing(start));
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 1, orphan: 1 });
});

it("sets its alarm for the oldest open impression, of those of several buckets", async () => {
  const model = await createModel();
  const first = Date.now();
  await show(model, {});
  vi.setSystemTime(first + 2 * QUARTER_MS);
  await show(model, {});
  await ring(model, Date.now());
  expect(await alarmOf(model)).toBe(closing(first));
  await ring(model, closing(first));
  expect(await alarmOf(model)).toBe(closing(first + 2 * QUARTER_MS));
});

it("sets its alarm for a publication, a closing, an audit and a forgetting, each when it is due, and then for nothing", async () => {
  const model = await createModel();
  expect(await alarmOf(model)).toBeNull();
  const published = Date.now();
  const shownAt = published + 7 * MINUTE_MS;
  vi.setSystemTime(shownAt);
  const [impressionId] = await show(model, {});
  await convert({ impressionId, reward: 1 });
  // The catalogue's publication is old, so newer learning is due at once.
  expect(await alarmOf(model)).toBe(published + 1000);
  const calendar = [shownAt, closing(shownAt), auditing(shownAt), forgetting(shownAt, 30 * DAY_MS)];
  for (const [i, due] of calendar.entries()) {
    await ring(model, due);
    if (i < 3) expect(await alarmOf(model)).toBe(calendar[i + 1]);
  }
  expect(await describeModel(model)).toMatchObject({ published: { at: shownAt }, counts: { impressions: 1, applied: 1 } });
  expect((await call("GET", `/v1/impressions/${impressionId}`)).status).toBe(404);
  // Forgetting keeps a snapshot, which is published.
  await ring(model, Date.now() + MINUTE_MS);
  expect(await alarmOf(model)).toBeNull();
});

it.each(["learner", "edge"])("sets its alarm for a deferred impression of the %s, and deletes one that is not shown", async (serving) => {
  const model = await createModel({ serving, publish: { ms: DAY_MS }, deferral: { ms: 10 * MINUTE_MS } });
  await show(model, ...Array.from({ length: 95 }, () => ({})));
  await keep(model);
  const now = Date.now();
  expect(await alarmOf(model)).toBe(closing(now));
  const [impressionId] = await recommend(model, { defer: true, context: { country: "PT" }, keys: ["visitor"] });
  expect(await alarmOf(model)).toBe(now + 10 * MINUTE_MS + 30_000);
  await ring(model, now + 10 * MINUTE_MS + 30_000);
  expect((await call("GET", `/v1/impressions/${impressionId}`)).status).toBe(404);
  expect(await alarmOf(model)).toBe(closing(now));
});

it("publishes no sooner than its model says after the last time", async () => {
  const model = await createModel({ publish: { ms: 2 * MINUTE_MS } });
  await show(model, ...Array.from({ length: 50 }, () => ({})));
  await keep(model);
  const published = Date.now();
  tick(MINUTE_MS);
  await show(model, {});
  expect(await alarmOf(model)).toBe(published + 2 * MINUTE_MS);
  await ring(model, published + 2 * MINUTE_MS - 1);
  expect((await describeModel(model)).published?.at).toBe(published);
  await ring(model, published + 2 * MINUTE_MS);
  expect((await describeModel(model)).published?.at).toBe(published + 2 * MINUTE_MS);
});

it("publishes a young model whenever its rows have grown by a sixteenth, and at most once a second", async () => {
  const model = await createModel({ publish: { ms: DAY_MS } });
  await show(model, ...Array.from({ length: 95 }, () => ({})));
  // The version counts the marks of the log too.
  const version = await keep(model);
  expect(version).toBe(101);
  const published = Date.now();
  await show(model, ...Array.from({ length: 6 }, () => ({})));
  expect(await alarmOf(model)).toBe(closing(published));
  await show(model, {});
  expect(await alarmOf(model)).toBe(published + 1000);
  await ring(model, published + 999);
  expect((await describeModel(model)).published?.version).toBe(version);
  expect(await alarmOf(model)).toBe(published + 1000);
  await ring(model, published + 1000);
  expect(await describeModel(model)).toMatchObject({ modelVersion: version + 8, published: { version: version + 8 } });
});

it("waits half a minute before it does again what has failed", async () => {
  const model = await createModel();
  const [impressionId] = await show(model, {});
  await convert({ impressionId, reward: 1 });
  const list = vi.spyOn(Object.getPrototypeOf(env.EVENTS), "list").mockRejectedValue(new Error("KV is down"));
  const due = closing(Date.now());
  for (const time of [due, due + 30_000, due + 60_000]) {
    await ring(model, time);
    expect(complaints()).toEqual(["an alarm's task failed Error"]);
    expect(await alarmOf(model)).toBe(time + 30_000);
  }
  list.mockRestore();
  await ring(model, due + 90_000);
  expect(await alarmOf(model)).toBe(auditing(due - HOUR_MS - 5 * MINUTE_MS - 1));
});

it("looks again in half a minute if it cannot read what is due", async () => {
  const model = await createModel();
  await show(model, {});
  const now = Date.now() + MINUTE_MS;
  await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) => {
    vi.spyOn(Object.getPrototypeOf(sql), "exec").mockImplementation(() => {
      throw new Error("disk error");
    });
  });
  await ring(model, now);
  vi.restoreAllMocks();
  expect(complaints()).toEqual(Array.from({ length: 7 }, () => "an alarm's task failed Error"));
  expect(await alarmOf(model)).toBe(now + 30_000);
});

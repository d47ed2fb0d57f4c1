import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { call, convert, createModel, describeModel, HOUR_MS, recommend, show, statusesOf, statusOf } from "../support/client.ts";
import { closing, MINUTE_MS, START, tick, useClock } from "../support/clock.ts";
import { down } from "../support/fault.ts";

// Time limits: the last moment at which a rule holds, and the first at which it does not.

const metricsOf = async (model: string) => (await call("GET", `/v1/models/${model}/metrics`)).body;

useClock();

it("relies on KV alone until two minutes before the books close", async () => {
  const model = await createModel();
  const [impressionId] = await show(model, {});
  const sent = async () => (await convert({ impressionId, reward: 1 }, { timestamp: START, env: { LEARNER: down.LEARNER } })).status;
  vi.setSystemTime(closing(START) - 2 * MINUTE_MS);
  expect(await sent()).toBe(202);
  tick();
  expect(await sent()).toBe(503);
});

it("takes no conversion of more than five minutes ahead, nor of more than five before its impression", async () => {
  const model = await createModel();
  const [impressionId] = await show(model, {});
  const key = { model, key: "order 1", reward: 1 };
  const status = async (data: object, timestamp: number) => (await convert(data, { timestamp })).status;
  for (const data of [{ impressionId, reward: 1 }, key]) {
    expect(await status(data, START + 300_000)).toBe(202);
    expect(await status(data, START + 300_001)).toBe(422);
  }
  expect(await status({ impressionId, reward: 1 }, START - 300_000)).toBe(202);
  expect(await status({ impressionId, reward: 1 }, START - 300_001)).toBe(422);
});

it("registers what was shown up to five minutes ahead, or up to a window and its grace ago", async () => {
  const model = await createModel();
  const status = async (shownAt: number) => (await call("POST", `/v1/models/${model}/impressions`, [{ action: "mug", shownAt }])).status;
  tick(2 * HOUR_MS);
  expect(await status(Date.now() + 300_000)).toBe(201);
  expect(await status(Date.now() + 300_001)).toBe(422);
  expect(await status(Date.now() - 65 * MINUTE_MS)).toBe(201);
  expect(await status(Date.now() - 65 * MINUTE_MS - 1)).toBe(422);
});

it("keeps a conversion in KV until an hour after its audit, and never for less than a minute and a half", async () => {
  const model = await createModel();
  const [impressionId] = await show(model, {});
  await convert({ impressionId, reward: 1 });
  const expirations = async () => (await env.EVENTS.list({ prefix: `event/${model}/` })).keys.map(({ expiration }) => expiration);
  // From midnight: 80 minutes to the closing, a day to the audit, and an hour more.
  expect(await expirations()).toEqual([Date.UTC(2037, 0, 2, 2, 20) / 1000]);
  vi.setSystemTime(Date.UTC(2037, 0, 2, 2, 19));
  await convert({ impressionId, reward: 0.5 }, { timestamp: START, id: "msg_at_the_last_moment" });
  expect((await expirations()).map(Number).toSorted()).toEqual([
    Date.UTC(2037, 0, 2, 2, 20) / 1000,
    Date.UTC(2037, 0, 2, 2, 20, 30) / 1000,
  ]);
});

describe("by a key", () => {
  const keyed = (model: string, timestamp: number, id?: string) => convert({ model, key: "order 1", reward: 1 }, { timestamp, id });

  it.each([
    ["a moment before it was shown", -1, "orphan"],
    ["in that moment", 0, "applied"],
    ["in the last moment of its window", HOUR_MS, "applied"],
    ["a moment later", HOUR_MS + 1, "orphan"],
  ])("what happened %s joins an impression or waits, whichever comes first", async (_, delay, status) => {
    const first = await createModel();
    await show(first, { keys: ["order 1"] });
    tick(HOUR_MS);
    expect(statusesOf(await keyed(first, START + delay))).toEqual([status]);

    const last = await createModel();
    expect(statusesOf(await keyed(last, START + delay))).toEqual(["orphan"]);
    const [impressionId] = await show(last, { keys: ["order 1"], shownAt: START });
    const joined = Number(status === "applied");
    expect((await describeModel(last)).counts).toMatchObject({ orphan: 1 - joined, applied: joined, converted: joined });
    expect(await statusOf(impressionId)).toBe(joined ? "converted" : "pending");
  });
});

it("calls an impression expired a moment after its window, in every answer", async () => {
  const model = await createModel();
  const [impressionId] = await show(model, {});
  const seen = async () => {
    const { recent, pendingByAge, counts } = await metricsOf(model);
    const old = pendingByAge.map(({ count }: { count: number }) => count).lastIndexOf(1);
    return [recent[0].status, await statusOf(impressionId), old, counts.pending, counts.expired];
  };
  expect(await seen()).toEqual(["pending", "pending", 0, 1, 0]);
  tick(HOUR_MS);
  // The oldest of 24 ages.
  expect(await seen()).toEqual(["pending", "pending", 23, 1, 0]);
  tick();
  expect(await seen()).toEqual(["expired", "expired", -1, 0, 1]);
});

it("counts delays in bars that double, from a second on", async () => {
  const model = await createModel();
  const delays = [0, 999, 1000, 1999, 2000, 3999, 4000, HOUR_MS];
  const shown = await show(model, ...delays.map(() => ({})));
  tick(HOUR_MS);
  for (const [i, delay] of delays.entries()) await convert({ impressionId: shown[i], reward: 1 }, { timestamp: START + delay });
  const bars = (await metricsOf(model)).delays;
  expect(bars.slice(0, 4)).toEqual([
    { fromMs: 0, toMs: 1000, count: 2 },
    { fromMs: 1000, toMs: 2000, count: 2 },
    { fromMs: 2000, toMs: 4000, count: 2 },
    { fromMs: 4000, toMs: 8000, count: 1 },
  ]);
  // 3600 seconds lie between 2^11 and 2^12.
  expect(bars.at(-1)).toEqual({ fromMs: 2_048_000, toMs: 4_096_000, count: 1 });
});

it("names the twenty newest impressions, newest first", async () => {
  const model = await createModel();
  const shownBefore = (ms: number) => ({ action: "tent", shownAt: START - ms });
  // Times alternate between two requests, and the last eleven come alone.
  const pairs = Array.from({ length: 5 }, (_, n) => 2 * n);
  await show(model, ...pairs.map((ms) => shownBefore(ms + 1)));
  await show(model, ...pairs.map(shownBefore));
  for (let ms = 10; ms < 21; ms++) await show(model, shownBefore(ms));
  await recommend(model, { limit: 1, defer: true });
  const { recent } = await metricsOf(model);
  expect(recent.map(({ shownAt }: { shownAt: number }) => START - shownAt)).toEqual(Array.from({ length: 20 }, (_, n) => n));
});

it("shows the newest three hundred buckets, oldest first", async () => {
  const model = await createModel({ window: { ms: MINUTE_MS } });
  const times = Array.from({ length: 301 }, (_, n) => START - (n + 10) * MINUTE_MS);
  const lines = times.map((shownAt, n) => JSON.stringify({ type: "impression", id: `shown ${n}`, action: "mug", shownAt }));
  expect((await call("POST", `/v1/models/${model}/events`, lines.join("\n"))).status).toBe(200);
  const { buckets } = await metricsOf(model);
  expect(buckets.map(({ start }: { start: number }) => start)).toEqual(times.slice(0, 300).toReversed());
});

it("lets a page keep a publication only if it asks again, and read when it was made", async () => {
  const model = await createModel({ local: true });
  const origin = "https://shop.example";
  const get = (headers: object) =>
    call("GET", `/v1/models/${model}/published`, undefined, {
      headers: { origin, ...headers },
      env: { AFTERCLICK_ALLOWED_ORIGINS: origin },
      key: env.AFTERCLICK_PUBLISHABLE_KEY,
    });
  const { headers, status } = await get({});
  const again = await get({ "if-none-match": headers.get("etag") });
  expect([status, again.status]).toEqual([200, 304]);
  for (const answer of [headers, again.headers]) {
    expect(answer.get("cache-control")).toBe("private, no-cache");
    expect(answer.get("access-control-expose-headers")?.split(/, ?/)).toEqual(["ETag", "Date", "Retry-After"]);
    expect(answer.get("date")).toBe("Thu, 01 Jan 2037 00:00:00 GMT");
  }
});

it("says when to come back: in a minute where there is no room, in five seconds where nothing could be stored", async () => {
  const model = await createModel({ limits: { deferred: 0 } });
  const [impressionId] = await recommend(model);
  const full = await call("POST", `/v1/models/${model}/recommendations`, { defer: true });
  expect([full.status, full.headers.get("retry-after")]).toEqual([429, "60"]);
  const lost = await convert({ impressionId, reward: 1 }, { env: down });
  expect([lost.status, lost.headers.get("retry-after")]).toEqual([503, "5"]);
  expect([full, lost].map(({ headers }) => headers.get("cache-control"))).toEqual(["no-store", "no-store"]);
});

it("states its rate of conversion of what is settled alone", async () => {
  const model = await createModel();
  const [settled] = await show(model, {}, {}, {}, {});
  await convert({ impressionId: settled, reward: 1 });
  tick(HOUR_MS);
  expect((await describeModel(model)).conversionRate).toBeNull();
  tick();
  const [young] = await show(model, {});
  await convert({ impressionId: young, reward: 1 });
  expect((await describeModel(model)).conversionRate).toBe(0.25);
});

describe("a body", () => {
  const most = 1024 * 1024;
  const statusOfBody = async (length: number, headers: Readonly<Record<string, string>>) => {
    const body = `"${"x".repeat(length - 2)}"`;
    return (await call("POST", "/v1/models/none/recommendations", body, { headers })).status;
  };

  it.each<[string, (length: number) => Readonly<Record<string, string>>]>([
    ["that states its length", (length) => ({ "content-length": `${length}` })],
    ["that states none", () => ({})],
    ["that comes in chunks, whatever length it states", () => ({ "content-length": "5", "transfer-encoding": "chunked" })],
  ])("%s may have a mebibyte, and no byte more", async (_, headers) => {
    expect(await statusOfBody(most, headers(most))).toBe(400);
    expect(await statusOfBody(most + 1, headers(most + 1))).toBe(413);
  });
});

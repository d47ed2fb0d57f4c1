import { evictDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { call, convert, createModel, describeModel, learnerOf, recommend, show, statusesOf } from "./client.ts";
import { closing, DAY_MS, forgetting, ring, useClock } from "./clock.ts";

useClock();

it("takes no more open impressions than it may, and has room again when books are closed", async () => {
  const model = await createModel({ limits: { open: 3 } });
  const shown = { action: "mug", shownAt: Date.now(), id: "shop-1" };
  await recommend(model, { limit: 2 });
  const full = { status: 429, body: { title: "Too many requests", detail: expect.stringContaining("3 open impressions") } };
  expect(await call("POST", `/v1/models/${model}/recommendations`, { limit: 2 })).toMatchObject(full);
  await show(model, shown);
  expect(await call("POST", `/v1/models/${model}/recommendations`, {})).toMatchObject(full);
  expect(await call("POST", `/v1/models/${model}/impressions`, [{ ...shown, id: "shop-2" }])).toMatchObject(full);
  // Known events need no room.
  expect((await call("POST", `/v1/models/${model}/impressions`, [shown])).body.impressions).toMatchObject([{ status: "duplicate" }]);
  const line = { type: "impression", id: "shop-3", action: "mug", shownAt: Date.now() };
  expect(await call("POST", `/v1/models/${model}/events`, JSON.stringify(line))).toMatchObject(full);
  await evictDurableObject(learnerOf(model));
  expect(await call("POST", `/v1/models/${model}/recommendations`, {})).toMatchObject(full);
  expect((await describeModel(model)).counts.impressions).toBe(3);
  await ring(model, closing(Date.now()));
  await recommend(model, { limit: 3 });
  expect((await call("POST", `/v1/models/${model}/recommendations`, {})).status).toBe(429);
});

it("takes a longer body only for a log, even of a model called events", async () => {
  const half = `"${"x".repeat(600_000)}"`;
  const long = `${half}\n${half}`;
  expect((await call("PUT", "/v1/models/events", long)).status).toBe(413);
  expect((await call("PUT", "/v1/models/shop/actions", long)).status).toBe(413);
  expect((await call("POST", "/v1/models/events/events", long)).status).not.toBe(413);
});

it("has all its room again after each reset", async () => {
  const model = await createModel({ limits: { open: 3 } });
  for (let time = 0; time < 3; time++) {
    await recommend(model, { limit: 2 });
    expect((await call("POST", `/v1/models/${model}/recommendations`, { limit: 2 })).status).toBe(429);
    expect((await call("POST", `/v1/models/${model}/reset`, {})).status).toBe(200);
  }
  await recommend(model, { limit: 3 });
});

it("goes on showing at the edge, and counts what is beyond the limit", async () => {
  const model = await createModel({ serving: "edge", limits: { open: 2 } });
  for (let n = 0; n < 3; n++) await recommend(model);
  const [impressionId] = await recommend(model, { limit: 2 });
  expect(await describeModel(model)).toMatchObject({ counts: { impressions: 2 }, incidents: { refused: 3, dropped: 0 } });
  expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["orphan"]);
  await ring(model, closing(Date.now()));
  await recommend(model);
  expect(await describeModel(model)).toMatchObject({ counts: { impressions: 3 }, incidents: { refused: 3 } });
});

it("takes no more bytes than it may, and has room again when they are forgotten", async () => {
  const model = await createModel({ limits: { bytes: 1_000_000 }, retention: { ms: DAY_MS } });
  const context = { text: Array.from({ length: 64 }, (_, n) => `${n}`.padEnd(250)) };
  const fill = () => call("POST", `/v1/models/${model}/recommendations`, { context, limit: 3 });
  let replies = 0;
  while ((await fill()).status === 201) replies++;
  expect(replies).toBeGreaterThan(10);
  expect(replies).toBeLessThan(40);
  expect((await describeModel(model)).bytes).toBeGreaterThan(1_000_000);
  expect(await fill()).toMatchObject({ status: 429, body: { detail: expect.stringContaining("1000000 bytes") } });
  expect((await call("POST", `/v1/models/${model}/impressions`, [{ action: "mug", shownAt: Date.now() }])).status).toBe(429);
  const shownAt = Date.now();
  await ring(model, closing(shownAt));
  expect((await fill()).status).toBe(429);
  await ring(model, forgetting(shownAt, DAY_MS));
  expect((await fill()).status).toBe(201);
});

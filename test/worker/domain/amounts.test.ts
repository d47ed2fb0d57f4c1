import { evictDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { call, convert, createModel, describeModel, HOUR_MS, learnerOf, show, statusesOf } from "../support/client.ts";
import { MINUTE_MS, START, tick, useClock } from "../support/clock.ts";

// A goal with a value: amounts of money that add up.

useClock();

const goals = { click: { weight: 0 }, purchase: { weight: 1, after: "click", value: { currency: "EUR" } } };

const rewardOf = async (impressionId: string) => (await call("GET", `/v1/impressions/${impressionId}`)).body.reward;
const digestOf = async (model: string) => (await describeModel(model)).digest;

interface Line {
  readonly id: string;
  readonly reward?: number;
  readonly type?: "conversion.updated" | "conversion.retracted";
  readonly after?: number;
}

const deliver = (impressionId: string, { id, reward, type, after = 1000 }: Line) =>
  convert({ impressionId, goal: "purchase", ...(reward !== undefined && { reward }) }, { id, type, timestamp: START + after });

it("an update restates the total, a retraction takes it back, also after a cold start, and verify agrees", async () => {
  const model = await createModel({ goals });
  const [impressionId] = await show(model, {});
  tick(HOUR_MS / 2);
  await deliver(impressionId, { id: "order", reward: 50 });
  await deliver(impressionId, { id: "more", reward: 10, after: 4000 });
  await deliver(impressionId, { id: "anew", reward: 30, type: "conversion.updated", after: 3000 });
  expect(await rewardOf(impressionId)).toBe(40);
  await evictDurableObject(learnerOf(model));
  expect(await rewardOf(impressionId)).toBe(40);
  const explained = (await call("GET", `/v1/impressions/${impressionId}`)).body.now.factors;
  expect(explained.map(({ goal, after, amount }: { goal: string; after?: string; amount?: true }) => [goal, after, amount])).toEqual([
    ["click", undefined, undefined],
    ["purchase", "click", undefined],
    ["purchase", undefined, true],
  ]);
  const log = (await call("GET", `/v1/models/${model}/events`)).body as string;
  expect(log).toContain('"restates":true');
  await verify(() => log.trimEnd().split("\n"));
  const copy = await createModel({ goals });
  expect((await call("POST", `/v1/models/${copy}/events`, log)).status).toBe(200);
  expect(await digestOf(copy)).toEqual(await digestOf(model));
  await deliver(impressionId, { id: "back", type: "conversion.retracted", after: 9000 });
  expect(await rewardOf(impressionId)).toBe(0);
});

it("a refund before its order waits, and one larger than it leaves nothing", async () => {
  const model = await createModel({ goals });
  const [impressionId] = await show(model, {});
  tick(MINUTE_MS);
  expect(statusesOf(await deliver(impressionId, { id: "refund", reward: -5, after: 2000 }))).toEqual(["applied"]);
  expect((await call("GET", `/v1/impressions/${impressionId}`)).body).toMatchObject({ status: "pending", reward: null });
  await deliver(impressionId, { id: "order", reward: 25 });
  expect(await rewardOf(impressionId)).toBe(20);
  await deliver(impressionId, { id: "too-much", reward: -30, after: 3000 });
  expect((await call("GET", `/v1/impressions/${impressionId}`)).body).toMatchObject({ status: "retracted", reward: 0 });
});

it("another currency is refused and counted, and metrics state the currency", async () => {
  const model = await createModel({ goals });
  const [impressionId] = await show(model, {});
  tick(MINUTE_MS);
  const pay = (currency: string, goal = "purchase") => convert({ impressionId, goal, reward: 1, currency });
  expect(await pay("USD")).toMatchObject({ status: 422, body: { detail: expect.stringContaining("currency: expected EUR, got USD") } });
  expect(await pay("EUR", "click")).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining("as the goal click has no value") },
  });
  expect(await pay("Euro")).toMatchObject({ status: 422 });
  expect(statusesOf(await pay("EUR"))).toEqual(["applied"]);
  expect((await describeModel(model)).incidents).toMatchObject({ otherCurrency: 2 });
  const { body } = await call("GET", `/v1/models/${model}/metrics`);
  expect(body.goals.map(({ goal, currency }: { goal: string; currency: string | null }) => [goal, currency])).toEqual([
    ["click", null],
    ["purchase", "EUR"],
  ]);
});

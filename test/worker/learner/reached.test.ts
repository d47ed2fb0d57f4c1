import { evictDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { call, convert, createModel, describeModel, HOUR_MS, keep, learnerOf, show, statusOf } from "../support/client.ts";
import { MINUTE_MS, ring, START, tick, useClock } from "../support/clock.ts";

// Counts by goal, with orders and refunds apart.

useClock();

const goals = { click: { weight: 0 }, purchase: { weight: 1, after: "click", value: { currency: "EUR" } } };
const tell = (impressionId: string, goal: string, reward: number, after: number) =>
  convert({ impressionId, goal, reward }, { timestamp: START + after });
const metricsOf = async (model: string) => (await call("GET", `/v1/models/${model}/metrics`)).body;
const nothing = { currency: "EUR", orders: 0, refunds: 0, paid: 0, refunded: 0, net: 0 };

async function expectVerified(model: string): Promise<void> {
  const { body: log } = await call("GET", `/v1/models/${model}/events`);
  await verify(() => log.trimEnd().split("\n"));
}

it("a click of weight 0 is no conversion, and is counted by its goal", async () => {
  const model = await createModel({ goals });
  const [clicked, , bought] = await show(model, {}, {}, {});
  tick(MINUTE_MS);
  await tell(clicked, "click", 1, 1000);
  const reached = (click: number, purchase: number, amounts: object) => [
    { goal: "click", weight: 0, converted: click, rateSoFar: click / 3, amounts: null },
    { goal: "purchase", weight: 1, converted: purchase, rateSoFar: purchase / 3, amounts },
  ];
  expect(await describeModel(model)).toMatchObject({ counts: { converted: 0, retracted: 0, pending: 3 }, reached: reached(1, 0, nothing) });
  expect(await statusOf(clicked)).toBe("pending");
  const metrics = await metricsOf(model);
  expect(metrics).toMatchObject({ delay: null, reached: reached(1, 0, nothing) });
  expect(metrics.buckets.map(({ converted }: { converted: number }) => converted)).toEqual([0]);
  expect(metrics.recent.map(({ status }: { status: string }) => status)).toEqual(["pending", "pending", "pending"]);
  expect(metrics.goals.map(({ delay }: { delay: object | null }) => delay !== null)).toEqual([true, false]);
  await tell(bought, "purchase", 20, 5000);
  const paid = { ...nothing, orders: 1, paid: 20, net: 20 };
  expect(await describeModel(model)).toMatchObject({ counts: { converted: 1, pending: 2 }, reached: reached(1, 1, paid) });
  await evictDurableObject(learnerOf(model));
  expect(await describeModel(model)).toMatchObject({ counts: { converted: 1, pending: 2 }, reached: reached(1, 1, paid) });
  tick(2 * HOUR_MS);
  expect(await statusOf(clicked)).toBe("expired");
  expect(await describeModel(model)).toMatchObject({ counts: { expired: 2 }, conversionRate: 1 / 3 });
  await expectVerified(model);
});

it("two orders and two refunds are two orders, two refunds and their net, and refunds have no delay", async () => {
  const model = await createModel({ goals });
  const [kept, returned] = await show(model, {}, {});
  tick(MINUTE_MS);
  await tell(kept, "purchase", 100, 1000);
  await tell(returned, "purchase", 60, 2000);
  await tell(kept, "purchase", -30, 30_000);
  await tell(returned, "purchase", -60, 40_000);
  const { counts, reached } = await describeModel(model);
  expect(counts).toMatchObject({ converted: 1, retracted: 1, applied: 4 });
  expect(reached?.[1]).toEqual({
    ...{ goal: "purchase", weight: 1, converted: 1, rateSoFar: 0.5 },
    amounts: { currency: "EUR", orders: 2, refunds: 2, paid: 160, refunded: 90, net: 70 },
  });
  expect(await statusOf(returned)).toBe("retracted");
  const { delays, delay, goals: byGoal } = await metricsOf(model);
  expect(delays.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(1);
  expect([delay.conversions, byGoal[1].delay.conversions]).toEqual([1, 1]);
  await expectVerified(model);
});

it("are the same in any order, after a rollback, a relearning and an import", async () => {
  const told: [goal: string, reward: number, after: number][] = [
    ["click", 1, 500],
    ["purchase", 40, 1000],
    ["purchase", 25, 2000],
    ["purchase", -25, 9000],
  ];
  const states = [];
  for (const order of [told, told.toReversed()]) {
    const model = await createModel({ goals });
    const [impressionId] = await show(model, {});
    tick(MINUTE_MS);
    for (const [goal, reward, after] of order) await tell(impressionId, goal, reward, after);
    const { counts, reached } = await describeModel(model);
    states.push({ counts, reached });
    const version = await keep(model);
    await tell(impressionId, "purchase", -40, 10_000);
    expect((await describeModel(model)).reached?.[1].converted).toBe(0);
    await call("POST", `/v1/models/${model}/rollback`, { version });
    expect((await describeModel(model)).reached).toEqual(reached);
    expect((await call("POST", `/v1/models/${model}/reset`, { from: "log" })).status).toBe(202);
    await ring(model, Date.now());
    expect(await describeModel(model)).toMatchObject({ relearning: null, reached });
    const copy = await createModel({ goals });
    const { body: log } = await call("GET", `/v1/models/${model}/events`);
    expect((await call("POST", `/v1/models/${copy}/events`, log)).status).toBe(200);
    expect((await describeModel(copy)).reached).toEqual(reached);
    await expectVerified(model);
    vi.setSystemTime(START);
  }
  expect(states[1]).toEqual(states[0]);
});

it("a goal that is removed in mid-window counts for nothing from then on, and its events are refused", async () => {
  const all = { ...goals, review: { weight: 2 } };
  const model = await createModel({ goals: all });
  const [first] = await show(model, {});
  tick(MINUTE_MS);
  await tell(first, "review", 1, 1000);
  await tell(first, "purchase", 10, 2000);
  await convert({ model, key: "order-1", goal: "review", reward: 1 }, { timestamp: START + 3000 });
  expect((await call("PUT", `/v1/models/${model}`, { window: { ms: HOUR_MS }, serving: "learner", goals })).status).toBe(409);
  expect((await call("POST", `/v1/models/${model}/reset`, { from: "log", goals })).status).toBe(202);
  await ring(model, Date.now());
  expect(await describeModel(model)).toMatchObject({
    relearning: null,
    counts: { converted: 1 },
    reached: [{ converted: 0 }, { converted: 1 }],
  });
  const refused = await tell(first, "review", 1, 4000);
  expect(refused).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining("goal: expected one of click, purchase, got review") },
  });
  // The event that waited joins, and counts for nothing.
  const [late] = await show(model, { keys: ["order-1"], shownAt: START + 1 });
  expect(await statusOf(late)).toBe("pending");
  expect((await describeModel(model)).counts).toMatchObject({ converted: 1, orphan: 0, pending: 1 });
  await expectVerified(model);
});

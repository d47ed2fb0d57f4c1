import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { stream } from "../../../src/simulation/stream.ts";
import type { Delay, Metrics } from "../../../worker/protocol/metrics-answer.ts";
import { call, convert, createModel, HOUR_MS, keep, learnerOf, recommend, show, statusesOf } from "../support/client.ts";
import { DAY_MS, MINUTE_MS, START, tick, useClock } from "../support/clock.ts";

// Figures are as of the moment until which conversions have been reported.

useClock();

const metricsOf = async (model: string): Promise<Metrics> => (await call("GET", `/v1/models/${model}/metrics`)).body;

async function delayOf(model: string): Promise<Delay> {
  const { delay } = await metricsOf(model);
  if (!delay) throw new Error("expected a conversion");
  return delay;
}

const RATE = 0.4;
interface Shop {
  readonly until: number;
  /** Conversions that are not reported yet. */
  readonly waiting: readonly object[];
}

/** Shows four impressions an hour, and reports their conversions at the full hours that `reports` names. */
async function traffic(model: string, hours: number, reports: (hour: number) => boolean, goal?: string): Promise<Shop> {
  const random = stream("traffic", Date.now());
  let waiting: { impressionId: string; reward: number; timestamp: number; goal?: string }[] = [];
  for (let n = 0; n < hours; n++) {
    const ids = await show(model, ...Array.from({ length: 4 }, (_, i) => ({ shownAt: Date.now() + i * 14 * MINUTE_MS - HOUR_MS })));
    for (const [i, impressionId] of ids.entries()) {
      const timestamp = Date.now() + i * 14 * MINUTE_MS - HOUR_MS + Math.floor(-Math.log(1 - random()) * 6 * HOUR_MS);
      if (random() < RATE) waiting.push({ impressionId, reward: 1, timestamp, ...(goal && { goal }) });
    }
    if (reports((Date.now() - START) / HOUR_MS)) {
      const due = waiting.filter((each) => each.timestamp <= Date.now()).sort((a, b) => a.timestamp - b.timestamp);
      waiting = waiting.filter((each) => each.timestamp > Date.now());
      if (due.length > 0) await convert(due);
    }
    tick(HOUR_MS);
  }
  tick(-HOUR_MS);
  return { until: Date.now(), waiting };
}

const WINDOW = { window: { ms: 2 * DAY_MS }, holdout: 0.3 };
const nightly = (hour: number): boolean => hour % 24 === 2;
/** Four days, until 16:00. */
const HOURS = 4 * 24 + 17;

describe("a shop that uploads its orders each night", () => {
  it("has figures as of the last upload, and knows what is still to come", async () => {
    const model = await createModel(WINDOW);
    const { waiting } = await traffic(model, HOURS, nightly);
    const delay = await delayOf(model);
    const upload = START + 4 * DAY_MS + 2 * HOUR_MS;
    expect(delay.completeUntil).toBeLessThanOrEqual(upload);
    expect(delay.completeUntil).toBeGreaterThan(upload - HOUR_MS);
    expect(Math.abs(delay.impressions - (4 * (delay.completeUntil - START + HOUR_MS)) / HOUR_MS)).toBeLessThan(3);
    const [low, high] = delay.rateInterval ?? [];
    expect(low).toBeLessThan(RATE);
    expect(high).toBeGreaterThan(RATE);
    expect(Math.abs((delay.toCome as number) / waiting.length - 1)).toBeLessThan(0.3);
    expect(delay.reportTime).toBeNull();
    // Half of all conversions come within 4.2 hours.
    expect(delay.quantiles[1].delayMs).toBeGreaterThan(3 * HOUR_MS);
    expect(delay.quantiles[1].delayMs).toBeLessThan(6 * HOUR_MS);

    await evictDurableObject(learnerOf(model));
    expect(await delayOf(model)).toEqual(delay);
  });

  it("has a lift as of the last upload, without the lists that were shown later", async () => {
    const model = await createModel(WINDOW);
    const sold: object[] = [];
    for (let hour = 0; hour < 40; hour++) {
      const ids = await Promise.all(Array.from({ length: 5 }, () => recommend(model)));
      sold.push(...ids.slice(0, 2).map(([impressionId]) => ({ impressionId, reward: 1, timestamp: Date.now() + MINUTE_MS })));
      tick(30 * MINUTE_MS);
      if (hour === 25) await convert(sold.splice(0));
      tick(30 * MINUTE_MS);
    }
    const { delay, lift } = await metricsOf(model);
    const upload = START + 25.5 * HOUR_MS;
    expect(delay?.completeUntil).toBeGreaterThan(upload - HOUR_MS);
    expect(delay?.completeUntil).toBeLessThanOrEqual(upload);
    expect(lift?.goals[0].completeUntil).toBe(delay?.completeUntil);
    const [{ policy, holdout }] = lift?.goals ?? [];
    expect(policy.impressions + holdout.impressions).toBe(26 * 5);
  });

  it("is as of then although its clicks arrive at once, which have figures until now", async () => {
    const goals = { click: { weight: 0.1 }, purchase: { weight: 1 } };
    const model = await createModel({ ...WINDOW, goals });
    const before = Date.now();
    await traffic(model, HOURS, nightly, "purchase");
    for (const impressionId of await show(model, {}, {}, {})) await convert({ impressionId, goal: "click", reward: 1 });
    const metrics = await metricsOf(model);
    const [click, purchase] = metrics.goals ?? [];
    expect(click.delay?.completeUntil).toBe(Date.now());
    expect(purchase.delay?.completeUntil).toBeLessThanOrEqual(before + 4 * DAY_MS + 2 * HOUR_MS);
    expect(metrics.delay?.completeUntil).toBe(purchase.delay?.completeUntil);
    expect(Math.abs((metrics.delay?.conversions ?? 0) - (purchase.delay?.conversions ?? 0))).toBeLessThan(3);
  });

  it("stays there when uploads stop, until three windows have passed", async () => {
    const model = await createModel({ ...WINDOW, window: { ms: DAY_MS } });
    await traffic(model, 3 * 24 + 4, nightly);
    const { completeUntil, rate } = await delayOf(model);
    for (let day = 0; day < 2; day++) {
      await traffic(model, 24, () => false);
      const delay = await delayOf(model);
      // At night a few hours without an order are no wonder.
      expect(delay.completeUntil - completeUntil).toBeGreaterThanOrEqual(0);
      expect(delay.completeUntil - completeUntil).toBeLessThan(2 * HOUR_MS);
      expect(delay.rate).toBeCloseTo(rate as number, 1);
    }
    await traffic(model, 3 * 24, () => false);
    const { silence, completeUntil: last } = await delayOf(model);
    expect([silence.alarm, last]).toEqual([true, Date.now() - 3 * DAY_MS]);
  });
});

describe("a shop that reports at once", () => {
  /** A shop of a day with forty orders, and their reports. */
  async function shop(body: object = {}): Promise<{ readonly model: string; readonly sold: readonly object[] }> {
    const model = await createModel({ window: { ms: 7 * DAY_MS }, ...body });
    const sold: object[] = [];
    for (let n = 0; n < 40; n++) {
      const [impressionId] = await show(model, {}, {});
      tick(18 * MINUTE_MS);
      const order = { impressionId, reward: 1, timestamp: Date.now() };
      await convert(order, { id: `${model}_${n}` });
      sold.push(order);
      tick(18 * MINUTE_MS);
    }
    return { model, sold };
  }
  const untilNow = async (model: string): Promise<void> => expect((await delayOf(model)).completeUntil).toBe(Date.now());

  it("has figures until now, whatever the number of its orders and shards", async () => {
    for (const body of [{}, { shards: 3, serving: "edge" }]) await untilNow((await shop(body)).model);
    const slow = await createModel({ window: { ms: 7 * DAY_MS } });
    for (let day = 0; day < 6; day++) {
      const [impressionId] = await show(slow, {});
      tick(DAY_MS);
      await convert({ impressionId, reward: 1 });
    }
    tick(10 * HOUR_MS);
    await untilNow(slow);
  });

  it("is not late because of refunds, corrections, repetitions, and orders that are sent again after a rollback", async () => {
    const value = { max: 1000, currency: "EUR" };
    const { model, sold } = await shop({ goals: { conversion: { weight: 1, value } }, policy: "delay-lin-ts" });
    const now = Date.now();
    const money = sold.map((order) => ({ ...order, currency: "EUR" }));
    const refunds = money.map((order) => ({ ...order, reward: -0.5, timestamp: now - 10 * HOUR_MS }));
    const corrections = money.map((order) => ({ ...order, reward: 2, timestamp: now - 9 * HOUR_MS }));
    for (const [sent, type] of [[refunds], [corrections, "conversion.updated"], [money]] as const) {
      expect(await convert(sent, { type })).toMatchObject({ status: 202 });
    }
    await untilNow(model);

    const version = await keep(model);
    const [impressionId] = await show(model, {});
    await convert({ impressionId, reward: 1, currency: "EUR" }, { id: `${model}_undone`, timestamp: now });
    expect((await call("POST", `/v1/models/${model}/rollback`, { version })).status).toBe(200);
    tick(10 * HOUR_MS);
    await convert({ impressionId, reward: 1, currency: "EUR" }, { id: `${model}_undone`, timestamp: now });
    await untilNow(model);
  });

  it("is not late because of an import, or of orders that waited for their impressions", async () => {
    const model = await createModel({ window: { ms: 7 * DAY_MS } });
    const lines = Array.from({ length: 30 }, (_, n) => {
      const shownAt = Date.now() - 3 * DAY_MS + n * HOUR_MS;
      return [
        { type: "impression", id: `past ${n}`, action: "mug", shownAt },
        { type: "conversion", impression: `past ${n}`, reward: 1, at: shownAt + HOUR_MS },
      ];
    });
    const body = lines
      .flat()
      .map((line) => JSON.stringify(line))
      .join("\n");
    expect((await call("POST", `/v1/models/${model}/events`, body)).status).toBe(200);
    await untilNow(model);
    const [shownAt, keys] = [Date.now(), Array.from({ length: 20 }, (_, n) => `visitor ${n}`)];
    for (const key of keys) expect(statusesOf(await convert({ model, key, reward: 1 }))).toEqual(["orphan"]);
    tick(12 * HOUR_MS);
    await show(model, ...keys.map((key) => ({ shownAt, keys: [key] })));
    expect((await delayOf(model)).conversions).toBe(50);
    await untilNow(model);
  });

  it("stays at the last order while the alarm rings", async () => {
    const { model } = await shop();
    const { completeUntil } = { completeUntil: Date.now() - 18 * MINUTE_MS };
    for (let day = 0; day < 6; day++) {
      await show(model, ...Array.from({ length: 60 }, () => ({})));
      tick(DAY_MS);
    }
    const delay = await delayOf(model);
    expect(delay.silence.alarm).toBe(true);
    expect(delay).toMatchObject({ completeUntil, impressions: 80 });
  });
});

describe("orders with the time of a report", () => {
  it("are recognised, and are complete until the last report", async () => {
    const model = await createModel(WINDOW);
    let sold: object[] = [];
    for (let hour = 0; hour < HOURS; hour++) {
      const [impressionId] = await show(model, {}, {}, {}, {});
      if (hour % 2 === 0) sold.push({ impressionId, reward: 1 });
      tick(HOUR_MS);
      if ((Date.now() - START) % DAY_MS !== 0) continue;
      // All are said to have happened now.
      await convert(sold);
      sold = [];
    }
    const delay = await delayOf(model);
    expect(delay.reportTime).toBe(0);
    expect(delay.completeUntil).toBe(START + 4 * DAY_MS);
    // Figures are of the impressions whose window of two days had closed: one in eight converts.
    expect([delay.followedMs, delay.impressions]).toEqual([2 * DAY_MS, expect.closeTo(4 * 48, -1)]);
    expect(delay.rate).toBeCloseTo(1 / 8, 2);
    expect(Math.abs(delay.toCome - sold.length)).toBeLessThan(4);
    expect([delay.distribution, delay.window95Ms]).toEqual([[], { tooFew: { more: 5, of: "days" } }]);
  });

  it("are none if visitors come at that time too", async () => {
    const model = await createModel(WINDOW);
    for (let day = 0; day < 4; day++) {
      const ids = await show(model, ...Array.from({ length: 20 }, () => ({})));
      tick(MINUTE_MS);
      await convert(ids.slice(0, 10).map((impressionId) => ({ impressionId, reward: 1 })));
      tick(DAY_MS - MINUTE_MS);
      await show(model, {}, {});
    }
    expect((await delayOf(model)).reportTime).toBeNull();
  });
});

import { evictDurableObject } from "cloudflare:test";
import { policies, Recommender } from "afterclick";
import { describe, expect, it } from "vitest";
import { stream } from "../../../src/simulation/stream.ts";
import type { Delay, Metrics } from "../../../worker/protocol/metrics-answer.ts";
import { call, convert, createModel, HOUR_MS, learnerOf, show, statusesOf } from "../support/client.ts";
import { DAY_MS, MINUTE_MS, tick, useClock } from "../support/clock.ts";

// Each goal has a delay law of its own, within its own window.

useClock();

const metricsOf = async (model: string): Promise<Metrics> => (await call("GET", `/v1/models/${model}/metrics`)).body;

async function goalOf(model: string, name: string): Promise<{ readonly windowMs: number; readonly delay: Delay }> {
  const own = (await metricsOf(model)).goals?.find(({ goal }) => goal === name);
  if (!own?.delay) throw new Error(`expected a conversion of ${name}`);
  return { windowMs: own.windowMs, delay: own.delay };
}

it("is null for a model that declares none, and without a law before a goal's first conversion", async () => {
  expect((await metricsOf(await createModel())).goals).toBeNull();
  const model = await createModel({ goals: { click: { weight: 0, window: { ms: MINUTE_MS } }, purchase: { weight: 1 } } });
  const [impressionId] = await show(model, {});
  await convert({ impressionId, goal: "purchase", reward: 1 });
  expect((await metricsOf(model)).goals).toMatchObject([
    { goal: "click", windowMs: MINUTE_MS, delay: null },
    { goal: "purchase", windowMs: HOUR_MS, delay: expect.objectContaining({ conversions: 1 }) },
  ]);
});

describe("a fast goal beside a slow one", () => {
  const RATES = { click: 0.3, purchase: 0.1 };
  const COUNT = 3000;

  /** Ten days of a product that a tenth of the visitors buy after two to five days. Clicks come within ten seconds. */
  async function shop(): Promise<string> {
    const random = stream("b");
    const goals = { click: { weight: 0.01, window: { ms: HOUR_MS } }, purchase: { weight: 1 } };
    const model = await createModel({ window: { ms: 7 * DAY_MS }, options: { dimension: 1 }, featureNorm: 2, goals });
    const now = Date.now();
    const lines = Array.from({ length: COUNT }, (_, n) => {
      const [id, shownAt] = [`visit ${n}`, now - 10 * DAY_MS + Math.floor((n * 10 * DAY_MS) / COUNT)];
      const report = (goal: "click" | "purchase", delay: number): object[] => {
        const [converts, at] = [random() < RATES[goal], shownAt + Math.floor(delay)];
        return converts && at <= now ? [{ type: "conversion", impression: id, goal, reward: 1, at, event: `${goal} ${n}` }] : [];
      };
      const shown = { type: "impression", id, action: { id: "mug", features: [1] }, shownAt };
      return [shown, ...report("click", 10_000 * random()), ...report("purchase", (2 + 3 * random()) * DAY_MS)];
    });
    const { status } = await call(
      "POST",
      `/v1/models/${model}/events`,
      lines
        .flat()
        .map((line) => JSON.stringify(line))
        .join("\n"),
    );
    expect(status).toBe(200);
    return model;
  }

  it("has figures of its own, and leaves those of the slow one and the policy's estimates right", async () => {
    const model = await shop();
    const [click, purchase] = [await goalOf(model, "click"), await goalOf(model, "purchase")];
    expect([click.windowMs, purchase.windowMs]).toEqual([HOUR_MS, 7 * DAY_MS]);
    expect(click.delay.window95Ms).toBeLessThan(11_000);
    expect(click.delay.toCome).toBeLessThan(1);
    expect(Math.abs((click.delay.rate as number) - RATES.click)).toBeLessThan(0.03);
    expect(purchase.delay.window95Ms).toBeGreaterThan(4.5 * DAY_MS);
    expect(purchase.delay.window95Ms).toBeLessThan(5.5 * DAY_MS);
    expect(Math.abs((purchase.delay.rate as number) - RATES.purchase)).toBeLessThan(0.02);
    expect(purchase.delay.rateSoFar).toBeLessThan(0.08);
    // Those shown in the last 3.5 days, and nearly none before.
    expect(Math.abs((purchase.delay.toCome as number) - 0.35 * COUNT * RATES.purchase)).toBeLessThan(25);
    const early = (share: number) => purchase.delay.quantiles.find((each) => each.share === share)?.delayMs;
    expect(Math.abs((early(0.5) as number) / DAY_MS - 3.5)).toBeLessThan(0.5);
    // A visitor who has not bought after three days still may. One who has not clicked after a minute will not.
    const still = ({ distribution }: Delay, ms: number) => distribution.find(({ delayMs }) => delayMs >= ms)?.stillConverts;
    expect(still(purchase.delay, 3 * DAY_MS)).toBeGreaterThan(0.04);
    expect(still(click.delay, MINUTE_MS)).toBeLessThan(0.001);

    // The policy estimates the value, and each goal.
    const { body } = await call("GET", `/v1/models/${model}/snapshot`);
    const { policy } = await Recommender.restore(new Uint8Array(body), { policies });
    const truth = 0.01 * RATES.click + RATES.purchase;
    const [{ mean, low, high }] = policy.interval([[1]]);
    expect(Math.abs(mean - truth)).toBeLessThan(0.015);
    expect(low).toBeLessThan(truth);
    expect(high).toBeGreaterThan(truth);
    for (const { goal, low, high } of policy.factors([[1]])[0]) {
      expect(low).toBeLessThan(RATES[goal as keyof typeof RATES]);
      expect(high).toBeGreaterThan(RATES[goal as keyof typeof RATES]);
    }

    // The goal's window is an hour.
    expect(click.delay.windows).toEqual([]);
    expect(purchase.delay.windows.map(({ windowMs }) => windowMs / DAY_MS)).toEqual([1, 3, 7]);
    const [day, three, week] = purchase.delay.windows;
    expect(day.caught).toBeLessThan(0.01);
    expect(week.caught).toBe(1);
    expect(week.rate).toBe(purchase.delay.rate);
    expect(Math.abs((three.caught as number) - 1 / 3)).toBeLessThan(0.08);
    expect(three.low).toBeLessThan(1 / 3);
    expect(three.high).toBeGreaterThan(1 / 3);
    expect(three.rate).toBeCloseTo((three.caught as number) * (purchase.delay.rate as number), 9);
  });
});

it("advises on windows up to the model's, and on none if that is shorter than a day", async () => {
  const days = async (ms: number) => {
    const model = await createModel({ window: { ms } });
    const [impressionId] = await show(model, {});
    await convert({ impressionId, reward: 1 });
    return (await metricsOf(model)).delay?.windows.map(({ windowMs }) => windowMs / DAY_MS);
  };
  expect(await days(DAY_MS - 1)).toEqual([]);
  expect(await days(DAY_MS)).toEqual([1]);
  expect(await days(13 * DAY_MS)).toEqual([1, 3, 7]);
  expect(await days(60 * DAY_MS)).toEqual([1, 3, 7, 14, 30]);
});

describe("the alarm", () => {
  const goals = { click: { weight: 0, window: { ms: MINUTE_MS } }, purchase: { weight: 1 } };

  /** Half an hour in which visitors click at once and buy at once. Purchases stop then. Returns the time of the last. */
  async function cut(model: string): Promise<number> {
    const random = stream("alarm");
    let last = 0;
    for (let minute = 0; minute < 36; minute++) {
      const ids = await show(model, ...Array.from({ length: 20 }, () => ({})));
      tick(20_000);
      const of = (goal: string, share: number) =>
        ids.flatMap((impressionId) => (random() < share ? [{ impressionId, goal, reward: 1 }] : []));
      const sent = [...of("click", 0.5), ...(minute < 30 ? of("purchase", 0.3) : [])];
      expect(new Set(statusesOf(await convert(sent)))).toEqual(new Set(["applied"]));
      if (minute < 30) last = Date.now();
      tick(40_000);
    }
    return last;
  }

  it("names a goal that is silent while another one arrives", async () => {
    const model = await createModel({ goals });
    const since = await cut(model);
    const alarms = async () => {
      const { delay, goals } = await metricsOf(model);
      return [delay?.silence.alarm, ...(goals ?? []).map(({ delay }) => delay?.silence.alarm)];
    };
    expect(await alarms()).toEqual([false, false, true]);
    expect((await goalOf(model, "purchase")).delay.silence).toMatchObject({ since, alarm: true });
    await evictDurableObject(learnerOf(model));
    expect(await alarms()).toEqual([false, false, true]);
    const [impressionId] = await show(model, {});
    await convert({ impressionId, goal: "purchase", reward: 1 });
    expect(await alarms()).toEqual([false, false, false]);
    expect((await goalOf(model, "purchase")).delay.silence.since).toBe(Date.now());
  });

  it("names a goal whose window is far shorter than the time in which its conversions are expected", async () => {
    const model = await createModel({ goals });
    const random = stream("few");
    const alarmed: number[] = [];
    for (let minute = 0; minute < 120; minute++) {
      const ids = await show(model, {}, {});
      tick(20_000);
      const clicks =
        minute < 90 ? ids.filter(() => random() < 0.5).map((impressionId) => ({ impressionId, goal: "click", reward: 1 })) : [];
      const sent = [...clicks, ...ids.map((impressionId) => ({ impressionId, goal: "purchase", reward: 1 }))];
      await convert(sent);
      tick(40_000);
      if ((await goalOf(model, "click").catch(() => undefined))?.delay.silence.alarm) alarmed.push(minute);
    }
    // One click a minute is expected. Within the goal's own window there would be two at most.
    expect(alarmed[0]).toBeGreaterThan(95);
    expect(alarmed[0]).toBeLessThan(110);
    expect((await goalOf(model, "purchase")).delay.silence.alarm).toBe(false);
  });
});

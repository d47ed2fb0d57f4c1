import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { beforeEach, expect, it, vi } from "vitest";
import { ANY_GOAL, liftOf } from "../../../worker/domain/figures/lift.ts";
import { createApp } from "../../../worker/edge/app.ts";
import type { Lift } from "../../../worker/protocol/metrics-answer.ts";
import { armsOf } from "../../support/logs/arms.ts";
import { stream } from "../../support/scenario.ts";
import { call, convert, createModel, HOUR_MS, keep, learnerOf, recommend, show } from "../support/client.ts";
import { closing, MINUTE_MS, tick, useClock } from "../support/clock.ts";
import { expectArms, type Line, logOf } from "../support/fold.ts";
import { seedIds } from "../support/lived.ts";

// The metrics state the lift that `compare` finds in the exported log, whatever has happened to the impressions.

useClock();
beforeEach(() => seedIds());

const GOALS = { click: { weight: 0, window: { ms: 10 * MINUTE_MS } }, purchase: { weight: 1, value: { max: 100, currency: "EUR" } } };

const metricsOf = async (model: string) => (await call("GET", `/v1/models/${model}/metrics`)).body;

/** All numbers of a value to nine digits. */
function rounded(value: unknown): unknown {
  if (typeof value === "number") return expect.closeTo(value, 9);
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, rounded(each)]));
}

/** Checks the metrics' lift, and returns it. */
async function expectLift(model: string): Promise<Lift> {
  const [lines, { lift }] = [await logOf(model), await metricsOf(model)];
  const texts = lines.map((line) => JSON.stringify(line));
  const { counts, goals, windows, end, unassigned } = await armsOf(texts);
  const expected = goals.map((goal) => {
    const own = liftOf(counts, goal, windows, { alpha: 0.05, now: end });
    return { ...own, goal: goal === ANY_GOAL ? "conversion" : goal };
  });
  expect(lift).toEqual({ unassigned, goals: rounded(expected) });
  if (lines[0].shards === undefined) await expectArms(model, lines);
  return lift;
}

/** Shows lists, of which some convert. */
async function lists(model: string, count: number, random: () => number): Promise<string[]> {
  const shown: string[] = [];
  for (let i = 0; i < count; i++) {
    tick(Math.floor(random() * MINUTE_MS));
    const ids = await recommend(model, { limit: 1 + (i % 3) });
    shown.push(...ids);
    for (const impressionId of ids) {
      if (random() < 0.6) await convert({ impressionId, goal: "click", reward: 1 });
      if (random() < 0.3) await convert({ impressionId, goal: "purchase", reward: 5, currency: "EUR" });
    }
  }
  return shown;
}

it.each(["learner", "edge"])("is that of compare, through everything that happens to a model served by its %s", async (serving) => {
  const model = await createModel({ serving, holdout: 0.5, goals: GOALS });
  const random = stream(8);
  const first = await lists(model, 7, random);
  const { goals } = await expectLift(model);
  expect(goals.map(({ goal, currency, windowMs }) => [goal, currency, windowMs])).toEqual([
    ["click", null, 10 * MINUTE_MS],
    ["purchase", "EUR", HOUR_MS],
  ]);
  expect(goals[0].difference).toMatchObject({ tooFew: { of: expect.stringContaining("converted lists") } });

  // Taken back, erased, and shown one by one after they were deferred.
  await convert({ impressionId: first[0], goal: "click" }, { type: "conversion.retracted" });
  await convert({ impressionId: first[1], goal: "click" }, { type: "conversion.retracted" });
  await call("DELETE", `/v1/impressions/${first[2]}`);
  const { body } = await call("POST", `/v1/models/${model}/recommendations`, { limit: 3, defer: true });
  const deferred = body.actions.map(({ impressionId }: { impressionId: string }) => impressionId);
  for (const id of [deferred[2], deferred[0]]) {
    expect((await call("POST", `/v1/impressions/${id}/activate`)).status).toBe(200);
    await convert({ impressionId: id, goal: "click", reward: 1 });
    await expectLift(model);
  }

  // Another share, and impressions that the model did not assign.
  const version = await keep(model);
  await call("PATCH", `/v1/models/${model}`, { holdout: 0.1 });
  await show(model, {}, { probability: 0.5 });
  await lists(model, 5, random);
  const changed = await expectLift(model);
  expect(changed.unassigned).toBe(2);
  expect(changed.goals[0].shares.map(({ holdout }) => holdout)).toEqual([0.1, 0.5]);
  await evictDurableObject(learnerOf(model));
  await expectLift(model);

  // Steps are joined, and buckets are settled.
  for (const later of [25 * MINUTE_MS, 50 * MINUTE_MS, 3 * HOUR_MS]) {
    tick(later);
    await lists(model, 2, random);
    await expectLift(model);
  }

  expect((await call("POST", `/v1/models/${model}/rollback`, { version })).status).toBe(200);
  await expectLift(model);
  await lists(model, 2, random);
  await expectLift(model);
});

it("keeps apart what an isolate decided by the share before", async () => {
  const model = await createModel({ serving: "edge", holdout: 0.5 });
  const old = createApp();
  for (let i = 0; i < 5; i++) await recommend(model, { limit: 2 }, { isolate: old });
  await call("PATCH", `/v1/models/${model}`, { holdout: 0 });
  const lines = await logOf(model);
  const changedAt = lines.findLast(({ mark }: Line) => mark === "configuration")?.seq;
  const decided: boolean[] = [];
  for (let i = 0; i < 5; i++) {
    const { body } = await call("POST", `/v1/models/${model}/recommendations`, {}, { isolate: old });
    decided.push(body.modelVersion < changedAt);
  }
  const { goals } = await expectLift(model);
  const shares = goals[0].shares.map(({ holdout }) => holdout);
  expect(shares).toEqual(decided.includes(true) ? [0, 0.5, null].filter((each) => each !== 0 || decided.includes(false)) : [0, 0.5]);
});

it("is the same from several shards", async () => {
  const model = await createModel({ serving: "edge", holdout: 0.5, shards: 3, encoder: { dimension: 16 } });
  const show = async () => {
    for (let i = 0; i < 12; i++) {
      tick(MINUTE_MS);
      const ids = await recommend(model, { limit: 2 }, { isolate: createApp() });
      if (i % 2 === 0) await convert({ impressionId: ids[i % 4 === 0 ? 1 : 0], reward: 1 });
    }
  };
  await show();
  await expectLift(model);
  await call("PATCH", `/v1/models/${model}`, { holdout: 0.2 });
  await show();
  const { goals } = await expectLift(model);
  expect(goals[0].shares.map(({ holdout }) => holdout)).toContain(0.2);
});

it("says what is missing: a holdout, or conversions; and states a difference when there are enough", { timeout: 60_000 }, async () => {
  const none = await createModel();
  await recommend(none);
  expect((await metricsOf(none)).lift).toBeNull();
  const model = await createModel({ holdout: 0.5 });
  const start = Date.now();
  expect((await metricsOf(model)).lift.goals).toMatchObject([{ goal: "conversion", difference: { tooFew: { more: 30 } } }]);
  for (let i = 0; i < 72; i++) {
    tick(1000);
    const [impressionId] = await recommend(model);
    await convert({ impressionId, reward: 1 });
  }
  expect((await expectLift(model)).goals[0].difference).toMatchObject({ value: 0 });
  vi.setSystemTime(closing(start));
  await runDurableObjectAlarm(learnerOf(model));
  expect((await expectLift(model)).goals[0]).toMatchObject({ difference: { value: 0 }, relative: 0, decided: false, policy: { rate: 1 } });
});

it("counts lists again in a goal's place after the log was learnt with other goals", async () => {
  const model = await createModel({ holdout: 0.5, goals: GOALS });
  await lists(model, 4, stream(3));
  const { click: _, ...left } = GOALS;
  const body = { window: { ms: HOUR_MS }, serving: "learner", goals: left, from: "log" };
  expect((await call("POST", `/v1/models/${model}/reset`, body)).status).toBe(202);
  for (let i = 0; i < 9 && (await call("GET", `/v1/models/${model}`)).body.relearning; i++) await runDurableObjectAlarm(learnerOf(model));
  // The steps of open buckets are still those of the shorter window.
  tick(3 * HOUR_MS);
  await lists(model, 2, stream(4));
  const { goals } = await expectLift(model);
  expect(goals.map(({ goal, shares }) => [goal, shares.length])).toEqual([["purchase", 1]]);
});

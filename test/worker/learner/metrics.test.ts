import { runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { createApp } from "../../../worker/edge/app.ts";
import type { Assignment } from "../../../worker/protocol/figures.ts";
import type { Bar, Metrics } from "../../../worker/protocol/metrics-answer.ts";
import { stream } from "../../support/scenario.ts";
import { call, convert, createModel, describeModel, HOUR_MS, learnerOf, recommend, statusesOf } from "../support/client.ts";
import { bucketOf, closing, MINUTE_MS, QUARTER_MS, tick, useClock } from "../support/clock.ts";
import { learners } from "../support/fault.ts";

useClock();

const metricsOf = async (model: string): Promise<Metrics> => (await call("GET", `/v1/models/${model}/metrics`)).body;

/** The shop's own record of an impression. */
interface Known {
  readonly impressionId: string;
  readonly shownAt: number;
  readonly arm: Assignment;
  readonly action: string;
  readonly modelVersion: number;
  reward: number | null;
  reported: boolean;
}

/** Shows an impression every minute or two. Some convert, twice or late, or are retracted. */
async function history(model: string): Promise<{ shown: Known[]; delays: number[] }> {
  const random = stream(5);
  const shown: Known[] = [];
  const delays: number[] = [];
  for (let i = 0; i < 60; i++) {
    tick(Math.floor(random() * 2 * MINUTE_MS));
    const { body } = await call("POST", `/v1/models/${model}/recommendations`, i % 20 === 7 ? { exclude: ["tent", "mug", "lamp"] } : {});
    const { arm, modelVersion } = body;
    const [{ impressionId, id: action }] = body.actions;
    const impression: Known = { impressionId, action, arm, modelVersion, shownAt: Date.now(), reward: null, reported: false };
    shown.push(impression);
    if (random() < 0.5) continue;
    const reward = Math.ceil(random() * 8) / 8;
    const delay = Math.floor(2 ** (random() * 22));
    const timestamp = impression.shownAt + delay;
    // Delivered early: the event's own time counts.
    if (delay > 5 * MINUTE_MS) continue;
    expect(statusesOf(await convert({ impressionId, reward }, { id: `msg_${i}`, timestamp }))).toEqual(["applied"]);
    Object.assign(impression, { reward, reported: true });
    if (i % 3 === 0) await convert({ impressionId, reward }, { id: `msg_${i}`, timestamp });
    if (i % 4 === 0) {
      await convert({ impressionId }, { type: "conversion.retracted", timestamp: timestamp + 1 });
      impression.reward = null;
    } else delays.push(delay);
  }
  return { shown, delays };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Bars that count each value by its own bounds. */
function filled(bars: readonly Bar[], values: readonly number[]): Bar[] {
  return bars.map((bar) => ({
    ...bar,
    count: values.filter((value) => value >= bar.fromMs && value < (bar.toMs ?? Number.POSITIVE_INFINITY)).length,
  }));
}

/** The shop's own counts, by bucket and assignment. */
function bucketsOf(shown: readonly Known[], watermark: number) {
  const groups = Map.groupBy(shown, ({ shownAt, arm }) => `${bucketOf(shownAt)} ${arm}`);
  const buckets = Array.from(groups.values(), (group) => {
    const start = bucketOf(group[0].shownAt);
    const rewards = group.map(({ reward }) => reward ?? 0);
    const converted = group.filter(({ reward }) => reward !== null).length;
    return { start, arm: group[0].arm, impressions: group.length, converted, reward: sum(rewards), closed: start < watermark };
  });
  return buckets.sort((a, b) => a.start - b.start || (a.arm < b.arm ? -1 : 1));
}

it("counts what a shop counts by itself, before and after books are closed", async () => {
  const model = await createModel({ holdout: 0.4, defaultAction: "mug" });
  const start = Date.now();
  const { shown, delays } = await history(model);
  expect(new Set(shown.map(({ arm }) => arm))).toEqual(new Set(["policy", "holdout", "default"]));

  for (const now of [Date.now() + MINUTE_MS, closing(start + QUARTER_MS)]) {
    vi.setSystemTime(now);
    await runDurableObjectAlarm(learnerOf(model));
    const metrics = await metricsOf(model);
    const { counts } = await describeModel(model);
    // The last alarm closes two buckets.
    const watermark = now === Date.now() && now >= closing(start) ? start + 2 * QUARTER_MS : start;
    const pending = shown.filter(({ shownAt, reported }) => now - shownAt <= HOUR_MS && !reported);
    const converted = shown.filter(({ reward }) => reward !== null);
    const retracted = shown.filter(({ reward, reported }) => reward === null && reported);
    expect(metrics).toMatchObject({
      model,
      policy: "delay-lin-ts",
      serving: "learner",
      now,
      windowMs: HOUR_MS,
      bucketMs: 900_000,
      counts,
    });
    expect(counts).toMatchObject({
      impressions: shown.length,
      pending: pending.length,
      converted: converted.length,
      retracted: retracted.length,
      expired: shown.length - pending.length - converted.length - retracted.length,
    });
    expect(metrics.buckets).toEqual(bucketsOf(shown, watermark));
    expect(metrics.buckets.some(({ closed }) => closed)).toBe(watermark > start);
    expect(metrics.pendingByAge).toHaveLength(24);
    const ages = pending.map(({ shownAt }) => now - shownAt);
    expect(metrics.pendingByAge).toEqual(filled(metrics.pendingByAge, ages));
    expect(sum(metrics.pendingByAge.map(({ count }) => count))).toBe(pending.length);
    expect(metrics.delays).toEqual(filled(metrics.delays, delays));
    expect(sum(metrics.delays.map(({ count }) => count))).toBe(delays.length);
    expect(metrics.lift).toMatchObject({ goals: [liftAmong(shown)] });
    expect(metrics.recent).toEqual(recentOf(shown, now));
  }
});

/** The counts of the arms that are compared. */
function liftAmong(shown: readonly Known[]) {
  const [policy, holdout] = ["policy", "holdout"].map((arm) => {
    const own = shown.filter((each) => each.arm === arm);
    return { lists: own.length, impressions: own.length, conversions: own.filter(({ reward }) => reward !== null).length };
  });
  return { goal: "conversion", policy, holdout, shares: [{ holdout: 0.4, lists: { policy: policy.lists, holdout: holdout.lists } }] };
}

function recentOf(shown: readonly Known[], now: number) {
  return shown
    .slice(-20)
    .reverse()
    .map(({ impressionId, action, shownAt, modelVersion, reward, reported }) => ({
      impressionId,
      action,
      shownAt,
      modelVersion,
      probability: expect.any(Number),
      status: reward !== null ? "converted" : reported ? "retracted" : now - shownAt > HOUR_MS ? "expired" : "pending",
    }));
}

it("tells the age of the published snapshot, and how far registration lags behind", async () => {
  const model = await createModel({ serving: "edge" });
  expect((await metricsOf(model)).lagMs).toBeNull();
  const slow = learners((method, call) => {
    if (method === "registerShown") tick(3000);
    return call();
  });
  await recommend(model, {}, { isolate: createApp(), env: { LEARNER: slow } });
  tick(7000);
  const { snapshot, lagMs } = await metricsOf(model);
  const { published } = await describeModel(model);
  expect(lagMs).toBe(3000);
  expect(snapshot).toEqual({ version: published?.version, publishedAt: published?.at, ageMs: 10_000 });
  await recommend(model, {}, { isolate: createApp() });
  expect((await metricsOf(model)).lagMs).toBe(0);
});

describe("an impression", () => {
  const explained = async (impressionId: string) => (await call("GET", `/v1/impressions/${impressionId}`)).body;

  it("is explained: how it was decided, what the model thinks of it and of the catalogue now, what has arrived", async () => {
    const model = await createModel();
    const context = { country: "PT" };
    const { body } = await call("POST", `/v1/models/${model}/recommendations`, { context, limit: 2 });
    const [{ impressionId, id: action, ...scores }] = body.actions;
    const shownAt = Date.now();
    const first = await explained(impressionId);
    expect(first).toMatchObject({
      model,
      status: "pending",
      action,
      arm: "policy",
      shownAt,
      windowEndsAt: shownAt + HOUR_MS,
      modelVersion: body.modelVersion,
      decision: { ...scores, place: 0, candidates: 3 },
      context,
      conversions: [],
      reward: null,
    });
    expect(first.candidates.map(({ id }: { id: string }) => id).sort()).toEqual(["lamp", "mug", "tent"]);
    await convert({ impressionId, reward: 0.5 }, { timestamp: shownAt + 1 });
    await convert({ impressionId, reward: 1, goal: "review" }, { timestamp: shownAt + 2 });
    await convert({ impressionId, reward: 1 }, { timestamp: shownAt + HOUR_MS + 1 }).then(({ status }) => expect(status).toBe(422));
    const second = await explained(impressionId);
    expect(second).toMatchObject({
      status: "converted",
      decision: first.decision,
      reward: 1.5,
      conversions: [
        { goal: "conversion", reward: 0.5, at: shownAt + 1, status: "applied" },
        { goal: "review", reward: 1, at: shownAt + 2, status: "applied" },
      ],
    });
    expect(second.now.mean).toBeGreaterThan(first.now.mean);
    const own = second.candidates.find(({ id }: { id: string }) => id === action);
    expect(own.belief).toEqual(second.now);
    const scored = second.candidates.map(({ score }: { score: number }) => score);
    expect(scored).toEqual(scored.toSorted((a: number, b: number) => b - a));
    tick(HOUR_MS + 1);
    expect((await explained(body.actions[1].impressionId)).status).toBe("expired");
  });

  it("is explained without the catalogue, if its context does not go with that any more", async () => {
    const model = await createModel({ options: { dimension: 3 } });
    const { body } = await call("POST", `/v1/models/${model}/recommendations`, {
      context: [0.5],
      actions: [{ id: "a", features: [0.25, 0.5] }],
    });
    const [{ impressionId }] = body.actions;
    await call("PUT", `/v1/models/${model}/actions`, [{ id: "a", features: [0.25, 0.5, 0.75] }]);
    expect(await explained(impressionId)).toMatchObject({ action: "a", candidates: null, now: { mean: 0 } });
    await call("PUT", `/v1/models/${model}/actions`, [{ id: "a", features: [0.25, 0.5] }]);
    expect(await explained(impressionId)).toMatchObject({ candidates: [{ id: "a" }] });
  });

  it("in a domain of the policy's own is explained by its decision", async () => {
    const model = await createModel({ policy: "gp-ucb", options: { domain: { points: [[0], [0.5], [1]] } } });
    const [impressionId] = await recommend(model);
    expect(await explained(impressionId)).toMatchObject({ decision: { place: 0, candidates: null }, now: null, candidates: null });
  });
});

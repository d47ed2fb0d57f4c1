import { env, exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createApp } from "../../../worker/edge/app.ts";
import { call, convert, createModel, describeModel, HOUR_MS, recommend } from "../support/client.ts";

const publishable = { key: env.AFTERCLICK_PUBLISHABLE_KEY };

it("answers through the deployed entry", async () => {
  const response = await exports.default.fetch("http://worker/healthz");
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: "ok" });
});

it("has only paths that Hono's fast router takes", async () => {
  const app = createApp();
  expect((await app.request("/healthz", {}, env)).status).toBe(200);
  expect(app.router.name).toBe("SmartRouter + RegExpRouter");
});

it("creates a model once, with a Thompson policy that learns the delays by default", async () => {
  const body = { window: { ms: HOUR_MS } };
  const created = await call("PUT", "/v1/models/created", body);
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({
    model: "created",
    policy: "delay-lin-ts",
    options: { dimension: 256, exploration: 0.22, shrinkage: "evidence", delayComponents: 1 },
    window: { ms: HOUR_MS },
    reward: { min: 0, max: 1 },
    serving: "edge",
    encoder: { version: 4, dimension: 256, interactions: "all" },
    counts: { impressions: 0, pending: 0, converted: 0, expired: 0, applied: 0, duplicate: 0, late: 0, conflict: 0, orphan: 0 },
    actions: 0,
    modelVersion: 2,
    conversionRate: null,
  });
  expect(await call("PUT", "/v1/models/created", { serving: "edge", ...body })).toMatchObject({ status: 200, body: created.body });
  expect(await call("GET", "/v1/models/created")).toMatchObject({ status: 200, body: created.body });
});

it("recommends from the catalogue, ranked and each place an impression of its own", async () => {
  const model = await createModel();
  const { status, body } = await call("POST", `/v1/models/${model}/recommendations`, { context: { country: "PT" }, limit: 5 }, publishable);
  expect(status).toBe(201);
  expect(body).toMatchObject({ model, policy: "delay-lin-ts", modelVersion: 5, arm: "policy" });
  expect(Math.abs(body.windowEndsAt - Date.now() - HOUR_MS)).toBeLessThan(10_000);
  expect(body.actions.map(({ id }: { id: string }) => id).sort()).toEqual(["lamp", "mug", "tent"]);
  expect(new Set(body.actions.map(({ impressionId }: { impressionId: string }) => impressionId)).size).toBe(3);
  const scores = body.actions.map(({ score }: { score: number }) => score);
  expect(scores).toEqual(scores.toSorted((a: number, b: number) => b - a));
  for (const action of body.actions) expect(action).toMatchObject({ mean: 0, width: expect.any(Number) });
});

it("explains an impression before and after its conversion", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model, { limit: 2 });
  const pending = await call("GET", `/v1/impressions/${impressionId}`);
  expect(pending).toMatchObject({ status: 200, body: { impressionId, model, status: "pending", reward: null, conversions: [] } });
  expect(pending.body.decision).toMatchObject({ place: 0, candidates: 3, mean: 0 });
  expect(pending.body.windowEndsAt - pending.body.shownAt).toBe(HOUR_MS);
  const at = Date.now();
  await convert({ impressionId, reward: 0.75, goal: "purchase", timestamp: new Date(at).toISOString() });
  const { body } = await call("GET", `/v1/impressions/${impressionId}`);
  expect(body).toMatchObject({ status: "converted", reward: 0.75, decision: pending.body.decision });
  expect(body.conversions).toEqual([{ goal: "purchase", reward: 0.75, at, status: "applied" }]);
  expect(body.now.mean).toBeGreaterThan(pending.body.now.mean);
});

it("registers what was shown by other means, once per id", async () => {
  const model = await createModel();
  const shownAt = Date.now() - 60_000;
  const items = [
    { id: "order-1", context: { country: "PT" }, action: "mug", shownAt },
    { action: { id: "sold-out", features: { kind: "x" } }, shownAt: new Date(shownAt).toISOString() },
  ];
  const first = await call("POST", `/v1/models/${model}/impressions`, items);
  expect(first.status).toBe(201);
  expect(first.body.impressions.map(({ status }: { status: string }) => status)).toEqual(["registered", "registered"]);
  const digest = (await describeModel(model)).digest;

  const [{ impressionId }] = first.body.impressions;
  const again = await call("POST", `/v1/models/${model}/impressions`, [items[0], { ...items[0], shownAt: shownAt + 5 }]);
  expect(again.body.impressions).toEqual([
    { impressionId, status: "duplicate" },
    { impressionId, status: "duplicate" },
  ]);
  const token = await call("POST", `/v1/models/${model}/impressions`, [{ id: impressionId, action: "mug", shownAt }]);
  expect(token.body.impressions).toEqual([{ impressionId, status: "duplicate" }]);
  expect(await describeModel(model)).toMatchObject({ digest, counts: { impressions: 2 } });

  expect((await convert({ impressionId, reward: 1 })).body.conversions).toEqual([{ impressionId, status: "applied" }]);
  expect((await call("GET", `/v1/impressions/${impressionId}`)).body).toMatchObject({
    action: "mug",
    shownAt,
    decision: null,
    status: "converted",
  });
});

it("takes a batch of conversions, each with its own status", async () => {
  const [model, other] = [await createModel(), await createModel()];
  const [a, b] = await recommend(model, { limit: 2 });
  const [c] = await recommend(other);
  const data = [
    { impressionId: a, reward: 1 },
    { impressionId: a, reward: 1, goal: "review" },
    { impressionId: b, reward: 2 },
    { impressionId: `${c.slice(0, -1)}-`, reward: 1 },
    { impressionId: c, reward: 0.5 },
  ];
  const { status, body } = await convert(data);
  expect(status).toBe(202);
  expect(body.conversions.map(({ status }: { status: string }) => status)).toEqual(["applied", "applied", "refused", "unknown", "applied"]);
  expect(body.conversions[2].detail).toMatch(/reward: expected a number between 0 and 1, got 2/);
  expect((await describeModel(model)).counts).toMatchObject({ converted: 1, pending: 1, applied: 2 });
  expect((await describeModel(other)).counts).toMatchObject({ converted: 1, applied: 1 });
});

it("asks a policy with its own domain without candidates", async () => {
  const model = "points";
  const points = [
    [0, 0],
    [0.5, 0.25],
    [1, 1],
  ];
  await call("PUT", `/v1/models/${model}`, { policy: "gp-ucb-sdf", options: { domain: { points } }, window: { ms: 60_000 } });
  const { status, body } = await call("POST", `/v1/models/${model}/recommendations`, {});
  expect(status).toBe(201);
  const [action] = body.actions;
  expect(action.features).toEqual(points[Number(action.id)]);
  expect((await convert({ impressionId: action.impressionId, reward: 1 })).body.conversions).toMatchObject([{ status: "applied" }]);
  expect((await call("GET", `/v1/impressions/${action.impressionId}`)).body).toMatchObject({ status: "converted", now: null });
  const refused = await call("POST", `/v1/models/${model}/recommendations`, { actions: [{ id: "mug", features: [0, 0] }] });
  expect([refused.status, refused.body.detail]).toEqual([422, "expected a limit only, as gp-ucb-sdf chooses in its own domain"]);
});

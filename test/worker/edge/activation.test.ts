import { createExecutionContext, evictDurableObject, runInDurableObject, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createApp } from "../../../worker/edge/app.ts";
import { call, convert, createModel, describeModel, learnerOf, recommend, statusesOf, statusOf } from "../support/client.ts";
import { closing, MINUTE_MS, ring, START, tick, useClock } from "../support/clock.ts";
import { expectConsistent } from "../support/fold.ts";

// Impressions that are shown before the learner has heard of them.

useClock();

/** Recommends without registering. `register` registers what was recommended. */
async function decided(model: string, body: object = {}): Promise<{ readonly ids: string[]; readonly register: () => Promise<void> }> {
  const context = createExecutionContext();
  const headers = { authorization: `Bearer ${env.AFTERCLICK_SECRET_KEY}` };
  const request = { method: "POST", headers, body: JSON.stringify({ limit: 2, defer: true, ...body }) };
  const response = await createApp().fetch(new Request(`http://worker/v1/models/${model}/recommendations`, request), env, context);
  const { actions } = await response.json<{ actions: { impressionId: string }[] }>();
  return { ids: actions.map(({ impressionId }) => impressionId), register: () => waitOnExecutionContext(context) };
}

const activate = (id: string) => call("POST", `/v1/impressions/${id}/activate`);
const see = async (id: string) => {
  const body = { key: env.AFTERCLICK_PUBLISHABLE_KEY, seen: [id] };
  return (await call("POST", "/v1/shown", body, { key: null })).body.seen[0].status;
};
const held = (model: string) =>
  runInDurableObject(learnerOf(model), (_, { storage }) => storage.sql.exec("SELECT id FROM activations").toArray().length);

const goals = { purchase: { weight: 1 } };

it("an activation waits for the registration, and so does a purchase", async () => {
  for (const activation of [async (id: string) => (await activate(id)).body.status, see]) {
    const model = await createModel({ serving: "edge", goals });
    const { ids, register } = await decided(model);
    expect(await activation(ids[0])).toBe("accepted");
    expect(await activation(ids[0])).toBe("accepted");
    expect(statusesOf(await convert({ impressionId: ids[0], goal: "purchase", reward: 1 }))).toEqual(["orphan"]);
    await evictDurableObject(learnerOf(model));
    await register();
    expect(await Promise.all(ids.map(statusOf))).toEqual(["converted", "deferred"]);
    expect(await activation(ids[0])).toBe("duplicate");
    expect(await activation(ids[1])).toBe("activated");
    expect((await describeModel(model)).counts).toMatchObject({ impressions: 2, converted: 1, applied: 1, orphan: 0 });
    expect(await held(model)).toBe(0);
    await expectConsistent(model);
  }
});

it("an impression that was not deferred counts once, however early a page has seen it", async () => {
  const model = await createModel({ serving: "edge", goals });
  const { ids, register } = await decided(model, { defer: false });
  expect(await see(ids[0])).toBe("accepted");
  await register();
  expect(await see(ids[0])).toBe("duplicate");
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 2 });
  await ring(model, closing(START));
  expect(await held(model)).toBe(0);
});

it("a new model is known to pages at once", async () => {
  const model = await createModel({ goals: { click: { weight: 1, public: true } } });
  const [id] = await recommend(model, { defer: true });
  await env.EVENTS.delete(`model/${model}`);
  expect(await see(id)).toBe("activated");
});

it("an impression that can be registered no more is refused", async () => {
  const model = await createModel({ serving: "edge", goals, deferral: { ms: 60_000 } });
  const { ids, register } = await decided(model);
  tick(2 * MINUTE_MS);
  expect(await activate(ids[0])).toMatchObject({ status: 404, body: { detail: expect.stringContaining("not registered yet") } });
  await register();
  const earlier = await decided(model);
  tick(1000);
  await call("POST", `/v1/models/${model}/reset`, {});
  expect((await activate(earlier.ids[0])).status).toBe(404);
  expect(await activate(`${ids[0].slice(0, -2)}AA`)).toMatchObject({ status: 404, body: { detail: "there is no such impression" } });
  expect(await held(model)).toBe(0);
  await earlier.register();
});

it("an erased impression forgets its activation, and one left out of learning says so", async () => {
  const model = await createModel({ serving: "edge", goals });
  const { ids, register } = await decided(model);
  await activate(ids[0]);
  expect((await call("DELETE", `/v1/impressions/${ids[0]}`)).status).toBe(204);
  expect(await held(model)).toBe(0);
  await register();
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 0 });
  const full = await createModel({ goals, limits: { open: 1 } });
  await recommend(full);
  const all = await Promise.all(Array.from({ length: 8 }, async () => (await recommend(full, { defer: true, limit: 1 }))[0]));
  const statuses = await Promise.all(all.map(async (id) => (await activate(id)).body.status));
  expect(statuses).toContain("unsampled");
  expect(new Set(await Promise.all(all.map(see)))).toEqual(
    new Set(statuses.map((status) => (status === "activated" ? "duplicate" : status))),
  );
});

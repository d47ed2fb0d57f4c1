import { describe, expect, it } from "vitest";
import { createApp } from "../../../worker/edge/app.ts";
import { call, convert, createModel, describeModel, recommend, statusesOf } from "../support/client.ts";
import { MINUTE_MS, tick, useClock } from "../support/clock.ts";

// Questions that come again with their request id.

useClock();

describe.each(["edge", "learner"])("a model that is served by the %s", (serving) => {
  const createShop = () => createModel({ serving, minimumShare: 0.3 });

  it("gives the same list and the same ids to a repeated question, and counts it once", async () => {
    const model = await createShop();
    const isolate = createApp();
    const ask = async (body: object) => (await call("POST", `/v1/models/${model}/recommendations`, body, { isolate })).body;
    const first = await ask({ limit: 2, requestId: "view-1" });
    for (const ms of [0, 1500, 11_000, 5 * MINUTE_MS]) {
      tick(ms);
      await convert({ impressionId: (await recommend(model))[0], reward: 1 });
      expect(await ask({ limit: 2, requestId: "view-1" })).toEqual(first);
    }
    expect((await describeModel(model)).counts).toMatchObject({ impressions: 6 });
    expect(statusesOf(await convert({ impressionId: first.actions[0].impressionId, reward: 1 }))).toEqual(["applied"]);
    const ids = (answer: { actions: { impressionId: string }[] }) => answer.actions.map(({ impressionId }) => impressionId);
    for (const other of [
      { requestId: "view-2" },
      { requestId: "view-1", context: { country: "PT" } },
      { requestId: "view-1", learn: false },
      {},
    ])
      expect(ids(await ask({ limit: 2, ...other }))).not.toEqual(ids(first));
  });

  it("asks again once a product is sold out", async () => {
    const model = await createShop();
    const isolate = createApp();
    const ask = async () =>
      (await call("POST", `/v1/models/${model}/recommendations`, { limit: 3, requestId: "view-1" }, { isolate })).body.actions.length;
    expect(await ask()).toBe(3);
    await call("PATCH", `/v1/models/${model}/actions`, { actions: [{ id: "tent", available: false }] }, { isolate });
    expect(await ask()).toBe(2);
  });
});

it("gives the same ids in two isolates, which register them once", async () => {
  const model = await createModel({ serving: "edge", minimumShare: 0.3 });
  const [one, other] = [createApp(), createApp()];
  const body = { limit: 3, requestId: "view-1", keys: ["visitor-7"] };
  expect(await recommend(model, body, { isolate: one })).toEqual(await recommend(model, body, { isolate: other }));
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 3 });
});

it.each(["", "x".repeat(257)])("refuses %j as a request id", async (requestId) => {
  const reply = await call("POST", `/v1/models/${await createModel()}/recommendations`, { requestId });
  expect(reply).toMatchObject({ status: 422, body: { errors: [{ path: "requestId" }] } });
});

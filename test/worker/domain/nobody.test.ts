import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { call, convert, createModel, describeModel, recommend, show, statusesOf } from "../support/client.ts";
import { goals, shopify } from "../support/sent.ts";

// Keys that name nobody, at every door of the worker.

const reason = expect.stringContaining("which programs write for a visitor without an id");
const refused = { status: 422, body: { detail: reason } };
const NOBODY = ["", "0", " ", "null", "undefined", "Guest", "00000000-0000-0000-0000-000000000000"];

it("are refused where an impression gets them, and where they are erased", async () => {
  const model = await createModel();
  const path = `/v1/models/${model}`;
  const line = { type: "impression", id: "shown 1", action: "mug", shownAt: Date.now() - 1000 };
  for (const key of NOBODY) {
    expect(await call("POST", `${path}/recommendations`, { keys: ["visitor 7", key] })).toMatchObject(refused);
    const ofPage = { key: env.AFTERCLICK_PUBLISHABLE_KEY };
    expect(await call("POST", `${path}/recommendations`, { keys: [key] }, ofPage)).toMatchObject(refused);
    expect(await call("POST", `${path}/impressions`, [{ action: "mug", shownAt: Date.now(), keys: [key] }])).toMatchObject(refused);
    const imported = await call("POST", `${path}/events`, JSON.stringify({ ...line, keys: [key] }));
    expect(imported).toMatchObject({ status: 422, body: { detail: expect.stringMatching(/^line 1: keys\.0: expected a key/) } });
    if (key.trim() !== "") expect(await call("DELETE", `${path}/keys/${encodeURIComponent(key)}`)).toMatchObject(refused);
  }
  expect((await describeModel(model)).counts.impressions).toBe(0);
});

it("are refused in a conversion, alone and in a batch whose other items count", async () => {
  const model = await createModel();
  await recommend(model, { keys: ["visitor 7"] });
  for (const key of [...NOBODY, "x".repeat(100_000)]) {
    expect(await convert({ model, key, reward: 1 })).toMatchObject({
      status: 422,
      body: { detail: expect.stringMatching(/^key: expected/) },
    });
  }
  const batch = await convert(["0", "visitor 7", "null"].map((key) => ({ model, key, reward: 1 })));
  expect(statusesOf(batch)).toEqual(["refused", "applied", "refused"]);
  expect(batch.body.conversions[0]).toMatchObject({ key: "0", detail: reason });
});

it("refuse their line of a sender's order alone", async () => {
  const model = await createModel({ goals });
  const [impressionId] = await show(model, {});
  const order = {
    ...{ id: 70007, currency: "EUR", created_at: new Date().toISOString(), customer: { id: 0 } },
    line_items: [
      { id: 700071, price: "5.00", quantity: 1, properties: [{ name: "_afterclick", value: impressionId }] },
      { id: 700072, price: "7.00", quantity: 1, properties: [] },
    ],
  };
  const sent = await shopify("orders/create", order, { query: `?model=${model}&key=$.customer.id` });
  expect(statusesOf(sent)).toEqual(["applied", "refused"]);
  expect(sent.body.conversions[1]).toMatchObject({ key: "0", detail: reason });
});

it("are not the keys of visitors: ids match in one form", async () => {
  const model = await createModel();
  for (const [key, same] of [
    ["gid://shopify/Customer/7", "7"],
    ["Cafe\u0301 8", " Café 8"],
  ]) {
    await recommend(model, { keys: [key] });
    expect(statusesOf(await convert({ model, key: same, reward: 1 }))).toEqual(["applied"]);
  }
});

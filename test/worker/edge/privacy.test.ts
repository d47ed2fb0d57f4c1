import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { call, convert, createModel, learnerOf, recommend, show, statusesOf } from "../support/client.ts";
import { goals, shopify } from "../support/sent.ts";

// Requests about personal data: of a shop's backend by key, and of Shopify.

const SHOP = { shop_id: 954889, shop_domain: "shop.example" };
const customer = { id: 191167, email: "ana@shop.example", phone: null };
const redact = { ...SHOP, customer, orders_to_redact: [299938, 280263] };
const request = { ...SHOP, customer, orders_requested: [299938], data_request: { id: 9999 } };

const keyOf = (model: string, key: string) => call("GET", `/v1/models/${model}/keys/${encodeURIComponent(key)}`);

it("an access request gets the impressions of a key, all their conversions, and those that wait", async () => {
  const model = await createModel();
  const shownAt = Date.now() - 1000;
  const [id] = await show(model, { keys: ["ana", "order 7"], shownAt }, { keys: ["bea"] });
  await convert({ impressionId: id, reward: 0.5 });
  await convert({ model, key: "ana", action: "lamp", reward: 1 });
  await convert({ model, key: "bea", reward: 1 });
  const { status, body } = await keyOf(model, "ana");
  expect(status).toBe(200);
  expect(body.impressions).toMatchObject([{ action: "mug", context: { country: "PT" }, shownAt, reward: 0.5, state: "live" }]);
  expect(body.conversions).toMatchObject([
    { impression: body.impressions[0].id, reward: 0.5, status: "applied" },
    { action: "lamp", reward: 1, status: "orphan" },
  ]);
  expect((await keyOf(model, "nobody in particular")).body).toEqual({ impressions: [], conversions: [] });
  await call("DELETE", `/v1/models/${model}/keys/ana`);
  expect((await keyOf(model, "ana")).body).toEqual({ impressions: [], conversions: [] });
  expect((await keyOf("model-of-nobody", "ana")).status).toBe(404);
});

it("an access request asks all shards", async () => {
  const model = await createModel({ serving: "edge", encoder: { dimension: 16 }, shards: 3 });
  for (let i = 0; i < 4; i++) await show(model, { keys: [`visitor ${i}`, "ana"], shownAt: Date.now() - 1000 - i });
  const { impressions } = (await keyOf(model, "ana")).body;
  expect(impressions).toHaveLength(4);
  expect(new Set(impressions.map(({ shard = 0 }) => shard)).size).toBeGreaterThan(1);
});

it("shopify: customers/redact erases the impressions of the customer's keys, and the customer's orders", async () => {
  const model = await createModel({ goals });
  await recommend(model, { keys: ["gid://shopify/Customer/191167"] });
  await recommend(model, { keys: ["299938"] });
  await recommend(model, { keys: ["somebody else"] });
  const query = `?model=${model}&key=$.customer.id`;
  const order = (id: number, of: object) => ({
    ...{ id, currency: "EUR", created_at: new Date().toISOString(), customer: of },
    line_items: [{ id: id + 1, price: "5.00", quantity: 1, properties: [] }],
  });
  for (const id of [299938, 70017]) expect(statusesOf(await shopify("orders/create", order(id, customer), { query }))).toEqual(["applied"]);
  const done = await shopify("customers/redact", redact, { query });
  expect(done).toMatchObject({ status: 200, body: { request: "customers/redact", erased: { impressions: 2, orders: 1 }, left: null } });
  for (const key of ["191167", "299938"]) expect((await keyOf(model, key)).body.impressions).toEqual([]);
  expect((await keyOf(model, "somebody else")).body.impressions).toHaveLength(1);
  // A repetition has nothing left to erase.
  expect((await shopify("customers/redact", redact, { query })).body.erased).toEqual({ impressions: 0, orders: 0 });
  const left = await runInDurableObject(learnerOf("~orders"), (_, { storage }) => {
    return storage.sql.exec<{ id: string }>("SELECT id FROM counted_orders WHERE sender = 'shopify'").toArray();
  });
  expect(left.map(({ id }) => id)).toContain("70017");
  const all = await shopify("shop/redact", SHOP, { query });
  expect(all.body).toMatchObject({ erased: { impressions: 0 }, left: expect.stringContaining(`DELETE /v1/models/${model}`) });
  expect(all.body.erased.orders).toBeGreaterThanOrEqual(1);
});

it("shopify: customers/data_request says what to read, and tells nobody what is stored", async () => {
  const model = await createModel({ goals });
  const { status, body } = await shopify("customers/data_request", request, { query: `?model=${model}&key=$.customer.id` });
  expect(status).toBe(200);
  expect(body).toEqual({
    ...{ request: "customers/data_request", erased: { impressions: 0, orders: 0 } },
    left: `read all that is stored under each key of the customer by GET /v1/models/${model}/keys/KEY`,
  });
});

it("shopify: no order is taken for a request, and no request is answered that is not done", async () => {
  const model = await createModel({ goals });
  const [id] = await recommend(model, { keys: ["191167"] });
  const query = `?model=${model}&key=$.customer.id`;
  const order = { id: 1, currency: "EUR", created_at: new Date().toISOString(), customer, line_items: [] };
  for (const topic of ["customers/redact", "customers/data_request", "shop/redact"]) {
    expect((await shopify(topic, order, { query })).status).toBe(400);
    expect((await shopify(topic, redact, { query, changed: " " })).status).toBe(401);
  }
  expect((await shopify("shop/redact", redact, { query })).status).toBeGreaterThanOrEqual(400);
  expect((await call("GET", `/v1/impressions/${id}`)).status).toBe(200);
  expect((await shopify("customers/redact", redact, { query: "?model=model-of-nobody&key=$.customer.id" })).status).toBe(200);
});
